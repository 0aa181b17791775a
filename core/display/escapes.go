package display

import (
	"regexp"
	"strings"
)

// Escapes matches the sequences that terminals interpret: CSI, strings such as OSC
// (with their end, if it comes), and single characters (ECMA-48). It also matches a
// sequence that a cut text ends in.
var Escapes = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?`)

// WithoutEscapes returns s without the sequences that terminals interpret.
func WithoutEscapes(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	return Escapes.ReplaceAllString(s, "")
}
