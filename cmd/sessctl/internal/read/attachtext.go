package read

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
)

// Limits of a message, in lines and bytes, and of a tool result, in lines.
const (
	saidLines, saidBytes = 400, 64 << 10
	promptLines          = 20 // prompts can carry whole files
	resultLines          = 4
	oneLine              = 200 // limit of a line in bytes, if the screen has no width
)

// item shows an item of an entry.
func (x *attached) item(s shownRecord, it item.Item) error {
	switch it.Kind {
	case item.Message:
		return x.message(s, it)
	case item.Note:
		if it.Hidden {
			return nil
		}
		return x.note("%s", cli.Join(": ", it.Type, blocksText(it.Blocks)))
	case item.Model:
		return x.note("model %s", cli.Join("/", it.Provider, it.Model))
	case item.Level:
		return x.note("thinking %s", it.Text)
	case item.Compaction:
		return x.note("summary of the earlier entries: %s", it.Text)
	case item.Branch:
		return x.note("summary of another branch: %s", it.Text)
	case item.Label:
		if it.Text == "" {
			return x.note("no label on %s", it.Target)
		}
		return x.note("label %q on %s", it.Text, it.Target)
	case item.Name:
		return x.note("session name: %q", it.Text)
	case item.Mode:
		return x.note("mode %s", it.Text)
	case item.Channel:
		return x.note("channel %s", it.Text)
	}
	return nil // data of extensions, and leafs
}

func (x *attached) message(s shownRecord, it item.Item) error {
	if it.Role == item.RoleSystem {
		return x.note("instructions: %s", blocksText(it.Blocks))
	}
	if it.Role != item.RoleTool {
		if err := x.speaker(s, it); err != nil {
			return err
		}
	}
	most := saidLines
	if it.Role == item.RoleUser {
		most = promptLines
	}
	for _, b := range it.Blocks {
		if err := x.block(b, most); err != nil {
			return err
		}
	}
	if it.Error != "" {
		return x.line("! ", it.Error)
	}
	return nil
}

// speaker shows the time and role of a message, and its head if that is not main.
func (x *attached) speaker(s shownRecord, it item.Item) error {
	who := cli.Join(" ", x.a.TimeText(it.Time), string(it.Role))
	if s.Head != core.MainHead && x.head == "" {
		who += " on head " + s.Head
	}
	color := cli.Cyan
	if it.Role == item.RoleUser {
		color = cli.Bold
	}
	return x.a.Printf("\n%s", x.a.Stdout.Paint(color, cli.Plain(who)+":"))
}

// block shows a block, and up to most rows of a text.
func (x *attached) block(b item.Block, most int) error {
	switch b.Kind {
	case item.BlockText:
		return x.text("  ", b.Text, most)
	case item.BlockThinking:
		if b.Text == "" {
			return nil
		}
		return x.line("", "("+b.Text+")")
	case item.BlockImage, item.BlockAudio:
		return x.line("", "["+b.MIME+"]")
	case item.BlockCall:
		return x.line("> ", cli.Join(" ", b.Name, display.Gist(b.Args)))
	case item.BlockResult:
		return x.result(b)
	}
	return nil
}

// result shows the beginning of a tool result.
func (x *attached) result(b item.Block) error {
	text := blocksText(b.Blocks)
	if b.Failed {
		text = "failed: " + text
	}
	var kept []string
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			kept = append(kept, strings.TrimRight(line, "\n"))
		}
	}
	return x.text("  | ", strings.Join(kept, "\n"), resultLines)
}

func blocksText(bs []item.Block) string {
	var parts []string
	for _, b := range bs {
		switch b.Kind {
		case item.BlockText:
			parts = append(parts, b.Text)
		case item.BlockImage, item.BlockAudio:
			parts = append(parts, "["+b.MIME+"]")
		}
	}
	return strings.Join(parts, "\n")
}

// text shows up to most rows, each with a mark in front. Lines that are wider than
// the screen are wrapped.
func (x *attached) text(mark, text string, most int) error {
	text = strings.TrimRight(text, " \t\r\n")
	if text == "" {
		return nil
	}
	var b strings.Builder
	n, left := 0, text
	for left != "" && n < most && b.Len() < saidBytes {
		line, rest, _ := strings.Cut(left, "\n")
		left = rest
		for _, row := range x.a.Stdout.Rows(harmless(clipTo(line, saidBytes)), cli.Columns(mark)) {
			if n++; n > most {
				left = row + "\n" + left
				break
			}
			b.WriteString(mark + row + "\n")
		}
	}
	if left != "" {
		fmt.Fprintf(&b, "%s… %s more\n", mark, cli.Count(strings.Count(left, "\n")+1, "line", "lines"))
	}
	_, err := io.WriteString(x.a.Stdout, b.String())
	return err
}

// line shows text in one line.
func (x *attached) line(mark, text string) error {
	return x.a.Printf("  %s%s", mark, x.a.Stdout.Fit(clipTo(cli.Plain(clipTo(text, 8*oneLine)), oneLine), 2+len(mark)))
}

// note shows a fact about the session in one line.
func (x *attached) note(form string, args ...any) error {
	return x.line("· ", fmt.Sprintf(form, args...))
}

// clipTo cuts text to at most n bytes, at a character.
func clipTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// harmless makes the control characters of a line visible, and keeps its spaces,
// which matter in code.
func harmless(line string) string {
	var b strings.Builder
	for _, r := range strings.TrimSuffix(line, "\r") {
		if r == '\t' {
			b.WriteString("    ")
			continue
		}
		b.WriteString(cli.VisibleRune(r))
	}
	return b.String()
}
