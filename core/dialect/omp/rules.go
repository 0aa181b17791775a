package omp

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Keeps reports whether the assistant has spoken, which is what omp waits for.
func (Dialect) Keeps(es []core.Entry) bool { return jsonl.Spoken(es, "assistant") }

// ImageStore is "blobs": omp keeps images of 1,024 characters and more there.
func (Dialect) ImageStore() string { return "blobs" }
