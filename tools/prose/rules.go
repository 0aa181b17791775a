package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxSentence = 45  // words of a sentence in a document
	maxError    = 120 // characters of an error's first line
	maxShort    = 60  // characters of a command's Short text
)

// finding is a place that breaks a rule.
type finding struct {
	file string
	line int
	what string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.what) }

// rules are the words to avoid.
type rules struct {
	message    string
	swaps      []swap
	exceptions []*regexp.Regexp
}

type swap struct {
	match *regexp.Regexp
	use   string
}

//go:embed words.yml
var wordsYAML []byte

// parseRules reads a substitution rule in Vale's format. Members that this
// program does not know are errors.
func parseRules(b []byte) (*rules, error) {
	var doc struct {
		Extends    string    `yaml:"extends"`
		Message    string    `yaml:"message"`
		Level      string    `yaml:"level"`
		IgnoreCase bool      `yaml:"ignorecase"`
		Swap       yaml.Node `yaml:"swap"`
		Exceptions []string  `yaml:"exceptions"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	if doc.Extends != "substitution" || !doc.IgnoreCase {
		return nil, fmt.Errorf("words: want a substitution rule that ignores case")
	}
	r := &rules{message: doc.Message}
	for i := 0; i+1 < len(doc.Swap.Content); i += 2 {
		re, err := pattern(doc.Swap.Content[i].Value)
		if err != nil {
			return nil, err
		}
		r.swaps = append(r.swaps, swap{re, doc.Swap.Content[i+1].Value})
	}
	for _, e := range doc.Exceptions {
		re, err := pattern(e)
		if err != nil {
			return nil, err
		}
		r.exceptions = append(r.exceptions, re)
	}
	return r, nil
}

// pattern compiles a key of the list: whole words, any white space, any case.
func pattern(key string) (*regexp.Regexp, error) {
	return regexp.Compile(`(?i)\b(?:` + strings.ReplaceAll(key, " ", `\s+`) + `)\b`)
}

// check returns what t breaks, in the order of its lines.
func (r *rules) check(t text) []finding {
	out := r.words(t)
	switch t.kind {
	case document:
		out = append(out, sentences(t)...)
	case errorMsg:
		if first, _, _ := strings.Cut(t.body, "\n"); len([]rune(first)) > maxError {
			out = append(out, t.finding(0, "the first line of an error has %d characters, at most %d", len([]rune(first)), maxError))
		}
	case short:
		if n := len([]rune(t.body)); n > maxShort {
			out = append(out, t.finding(0, "a Short text has %d characters, at most %d", n, maxShort))
		}
	}
	slices.SortStableFunc(out, func(a, b finding) int { return a.line - b.line })
	return out
}

func (t *text) finding(offset int, format string, args ...any) finding {
	return finding{t.file, t.line(offset), fmt.Sprintf(format, args...)}
}

// option is a flag of a program. Its name is not prose.
var option = regexp.MustCompile(`--[a-z][a-z-]*`)

// words reports the words of t that are on the list, each place once.
func (r *rules) words(t text) []finding {
	var out []finding
	end := func(span []int) int { return span[1] }
	taken := option.FindAllStringIndex(t.body, -1)
	for _, e := range r.exceptions {
		taken = append(taken, e.FindAllStringIndex(t.body, -1)...)
	}
	for _, s := range r.swaps {
		for _, at := range s.match.FindAllStringIndex(t.body, -1) {
			if slices.ContainsFunc(taken, func(span []int) bool { return span[0] <= at[0] && at[1] <= end(span) }) {
				continue
			}
			taken = append(taken, at)
			found := strings.Join(strings.Fields(t.body[at[0]:at[1]]), " ")
			out = append(out, t.finding(at[0], r.message+" (%s)", found, s.use, t.kind))
		}
	}
	return out
}

var sentenceEnd = regexp.MustCompile(`[.!?;]["')*_]*\s|$`)

// sentences reports the sentences that are too long.
func sentences(t text) []finding {
	var out []finding
	begin := 0
	for _, at := range sentenceEnd.FindAllStringIndex(t.body, -1) {
		sentence := t.body[begin:at[0]]
		if n := words(sentence); n > maxSentence && !isList(sentence) {
			out = append(out, t.finding(begin, "a sentence of %d words, at most %d", n, maxSentence))
		}
		begin = at[1]
	}
	return out
}

// isList reports whether a sentence lists things, such as the fields of an object:
// it has a comma for every five words, or describes the output of -o json.
func isList(sentence string) bool {
	return 5*strings.Count(sentence, ",") >= words(sentence) || strings.Contains(sentence, "-o json")
}
