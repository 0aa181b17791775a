package cli

import (
	"slices"
	"testing"
)

func TestTextIsFoldedBetweenWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text          string
		width, indent int
		want          string
	}{
		{"one two three", 0, 2, "one two three"},
		{"one two three", 9, 0, "one two\nthree"},
		{"one two three", 9, 4, "one\n    two\n    three"},
		{"a-word-that-is-too-long for it", 6, 2, "a-word-that-is-too-long\n  for\n  it"},
		{"ëëë ëëë", 7, 0, "ëëë ëëë"},
		{"", 9, 4, ""},
	} {
		if got := (Screen{Width: c.width}).Wrap(c.text, c.indent); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestRowsFitTheScreenAndKeepTheText(t *testing.T) {
	t.Parallel()
	s := Screen{Width: 20}
	for line, want := range map[string][]string{
		"":                                   {""},
		"short":                              {"short"},
		"a long line with many short words":  {"a long line with", "many short words"},
		"    if x { return yes, no, maybe }": {"    if x { return", "yes, no, maybe }"},
		"averyveryverylongwordwithoutspace":  {"averyveryverylong", "wordwithoutspace"},
		"端口是八零八零端口是八零八零": {"端口是八零八零端", "口是八零八零"},
	} {
		got := s.Rows(line, 3)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
		for _, row := range got {
			if Columns(row) > 17 {
				t.Errorf("%q has %d columns", row, Columns(row))
			}
		}
	}
	if got := (Screen{}).Rows("without a width, a line of any length stays as it is", 3); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
