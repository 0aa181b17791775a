package follow

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sesslog/sesslog/agent/eventdb"
	"github.com/sesslog/sesslog/core/bundle"
)

// A Root is a directory that contains session files at any depth, or one session
// file. It need not exist yet. It can also be the database of opencode, or a session
// in it: the path of the database, with the session's id below it.
type Root struct {
	Path string
	// Dialect is the dialect of files whose content does not show it; empty if
	// unknown.
	Dialect string
	// Images is the directory of the images that lines refer to. Default: the
	// agent's own, beside the directory called sessions.
	Images string
	// Home is the agent's sessions directory, if Path is the main file of a session
	// that the agent keeps in several files. The others are found below it. If Path is
	// a session in a database, Home is the database.
	Home string
	// Head is the head that Path continues, if Path is a file that was written from it,
	// as by sessctl resume. Default: where its lines went before, else main.
	Head string
	// Since excludes files that were last modified before it. The zero time excludes
	// none.
	Since time.Time

	rules  bundle.Packer // of Dialect; nil if it keeps a session in one file
	events *eventdb.DB   // nil if it is not a database
}

// home returns the directory that has all files of the root's sessions.
func (r *Root) home() string {
	if r.rules != nil && r.Home != "" {
		return r.Home
	}
	return r.Path
}

// contains reports whether path is the root, or a session file inside it.
func (r *Root) contains(path string) bool {
	if r.events != nil {
		return filepath.Dir(path) == r.events.Path() && (r.Path == path || r.Path == r.events.Path())
	}
	if path == r.Path {
		return true
	}
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(r.home(), "/")+string(filepath.Separator))
	if !ok || r.rules == nil && !IsSessionName(path) || strings.HasPrefix(filepath.Base(path), ".") {
		return false
	}
	for part := range strings.SplitSeq(filepath.Dir(rest), string(filepath.Separator)) {
		if part != "." && strings.HasPrefix(part, ".") {
			return false
		}
	}
	return true
}

// exists reports whether the root's directory or database exists.
func (r *Root) exists() bool {
	if r.events != nil {
		_, err := os.Stat(r.events.Path())
		return err == nil
	}
	return isDir(r.Path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// IsSessionName reports whether path has the name of an agent's session file. Lock
// files, drafts and files that omp is still writing have different names. The files
// of Nova are those called *.json in a directory called sessions.
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
