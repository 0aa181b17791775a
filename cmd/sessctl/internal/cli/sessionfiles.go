package cli

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// WalkSessions calls f with each session file in and below dir, and with each path
// that cannot be read and its error. It skips links, and names that begin with a
// dot other than .nova, in which Nova keeps the sessions of a project.
func WalkSessions(dir string, f func(path string, d fs.DirEntry, err error)) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			f(path, nil, FileError(path, err))
			if d != nil && d.IsDir() {
				return filepath.SkipDir
			}
		case path != dir && strings.HasPrefix(d.Name(), ".") && (d.Name() != ".nova" || !d.IsDir()):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.Type().IsRegular() && isSessionName(path):
			f(path, d, nil)
		}
		return nil
	})
}

// isSessionName reports whether path is that of a session file. Files of Nova are
// recognized by their directory.
func isSessionName(path string) bool {
	if strings.HasSuffix(path, ".jsonl") || strings.HasSuffix(path, ".jsonl.__partial__") {
		return true
	}
	return strings.HasSuffix(path, ".json") && filepath.Base(filepath.Dir(path)) == "sessions"
}
