package bundle

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
)

// Limits of the path of a session's file.
const (
	maxPath      = 1024
	maxPathParts = 32
	maxPathPart  = 255
)

// CheckPath returns core.ErrInvalid unless p is a slash-separated path below some
// folder, on every operating system: relative, without "." and "..", without
// backslashes, colons and control characters, of bounded length and depth.
func CheckPath(p string) error {
	if p == "" || len(p) > maxPath || !utf8.ValidString(p) || path.Clean(p) != p || path.IsAbs(p) {
		return badPath(p)
	}
	parts := strings.Split(p, "/")
	if len(parts) > maxPathParts {
		return badPath(p)
	}
	for _, part := range parts {
		if part == "." || part == ".." || len(part) > maxPathPart || strings.ContainsFunc(part, isUnsafe) {
			return badPath(p)
		}
	}
	return nil
}

func isUnsafe(r rune) bool { return r < 0x20 || r == 0x7F || r == '\\' || r == ':' }

func badPath(p string) error {
	return fmt.Errorf("path %.80q is not that of a file below a folder: %w", p, core.ErrInvalid)
}
