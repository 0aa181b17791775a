package cli

import "strings"

// Wrap is text in lines that fit the screen, where that has a width: those behind
// the first begin at column indent, where the first begins, too.
func (s Screen) Wrap(text string, indent int) string {
	if s.Width == 0 {
		return text
	}
	return Wrapped(text, s.Width, indent)
}

// Wrapped is a paragraph with as many words in each line as fit into width columns,
// of which indent are taken: those of the first line by what stands before it, those
// of the others by spaces.
func Wrapped(text string, width, indent int) string {
	var b strings.Builder
	at := indent
	for word := range strings.FieldsSeq(text) {
		switch {
		case at == indent:
		case at+1+Columns(word) > width:
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
