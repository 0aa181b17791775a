package pi

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/filename"
)

// FileName returns where pi keeps the session: in a directory named after the
// session's directory, under its time and id. Characters that pi would never
// write are replaced, and long names are cut and given a hash, so that both are
// always the name of one file: no separator, not "..", at most 255 bytes.
func (Dialect) FileName(h core.Header) (dir, name string) {
	return filename.Absolute(h.CWD), filename.Session(h)
}
