package omp

import (
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/filename"
)

// FileName returns where omp keeps the session: in a directory named after the
// one it worked in, under its time and id. Below d.Home the name is "-" and
// the way from there, below d.Temp "-tmp-" and the way from there, otherwise
// the whole path between "--" and "--". Where a field is empty nothing is below
// it; omp finds such a directory too, and gives it its new name. Links in cwd
// are not resolved.
//
// What omp would never write there is replaced, and what is too long is cut
// and given a hash, so that both are always the name of one file.
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

// below returns the way from root to cwd, empty where they are the same. As
// in omp, a way that begins with two points leads out.
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
