package openrath

import (
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// localBackend is the backend whose directories are those of the host.
const localBackend = "local"

// WithCWD implements optional.Relocator. Only a sandbox on the host itself has a
// directory of the host; any other has a separate file system.
func (Dialect) WithCWD(line []byte, cwd string) []byte {
	o, err := jsjson.ParseObject(line)
	if err != nil || !o.Get("sandbox_backend").Is(localBackend) {
		return line
	}
	return jsonl.WithTextIn(line, "sandbox_spec", "working_dir", cwd)
}
