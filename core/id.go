package core

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Limits of a session's name in the log.
const (
	minSessionID = 8
	maxSessionID = 128
)

// A SessionID names one session in a log. ParseSessionID is the way in, so a
// SessionID in hand is safe in a subject, a key and a file name.
type SessionID string

// ParseSessionID returns s as a SessionID, or ErrInvalid when it is not 8 to
// 128 characters of A-Z, a-z, 0-9, "_" and "-".
func ParseSessionID(s string) (SessionID, error) {
	if len(s) < minSessionID || len(s) > maxSessionID {
		return "", fmt.Errorf("session id %q has %d characters, %d to %d are allowed: %w",
			clip(s, 40), len(s), minSessionID, maxSessionID, ErrInvalid)
	}
	for i := range len(s) {
		if !isIDByte(s[i]) {
			return "", fmt.Errorf("session id %q has %q at position %d, only A-Z a-z 0-9 _ - are allowed: %w",
				clip(s, 40), s[i], i+1, ErrInvalid)
		}
	}
	return SessionID(s), nil
}

// SessionIDFor returns the name in the log of the session that an agent calls
// agentID. An id that is fit for the log is its own name. Any other is hashed
// together with the dialect, so two hosts that import the same session meet.
func SessionIDFor(dialect, agentID string) SessionID {
	if id, err := ParseSessionID(agentID); err == nil {
		return id
	}
	sum := sha256.Sum256([]byte(dialect + "\x00" + agentID))
	return SessionID("x-" + hex.EncodeToString(sum[:16]))
}

// MainHead is the head that every session has from its first record on.
const MainHead = "main"

// CheckHead returns ErrInvalid unless name can name a head: 1 to 64 characters
// of A-Z, a-z, 0-9, "_", "-" and ".".
func CheckHead(name string) error {
	if name == "" || len(name) > 64 {
		return fmt.Errorf("head name %q has %d characters, 1 to 64 are allowed: %w", clip(name, 40), len(name), ErrInvalid)
	}
	for i := range len(name) {
		if !isIDByte(name[i]) && name[i] != '.' {
			return fmt.Errorf("head name %q has %q at position %d, only A-Z a-z 0-9 _ - . are allowed: %w",
				clip(name, 40), name[i], i+1, ErrInvalid)
		}
	}
	return nil
}

func isIDByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// clip shortens s for an error message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
