package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
)

// longestID is how much of an id goes into a name, so that the name has at most
// 255 bytes, the limit of file systems.
const longestID = 200

// FileName returns where Operator keeps the session: under its time and id,
// directly in the directory of all sessions. The time is that of the header, in
// UTC, or 1970 if it has none, because Operator's own clock and zone are
// unknown here. In an id that is too long, or has other characters than A-Z,
// a-z, 0-9, "_" and "-", these are replaced and a hash is added, so that no two
// ids share a name.
func (Dialect) FileName(h core.Header) (dir, name string) {
	t, ok := instant(h.Time)
	if !ok || t.Year() < 0 || t.Year() > 9999 {
		t = time.Unix(0, 0).UTC()
	}
	when := strings.ReplaceAll(t.Format("2006-01-02T15-04-05.000000"), ".", "-")
	return "", when + "_" + safe(h.ID) + ".jsonl"
}

func safe(id string) string {
	s := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, id)
	if s == id && len(s) <= longestID {
		return s
	}
	sum := sha256.Sum256([]byte(id))
	return s[:min(len(s), longestID)] + "-" + hex.EncodeToString(sum[:8])
}
