package main

import "strings"

// folded is text in lines that fit the screen, where that has a width: those behind
// the first begin at column indent, where the first begins, too.
func (s screen) folded(text string, indent int) string {
	if s.width == 0 {
		return text
	}
	return wrapped(text, s.width, indent)
}

// wrapped is a paragraph with as many words in each line as fit into width columns,
// of which indent are taken: those of the first line by what stands before it, those
// of the others by spaces.
func wrapped(text string, width, indent int) string {
	var b strings.Builder
	at := indent
	for word := range strings.FieldsSeq(text) {
		switch {
		case at == indent:
		case at+1+columns(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += columns(word)
	}
	return b.String()
}
