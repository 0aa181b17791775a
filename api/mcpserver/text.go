package mcpserver

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// maxText is how many bytes of an entry's text a result has.
const maxText = 4000

// textOf returns what an entry says, as text: who speaks, and texts, calls and
// results. Thoughts are left out.
func textOf(d core.Dialect, e core.Entry) string {
	var parts []string
	for _, it := range d.Read(e) {
		text := it.Text
		if it.Kind == item.Message || it.Kind == item.Note {
			text = strings.Join(blockTexts(it.Blocks), "\n")
		}
		switch {
		case it.Error != "":
			text += "\nerror: " + it.Error
		case text == "":
			continue
		}
		who := string(it.Kind)
		if it.Kind == item.Message {
			who = string(it.Role)
		}
		parts = append(parts, who+": "+strings.TrimSpace(text))
	}
	if len(parts) == 0 {
		return "(" + e.Type + ")"
	}
	return clip(strings.Join(parts, "\n"), maxText)
}

func blockTexts(blocks []item.Block) (texts []string) {
	for _, b := range blocks {
		switch b.Kind {
		case item.BlockText:
			texts = append(texts, b.Text)
		case item.BlockCall:
			texts = append(texts, fmt.Sprintf("[call %s %s]", b.Name, b.Args))
		case item.BlockResult:
			outcome := "result"
			if b.Failed {
				outcome = "failed"
			}
			texts = append(texts, fmt.Sprintf("[%s %s] %s", outcome, b.Name, strings.Join(blockTexts(b.Blocks), "\n")))
		case item.BlockImage, item.BlockAudio:
			texts = append(texts, "("+string(b.Kind)+" "+b.MIME+")")
		}
	}
	return texts
}

// clip returns at most limit bytes of s, valid UTF-8, and says how many it left out.
func clip(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	cut := limit
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d more bytes)", s[:cut], len(s)-cut)
}
