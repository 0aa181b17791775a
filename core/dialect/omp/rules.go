package omp

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
)

// Keeps reports whether the assistant has spoken, which is what omp waits for.
func (Dialect) Keeps(es []core.Entry) bool { return jsonl.Spoken(es, "assistant") }

// ImageStore is "blobs": omp keeps images of 1,024 characters and more there.
func (Dialect) ImageStore() string { return "blobs" }

// Admit refuses a second header, labels and compactions that name an entry which
// does not exist, and what omp does not read as part of the session.
func (d Dialect) Admit(s core.Admission, e core.Entry) error {
	if err := jsonl.CheckEntry(e); err != nil {
		return err
	}
	return tree.Admit(s, e, d.Read, typeHeader)
}
