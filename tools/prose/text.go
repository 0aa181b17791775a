package main

import (
	"sort"
	"strings"
)

// kind tells where a text was found, which decides the rules that it must keep.
type kind string

const (
	comment  kind = "comment"
	literal  kind = "text"
	errorMsg kind = "error"
	short    kind = "short"
	testName kind = "test name"
	document kind = "document"
	plain    kind = "file"
)

// text is a piece of prose and the lines that it comes from.
type text struct {
	file  string
	kind  kind
	body  string
	marks []mark
}

// mark says that the text from offset on is on this line of the file.
type mark struct{ offset, line int }

// newText returns a text whose first line is the given one, and each newline of
// body is one of the file.
func newText(file string, k kind, line int, body string) text {
	t := text{file: file, kind: k}
	t.add(line, body, true)
	return t
}

// add appends body, which begins on the given line. With multiline each newline
// of body is one of the file; otherwise all of body is on one line.
func (t *text) add(line int, body string, multiline bool) {
	t.marks = append(t.marks, mark{len(t.body), line})
	if multiline {
		for i := range body {
			if body[i] == '\n' {
				line++
				t.marks = append(t.marks, mark{len(t.body) + i + 1, line})
			}
		}
	}
	t.body += body
}

// line returns the line of the file that the byte at offset is on.
func (t *text) line(offset int) int {
	i := sort.Search(len(t.marks), func(i int) bool { return t.marks[i].offset > offset })
	return t.marks[i-1].line
}

// words counts the words of s that have a letter.
func words(s string) int {
	n := 0
	for _, w := range strings.Fields(s) {
		if strings.ContainsFunc(w, isLetter) {
			n++
		}
	}
	return n
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
