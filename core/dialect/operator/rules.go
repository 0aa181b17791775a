package operator

import (
	"encoding/hex"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Linear is false: Operator's sessions are trees.
func (Dialect) Linear() bool { return false }

// Keeps reports whether the assistant has spoken, which is what Operator waits
// for; an empty answer or a failed one counts.
func (Dialect) Keeps(es []core.Entry) bool { return jsonl.Spoken(es, "assistant") }

// EntryID is 8 hexadecimal digits.
func (Dialect) EntryID(random [16]byte) string { return hex.EncodeToString(random[:4]) }

// ImageStore is empty: Operator writes images into its lines.
func (Dialect) ImageStore() string { return "" }
