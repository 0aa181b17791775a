package cli

import (
	"path/filepath"
	"strings"
)

// Directory returns the directory that --cwd names, as agents write theirs: absolute
// if it begins with a dot, and without a slash at its end. Others are as given: they
// may be those of another host.
func Directory(dir string) (string, error) {
	first, _, _ := strings.Cut(filepath.ToSlash(dir), "/")
	switch {
	case first == ".", first == "..":
		return filepath.Abs(dir)
	case filepath.IsAbs(dir):
		return filepath.Clean(dir), nil
	}
	return dir, nil
}
