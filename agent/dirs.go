package agent

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/agent/process"
)

// dialects are those whose agents' files or databases are followed.
var dialects = []string{"claude", "codex", "opencode", "pi", "omp", "operator", "openrath", "nova"}

const operatorHome = "~/.operator"

func ompHome(env func(string) string) string { return "~/" + cmp.Or(env("PI_CONFIG_DIR"), ".omp") }

// ompDir returns where omp works if it is started in dir: it leaves the user's home.
// It is empty if omp stays in dir.
func ompDir(env func(string) string, dir string) string {
	home := env("HOME")
	if home == "" || !process.SameDir(dir, home) {
		return ""
	}
	for _, to := range []string{filepath.Join(home, "tmp"), "/tmp", "/var/tmp"} {
		if isDir(to) {
			return to
		}
	}
	return ""
}

// DataDir returns the directory that holds an agent's sessions directory and its
// other data, if the agent works in cwd on this host. The directory need not
// exist. env is the environment, such as os.Getenv. ok is false if the agent is
// unknown, or if the answer depends on HOME and HOME is not set.
func DataDir(env func(string) string, dialect, cwd string) (dir string, ok bool) {
	switch dialect {
	case "claude":
		return ExpandHome(env, cmp.Or(env("CLAUDE_CONFIG_DIR"), "~/.claude"))
	case "codex":
		return ExpandHome(env, cmp.Or(env("CODEX_HOME"), "~/.codex"))
	case opencodeName:
		dir, ok = ExpandHome(env, cmp.Or(env("XDG_DATA_HOME"), "~/.local/share"))
		return filepath.Join(dir, opencodeName), ok
	case "pi":
		return ExpandHome(env, cmp.Or(env("PI_CODING_AGENT_DIR"), "~/.pi/agent"))
	case "omp":
		if data := env("XDG_DATA_HOME"); env("PI_CODING_AGENT_DIR") == "" && filepath.IsAbs(data) && isDir(filepath.Join(data, "omp")) {
			return filepath.Join(data, "omp"), true // omp uses it if it exists
		}
		return ExpandHome(env, cmp.Or(env("PI_CODING_AGENT_DIR"), ompHome(env)+"/agent"))
	case "operator":
		return ExpandHome(env, operatorHome)
	case "openrath":
		if own := filepath.Join(cwd, ".openrath"); env("OPENRATH_HOME") == "" && exists(own) {
			return own, true
		}
		return ExpandHome(env, cmp.Or(env("OPENRATH_HOME"), "~/.openrath"))
	case "nova":
		return filepath.Join(cwd, ".nova"), true
	}
	return "", false
}

// exists reports whether dir is a directory. Unlike isDir it accepts relative
// paths.
func exists(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// SessionsDir returns the directory that holds an agent's sessions, or the database
// that does; env, cwd and ok are as in DataDir. flat is true if the user has set a directory in which the
// agent creates no subdirectories.
func SessionsDir(env func(string) string, dialect, cwd string) (dir string, flat, ok bool) {
	if own := env("PI_CODING_AGENT_SESSION_DIR"); dialect == "pi" && own != "" {
		dir, ok = ExpandHome(env, own)
		return dir, true, ok
	}
	dir, ok = DataDir(env, dialect, cwd)
	switch dialect {
	case "claude":
		return filepath.Join(dir, "projects"), false, ok
	case opencodeName:
		if own := env("OPENCODE_DB"); own != "" && own != ":memory:" {
			if filepath.IsAbs(own) {
				return filepath.Clean(own), false, true
			}
			return filepath.Join(dir, own), false, ok
		}
		return filepath.Join(dir, "opencode.db"), false, ok
	}
	return filepath.Join(dir, "sessions"), false, ok
}

// Roots returns where the known agents keep their sessions on this host, their
// profiles included. The directories need not exist. OpenRath's and Nova's project
// directories are those below cwd.
func Roots(env func(string) string, cwd string) []follow.Root {
	var roots []follow.Root
	add := func(dialect, path string) {
		same := func(r follow.Root) bool { return r.Path == path }
		if filepath.IsAbs(path) && !slices.ContainsFunc(roots, same) {
			roots = append(roots, follow.Root{Path: filepath.Clean(path), Dialect: dialect})
		}
	}
	for _, dialect := range dialects {
		path, flat, ok := SessionsDir(env, dialect, cwd)
		owner := dialect
		if env("PI_CODING_AGENT_DIR") != "" && !flat && (dialect == "pi" || dialect == "omp") {
			owner = "" // both agents use it, so the dialect is detected per file
		}
		if ok {
			add(owner, path)
		}
		if ok && dialect == opencodeName {
			channels, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "opencode-*.db")) // of other release channels
			for _, path := range channels {
				add(dialect, path)
			}
		}
		for _, profile := range profiles(env, dialect) {
			add(dialect, profile)
		}
	}
	return roots
}

// profiles returns the sessions directories of an agent's profiles.
func profiles(env func(string) string, dialect string) (dirs []string) {
	home, below := "", "sessions"
	switch dialect {
	case "omp":
		home, below = ompHome(env), filepath.Join("agent", "sessions")
	case "operator":
		home = operatorHome
	default:
		return nil
	}
	home, ok := ExpandHome(env, home)
	if !ok {
		return nil
	}
	es, _ := os.ReadDir(filepath.Join(home, "profiles")) // missing: no profiles
	for _, e := range es {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(home, "profiles", e.Name(), below))
		}
	}
	return dirs
}

// ExpandHome replaces a leading "~" of path with HOME. ok is false if there is one
// and HOME is not set.
func ExpandHome(env func(string) string, path string) (full string, ok bool) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' {
		return path, true
	}
	home := env("HOME")
	return filepath.Join(home, rest), home != ""
}

var errNoHome = usagef("HOME is not set; give the directory with --dir DIR")

// sessionsDir is SessionsDir with an error that says what to do.
func (h *Host) sessionsDir(dialect, cwd string) (dir string, flat bool, err error) {
	dir, flat, ok := SessionsDir(h.Env, dialect, cwd)
	return dir, flat, h.dirError(dialect, ok)
}

// dataDir is DataDir with an error that says what to do.
func (h *Host) dataDir(dialect, cwd string) (string, error) {
	dir, ok := DataDir(h.Env, dialect, cwd)
	return dir, h.dirError(dialect, ok)
}

func (h *Host) dirError(dialect string, ok bool) error {
	switch {
	case ok:
		return nil
	case h.Env("HOME") == "":
		return errNoHome
	}
	return usagef("the sessions directory of %q is unknown; give the directory with --dir DIR", dialect)
}
