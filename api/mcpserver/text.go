package mcpserver

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
)

// maxText is how many bytes of an entry's text a result has.
const maxText = 4000

// textOf returns what an entry says, as text: who speaks, and texts, calls and
// results. Thoughts are left out.
func textOf(d core.Dialect, e core.Entry) string {
	var parts []string
	for _, it := range d.Read(e) {
		if text := it.Plain(); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return "(" + e.Type + ")"
	}
	return clip(strings.Join(parts, "\n"), maxText)
}

// clip returns at most limit bytes of s, valid UTF-8, and says how many it left out.
func clip(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	cut := limit
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d more bytes)", s[:cut], len(s)-cut)
}
