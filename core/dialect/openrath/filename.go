package openrath

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/sesslog/sesslog/core"
)

// FileName is the id of the session and ".jsonl", directly in OpenRath's
// directory of sessions. An id that is not a UUID is replaced by its hash, so
// that no name leaves the directory.
func (Dialect) FileName(h core.Header) (dir, name string) { return "", fileID(h.ID) + ".jsonl" }

func fileID(id string) string {
	if s, ok := canonicalUUID(id); ok {
		return s
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}
