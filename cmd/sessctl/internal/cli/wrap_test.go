package cli

import "testing"

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
