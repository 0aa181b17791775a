package item

import (
	"fmt"
	"strings"
)

// Plain returns what it says, as text: who speaks, and texts, calls and results. Thoughts
// are left out. It is empty if it says nothing.
func (it *Item) Plain() string {
	text := it.Text
	if it.Kind == Message || it.Kind == Note {
		text = strings.Join(blockTexts(it.Blocks), "\n")
	}
	switch {
	case it.Error != "":
		text += "\nerror: " + it.Error
	case text == "":
		return ""
	}
	who := string(it.Kind)
	if it.Kind == Message {
		who = string(it.Role)
	}
	return who + ": " + strings.TrimSpace(text)
}

func blockTexts(blocks []Block) (texts []string) {
	for _, b := range blocks {
		switch b.Kind {
		case BlockText:
			texts = append(texts, b.Text)
		case BlockCall:
			texts = append(texts, fmt.Sprintf("[call %s %s]", b.Name, b.Args))
		case BlockResult:
			outcome := "result"
			if b.Failed {
				outcome = "failed"
			}
			texts = append(texts, fmt.Sprintf("[%s %s] %s", outcome, b.Name, strings.Join(blockTexts(b.Blocks), "\n")))
		case BlockImage, BlockAudio:
			texts = append(texts, "("+string(b.Kind)+" "+b.MIME+")")
		}
	}
	return texts
}
