package agent

import "testing"

func TestContainsLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fresh, old string
		want       bool
	}{
		{"a\nb\nc\n", "a\nb\n", true},
		{"a\nb\nc\n", "c\n\nb\na", true},
		{"a\nb\n", "a\nb\nc\n", false},
		{"a\n", "", true},
		{"a\n", "a\r\n", false},
	} {
		if got := containsLines([]byte(c.fresh), []byte(c.old)); got != c.want {
			t.Errorf("%q contains %q: %v, want %v", c.fresh, c.old, got, c.want)
		}
	}
}
