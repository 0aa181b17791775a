package pi

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

// FileName returns where pi keeps the session: in a directory named after the
// one it worked in, under its time and id. What pi would never write there is
// replaced, and what is too long is cut and given a hash, so that both are
// always the name of one file: no separator, not "..", at most 255 bytes.
func (Dialect) FileName(h core.Header) (dir, name string) {
	cwd := h.CWD
	if strings.HasPrefix(cwd, "/") {
		cwd = path.Clean(cwd)
	} else {
		cwd = strings.ReplaceAll(cwd, "..", "--")
	}
	if strings.HasPrefix(cwd, "/") || strings.HasPrefix(cwd, `\`) {
		cwd = cwd[1:]
	}
	when := safe(strings.ReplaceAll(h.Time, ".", "-"))
	if len(when) > longestTime {
		when = clean(when[:longestTime])
	}
	id := strings.ReplaceAll(h.ID+".", "..", "--") // a point follows it
	id = safe(id[:len(id)-1])
	return bounded("--", safe(cwd), "--"), bounded(when+"_", id, ".jsonl")
}

// safe replaces by "-" what separates the parts of a path and what no file
// name may hold.
func safe(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7F || strings.ContainsRune(`/\:`, r) {
			return '-'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// bounded returns before+s+after, with the end of s replaced by a hash of s
// where that would be too long.
func bounded(before, s, after string) string {
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
