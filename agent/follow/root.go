package follow

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Root is a directory with session files in it and below it, or one session
// file. It need not be there yet.
type Root struct {
	Path string
	// Dialect is whose files they are, for those of which their bytes do not say;
	// empty where that is not known.
	Dialect string
	// Images is the folder where the agent keeps images that its lines refer to.
	// Default: where the agent has it, beside the folder called sessions.
	Images string
	// Since leaves out files that were not changed since then, until they are.
	// The zero time leaves out none.
	Since time.Time
}

// has reports whether path is the root, or below it and called like a session
// file.
func (r *Root) has(path string) bool {
	if path == r.Path {
		return true
	}
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(r.Path, "/")+string(filepath.Separator))
	if !ok || !IsSessionName(path) {
		return false
	}
	for part := range strings.SplitSeq(filepath.Dir(rest), string(filepath.Separator)) {
		if part != "." && strings.HasPrefix(part, ".") {
			return false
		}
	}
	return true
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// IsSessionName reports whether agents give their session files such a name.
// Locks, drafts and what omp renames into place later have others; Nova's end
// like any JSON file and are known by their folder.
func IsSessionName(path string) bool {
	name := filepath.Base(path)
	switch {
	case strings.HasPrefix(name, "."):
		return false
	case strings.HasSuffix(name, ".jsonl"), strings.HasSuffix(name, ".jsonl.__partial__"):
		return true
	}
	return strings.HasSuffix(name, ".json") && filepath.Base(filepath.Dir(path)) == "sessions"
}
