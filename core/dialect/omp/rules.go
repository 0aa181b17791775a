package omp

import (
	"encoding/hex"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Linear is false: omp's sessions are trees.
func (Dialect) Linear() bool { return false }

// Keeps reports whether the assistant has spoken, which is what omp waits for.
func (Dialect) Keeps(es []core.Entry) bool { return jsonl.Spoken(es, "assistant") }

// EntryID is 8 hexadecimal digits.
func (Dialect) EntryID(random [16]byte) string { return hex.EncodeToString(random[:4]) }

// ImageStore is "blobs": omp keeps images of 1,024 characters and more there.
func (Dialect) ImageStore() string { return "blobs" }
