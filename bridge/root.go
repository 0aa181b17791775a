package bridge

import (
	"cmp"
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
	// Default: where the agent has it, beside a root that is a directory.
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

// AgentRoots returns where the agents known here keep their sessions on this
// host, whether the directories are there or not. env is the environment, such
// as os.Getenv. What is relative (OpenRath's and Nova's folders of a project)
// is below dir.
func AgentRoots(env func(string) string, dir string) []Root {
	home := env("HOME")
	at := func(path string) string {
		rest, ok := strings.CutPrefix(path, "~")
		if !ok || rest != "" && rest[0] != '/' {
			return path
		}
		return home + rest
	}
	var roots []Root
	add := func(dialect, path string) {
		if path = at(path); filepath.IsAbs(path) {
			roots = append(roots, Root{Path: filepath.Clean(path), Dialect: dialect})
		}
	}
	own := env("PI_CODING_AGENT_DIR") // pi's and omp's: whose a file is, it says itself
	switch {
	case env("PI_CODING_AGENT_SESSION_DIR") != "":
		add("pi", env("PI_CODING_AGENT_SESSION_DIR"))
	case own == "":
		add("pi", "~/.pi/agent/sessions")
	}
	switch data := env("XDG_DATA_HOME"); {
	case own != "":
		add("", filepath.Join(own, "sessions"))
	case filepath.IsAbs(data) && isDir(filepath.Join(data, "omp")):
		add("omp", filepath.Join(data, "omp", "sessions"))
	default:
		agent := "~/" + cmp.Or(env("PI_CONFIG_DIR"), ".omp")
		add("omp", agent+"/agent/sessions")
	}
	for _, profile := range below(at("~/" + cmp.Or(env("PI_CONFIG_DIR"), ".omp") + "/profiles")) {
		add("omp", filepath.Join(profile, "agent", "sessions"))
	}
	add("operator", "~/.operator/sessions")
	for _, profile := range below(at("~/.operator/profiles")) {
		add("operator", filepath.Join(profile, "sessions"))
	}
	switch {
	case env("OPENRATH_HOME") != "":
		add("openrath", filepath.Join(at(env("OPENRATH_HOME")), "sessions"))
	case isDir(filepath.Join(dir, ".openrath")):
		add("openrath", filepath.Join(dir, ".openrath", "sessions"))
	default:
		add("openrath", "~/.openrath/sessions")
	}
	add("nova", filepath.Join(dir, ".nova", "sessions"))
	return roots
}

// below returns the directories in dir.
func below(dir string) (dirs []string) {
	es, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range es {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	return dirs
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
