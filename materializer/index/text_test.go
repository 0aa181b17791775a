package index

import (
	"strings"
	"testing"
)

// TestPlainTextNeedsNoTidying checks that tidy may skip its work for plain texts, and
// that texts with something to remove are not plain.
func TestPlainTextNeedsNoTidying(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("aB3", longWord/3)
	for s, want := range map[string]bool{
		"":                            true,
		"what was said\nand done":     true,
		word[1:] + " " + word[1:]:     true,
		word[1:] + "-" + word[1:]:     true,
		word:                          false,
		"a " + word:                   false,
		strings.Repeat("a", longWord): false,
		"tab\there":                   false,
		"nul\x00":                     false,
		"del\x7f":                     false,
		"größer":                      false,
		"bad\xff":                     false,
	} {
		if got := isPlain(s); got != want {
			t.Errorf("isPlain(%q) = %v", s, got)
		}
		if isPlain(s) && withoutBase64(s) != s {
			t.Errorf("%q is plain, and loses base64", s)
		}
	}
	if got := tidy(" x "+word+"\ty ", maxEntry); got != "x … y" {
		t.Errorf("tidy: %q", got)
	}
}
