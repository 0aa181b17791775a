package main

import (
	"regexp"
	"strings"
)

var (
	codeSpan  = regexp.MustCompile("`[^`]*`")
	linkTo    = regexp.MustCompile(`\]\([^)]*\)`)
	htmlNote  = regexp.MustCompile(`(?s)<!--.*?-->`)
	listItem  = regexp.MustCompile(`^\s*([-*+]|\d+\.) `)
	indented  = regexp.MustCompile(`^(    |\t)`)
	deeper    = regexp.MustCompile(`^ {6}`) // a code block in a list item
	tableRule = regexp.MustCompile(`^\s*\|[-| :]+\|\s*$`)
)

// markdownTexts returns the paragraphs, headings, list items and table rows of
// a Markdown file. Code blocks are left out, and a code span counts as one word.
func markdownTexts(file string, src []byte) []text {
	m := markdown{file: file}
	s := htmlNote.ReplaceAllStringFunc(string(src), func(note string) string {
		return strings.Repeat("\n", strings.Count(note, "\n"))
	})
	for i, line := range strings.Split(s, "\n") {
		m.line(i+1, line)
	}
	m.end()
	return m.texts
}

type markdown struct {
	file   string
	texts  []text
	block  text
	fenced bool
	inList bool
}

func (m *markdown) line(n int, line string) {
	trimmed := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(trimmed, "```"):
		m.end()
		m.fenced = !m.fenced
	case m.fenced, tableRule.MatchString(line):
	case trimmed == "":
		m.end()
	case m.block.body == "" && m.isCode(line):
	case strings.HasPrefix(trimmed, "|"):
		for cell := range strings.SplitSeq(strings.Trim(withoutCode(trimmed), "|"), "|") {
			m.end()
			m.add(n, cell)
		}
		m.end()
	case strings.HasPrefix(line, "#"):
		m.end()
		m.add(n, line)
		m.end()
	default:
		item := listItem.MatchString(line)
		if item {
			m.end()
		}
		m.inList = item || m.inList && strings.HasPrefix(line, " ")
		m.add(n, withoutCode(line))
	}
}

// isCode reports whether a line after a blank one begins or continues a code block.
func (m *markdown) isCode(line string) bool {
	if m.inList {
		return deeper.MatchString(line)
	}
	return indented.MatchString(line)
}

func (m *markdown) add(n int, line string) { m.block.add(n, line+"\n", false) }

func (m *markdown) end() {
	if m.block.body != "" {
		m.block.file, m.block.kind = m.file, document
		m.texts = append(m.texts, m.block)
	}
	m.block = text{}
}

func withoutCode(s string) string {
	return linkTo.ReplaceAllString(codeSpan.ReplaceAllString(s, "`code`"), "]")
}
