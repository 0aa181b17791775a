package pi

import (
	"encoding/hex"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Linear is false: pi's sessions are trees.
func (Dialect) Linear() bool { return false }

// Keeps reports whether a message of the user or the assistant is among es,
// which is what pi 1.5.2 waits for. pi 0.73.1 waits for the assistant.
func (d Dialect) Keeps(es []core.Entry) bool {
	if d.V073 {
		return jsonl.Spoken(es, "assistant")
	}
	return jsonl.Spoken(es, "user", "assistant")
}

// EntryID is 8 hexadecimal digits.
func (Dialect) EntryID(random [16]byte) string { return hex.EncodeToString(random[:4]) }

// ImageStore is empty: pi writes images into its lines.
func (Dialect) ImageStore() string { return "" }
