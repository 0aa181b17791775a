package omp

import "github.com/sesslog/sesslog/core/dialect/internal/jsonl"

// WithCWD returns a header that says cwd for its directory, as core.Relocator says.
func (Dialect) WithCWD(line []byte, cwd string) []byte { return jsonl.WithText(line, "cwd", cwd) }
