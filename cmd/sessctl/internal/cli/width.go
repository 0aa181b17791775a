package cli

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// width measures text the same on all hosts: not by the locale.
var width = &runewidth.Condition{StrictEmojiNeutral: true}

// Columns returns the number of terminal columns that s takes.
func Columns(s string) int { return width.StringWidth(s) }

// Cut shortens s to n columns, with an ellipsis at the end.
func Cut(s string, n int) string { return width.Truncate(s, n, "…") }

// Wrap breaks text into lines that fit the screen. The first line starts at column
// indent, and the others are indented to it.
func (s Screen) Wrap(text string, indent int) string {
	if s.Width == 0 {
		return text
	}
	return Wrapped(text, s.Width, indent)
}

// Rows breaks a line into rows that fit the screen after used columns, at spaces if
// possible. Spaces at the beginning stay, as code needs them.
func (s Screen) Rows(line string, used int) (rows []string) {
	n := max(s.Width-used, 16)
	for s.Width > 0 && Columns(line) > n {
		row := width.Truncate(line, n, "")
		if at := strings.LastIndexByte(row, ' '); at > 0 && strings.TrimSpace(row[:at]) != "" && line[len(row)] != ' ' {
			row = row[:at]
		}
		rows = append(rows, strings.TrimRight(row, " "))
		line = strings.TrimLeft(line[len(row):], " ")
	}
	return append(rows, line)
}

// Wrapped breaks a paragraph into lines of at most n columns. The first line
// starts at column indent, and the others are indented to it.
func Wrapped(text string, n, indent int) string {
	var b strings.Builder
	at := indent
	for word := range strings.FieldsSeq(text) {
		switch {
		case at == indent:
		case at+1+Columns(word) > n:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += Columns(word)
	}
	return b.String()
}
