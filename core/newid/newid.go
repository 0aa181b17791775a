// Package newid makes the ids of new sessions and entries, and checks those that
// callers choose.
package newid

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
)

// Session returns a new session's name, a UUID of version 7 as the agents
// use. made holds the time in milliseconds in its first six bytes, followed by
// random bytes, as a ULID does.
func Session(made [16]byte) core.SessionID {
	return core.SessionID(uuid(made, 7))
}

// UUID returns a UUID of version 8 for the bytes of a hash.
func UUID(hash [16]byte) string { return uuid(hash, 8) }

// IsUUID reports whether s has the form of a UUID.
func IsUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
			continue
		}
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

func uuid(b [16]byte, version byte) string {
	b[6], b[8] = b[6]&0x0F|version<<4, b[8]&0x3F|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// ParseSession is core.ParseSessionID for a session that a caller names. It also
// refuses a leading "-", which command lines read as an option.
func ParseSession(s string) (core.SessionID, error) {
	if strings.HasPrefix(s, "-") {
		return "", fmt.Errorf("session id %.40q begins with -, which command lines read as an option: %w", s, core.ErrInvalid)
	}
	return core.ParseSessionID(s)
}

// CheckEntry returns core.ErrInvalid for an id that no URL or terminal can carry:
// "." and "..", and one with control or format characters. Files that agents wrote
// keep such ids.
func CheckEntry(id string) error {
	if id == "." || id == ".." {
		return fmt.Errorf("entry id %q is a step of a path: %w", id, core.ErrInvalid)
	}
	for _, r := range id {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
			return fmt.Errorf("entry id %.64q has the character %U, which is not shown as it is: %w", id, r, core.ErrInvalid)
		}
	}
	return nil
}
