package redact_test

import (
	"testing"

	"github.com/sesslog/sesslog/core/redact"
)

func TestCovers(t *testing.T) {
	t.Parallel()
	m := redact.Mask("github-pat")
	for _, c := range []struct {
		masked, line string
		want         bool
	}{
		{"a " + m + " b", "a secret b", true},
		{"a " + m + " b", "a " + m + " b", true},
		{"a " + m + " b", "a  b", true},
		{"a " + m + " b " + m, "a x b y", true},
		{m + m, "xy", true},
		{"a " + m + " b", "a secret c", false},
		{"a " + m + " b", "x secret b", false},
		{"a " + m + " b " + m + " c", "a x c", false},
		{"a " + m + "ba", "a a", false},
		{"a b", "a b", false}, // no mask
		{"a [masked:] b", "a x b", false},
	} {
		if got := redact.Covers([]byte(c.masked), []byte(c.line)); got != c.want {
			t.Errorf("%q covers %q: %t", c.masked, c.line, got)
		}
	}
}
