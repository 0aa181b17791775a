package openrath

import (
	"encoding/hex"
	"strings"
)

// spelled returns id as OpenRath spells it, unchanged if it is not a UUID.
func spelled(id string) string {
	if s, ok := canonicalUUID(id); ok {
		return s
	}
	return id
}

// canonicalUUID returns s as Python's str(uuid.UUID(s)) does, and reports false
// if it is not a UUID. Braces, a urn: prefix and hyphens anywhere are allowed.
func canonicalUUID(s string) (string, bool) {
	if len(s) > 64 {
		return "", false
	}
	s = strings.ReplaceAll(strings.ReplaceAll(s, "urn:", ""), "uuid:", "")
	s = strings.ReplaceAll(strings.Trim(s, "{}"), "-", "")
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 16 {
		return "", false
	}
	return uuidText([16]byte(b)), true
}
