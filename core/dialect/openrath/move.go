package openrath

import (
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// localBackend is the one whose directories are those of the host.
const localBackend = "local"

// WithCWD returns a header that says cwd for its directory, as core.Relocator says.
// Only a sandbox on the host itself has one of the host's: any other has a
// file system of its own.
func (Dialect) WithCWD(line []byte, cwd string) []byte {
	o, err := jsjson.ParseObject(line)
	if err != nil || !o.Get("sandbox_backend").Is(localBackend) {
		return line
	}
	return jsonl.WithTextIn(line, "sandbox_spec", "working_dir", cwd)
}
