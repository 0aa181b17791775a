package omp

import (
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/filename"
)

// FileName returns where omp keeps the session: in a directory named after the
// session's directory, under its time and id. Below d.Home the name is "-" and
// the relative path, below d.Temp "-tmp-" and the relative path, otherwise the
// absolute path between "--" and "--". If a field is empty, no path is below
// it; omp finds such a directory, too, and renames it. Links in cwd are not
// resolved.
//
// Characters that omp would never write are replaced, and long names are cut
// and given a hash, so that both results are always the name of one file.
func (d Dialect) FileName(h core.Header) (dir, name string) {
	return d.dirName(h.CWD), filename.Session(h)
}

func (d Dialect) dirName(cwd string) string {
	if way, ok := below(d.Home, cwd); ok {
		return filename.Bounded("-", filename.Safe(way), "")
	}
	if way, ok := below(d.Temp, cwd); ok {
		if way != "" {
			way = "-" + way
		}
		return filename.Bounded("-tmp", filename.Safe(way), "")
	}
	return filename.Absolute(cwd)
}

// below returns the path from root to cwd, or empty if they are the same. As in
// omp, a path that begins with two points leads out of root.
func below(root, cwd string) (way string, ok bool) {
	if root == "" || cwd == "" {
		return "", false
	}
	const separators = `/\`
	root = strings.TrimRight(filename.Clean(root), separators)
	rest, ok := strings.CutPrefix(filename.Clean(cwd), root)
	way = strings.TrimLeft(rest, separators)
	if !ok || rest != "" && len(way) == len(rest) || strings.HasPrefix(way, "..") {
		return "", false
	}
	return way, true
}
