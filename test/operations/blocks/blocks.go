package blocks

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// A Block is a piece of a document that a reader may type.
type Block struct {
	Line  int    // of its first line of text, from 1
	At    string // n1 if the line above is the comment <!-- at: n1 -->
	Lang  string // the language of the fence; empty for an indented block or a span
	Text  string
	Fence bool // a fenced block
	Span  bool // a code span in a line of text
}

var (
	at    = regexp.MustCompile(`^<!-- at: (.+) -->$`)
	spans = regexp.MustCompile("`([^`]+)`")
)

// Read returns the blocks and code spans of the document at path, in order.
func Read(path string) ([]Block, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(string(b))
}

// Parse is like Read for the text of a document. A fenced block without an end is
// an error.
func Parse(text string) ([]Block, error) {
	var all []Block
	var open *Block // the block that the lines are in
	where, blank := "", true
	end := func() {
		if open != nil {
			all = append(all, *open)
		}
		open = nil
	}
	for i, line := range strings.Split(text, "\n") {
		fence := strings.HasPrefix(line, "```")
		indented := strings.HasPrefix(line, "    ")
		switch {
		case fence && open != nil && open.Fence:
			end()
		case open != nil && open.Fence:
			open.Text += line + "\n"
		case fence:
			end()
			open = &Block{Line: i + 2, At: where, Lang: strings.TrimPrefix(line, "```"), Fence: true}
		case indented && open != nil:
			open.Text += line[4:] + "\n"
		case indented && blank:
			open = &Block{Line: i + 1, Text: line[4:] + "\n"}
		case line == "" && open != nil:
			open.Text += "\n"
		default:
			end()
			for _, m := range spans.FindAllStringSubmatch(line, -1) {
				all = append(all, Block{Line: i + 1, Text: m[1], Span: true})
			}
		}
		where = ""
		if m := at.FindStringSubmatch(line); m != nil {
			where = m[1]
		}
		blank = line == ""
	}
	if open != nil && open.Fence {
		return nil, fmt.Errorf("the block at line %d has no end", open.Line)
	}
	end()
	return all, nil
}
