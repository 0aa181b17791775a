package operator

import "github.com/sesslog/sesslog/core/dialect/internal/jsonl"

// InCWD returns a header that says cwd for its directory, as core.Mover says.
func (Dialect) InCWD(line []byte, cwd string) []byte { return jsonl.WithText(line, "cwd", cwd) }
