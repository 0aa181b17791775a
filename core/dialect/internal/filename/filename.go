package filename

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
)

const (
	longestName = 255 // in bytes, what file systems take
	longestTime = 64
)

// Session is the name of a session's file: its time and its id.
func Session(h core.Header) string {
	when := Safe(strings.ReplaceAll(h.Time, ".", "-"))
	if len(when) > longestTime {
		when = clean(when[:longestTime])
	}
	id := strings.ReplaceAll(h.ID+".", "..", "--") // a point follows it
	id = Safe(id[:len(id)-1])
	return Bounded(when+"_", id, ".jsonl")
}

// Absolute is the name of a directory for the sessions of cwd: the whole path
// between two pairs of dashes.
func Absolute(cwd string) string {
	cwd = Clean(cwd)
	if strings.HasPrefix(cwd, "/") || strings.HasPrefix(cwd, `\`) {
		cwd = cwd[1:]
	}
	return Bounded("--", Safe(cwd), "--")
}

// Clean takes what goes up out of a path: an absolute one becomes the shortest
// for the same place, in any other ".." is replaced.
func Clean(cwd string) string {
	if strings.HasPrefix(cwd, "/") {
		return path.Clean(cwd)
	}
	return strings.ReplaceAll(cwd, "..", "--")
}

// Safe replaces by "-" what separates the parts of a path and what no file
// name may hold.
func Safe(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7F || strings.ContainsRune(`/\:`, r) {
			return '-'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Bounded returns before+s+after. If that is too long, the end of s is replaced
// by a hash of s.
func Bounded(before, s, after string) string {
	room := longestName - len(before) - len(after)
	if len(s) > room {
		sum := sha256.Sum256([]byte(s))
		tail := "-" + hex.EncodeToString(sum[:8])
		s = clean(s[:room-len(tail)]) + tail
	}
	return before + s + after
}

// clean drops a character that was cut in two from the end of s.
func clean(s string) string {
	for len(s) > 0 {
		if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n > 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}
