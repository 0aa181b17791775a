package cli

import (
	"path/filepath"
	"strings"

	"github.com/sesslog/sesslog/agent"
)

// Directory returns the directory that --cwd names, as agents write theirs: without a
// slash at its end and, if it exists here, without symbolic links. It is absolute if it
// begins with a dot. Others are as given: they may be those of another host.
func Directory(dir string) (string, error) {
	first, _, _ := strings.Cut(filepath.ToSlash(dir), "/")
	if first == "." || first == ".." || filepath.IsAbs(dir) {
		return agent.RealDir(dir)
	}
	return dir, nil
}
