package follow

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// agents are the dialects whose agents' places are known here.
var agents = []string{"pi", "omp", "operator", "openrath", "nova"}

// AgentDir returns the folder in which the agent of a dialect has its folder of
// sessions, and others beside that, when it works in cwd on this host, whether it
// is there or not. env is the environment, such as os.Getenv. ok is false for an
// agent that is not known here, and without HOME where that decides.
func AgentDir(env func(string) string, dialect, cwd string) (dir string, ok bool) {
	switch dialect {
	case "pi":
		return ExpandHome(env, cmp.Or(env("PI_CODING_AGENT_DIR"), "~/.pi/agent"))
	case "omp":
		if data := env("XDG_DATA_HOME"); env("PI_CODING_AGENT_DIR") == "" && filepath.IsAbs(data) && isDir(filepath.Join(data, "omp")) {
			return filepath.Join(data, "omp"), true // it has moved there
		}
		return ExpandHome(env, cmp.Or(env("PI_CODING_AGENT_DIR"), ompHome(env)+"/agent"))
	case "operator":
		return ExpandHome(env, operatorHome)
	case "openrath":
		if own := filepath.Join(cwd, ".openrath"); env("OPENRATH_HOME") == "" && isDir(own) {
			return own, true
		}
		return ExpandHome(env, cmp.Or(env("OPENRATH_HOME"), "~/.openrath"))
	case "nova":
		return filepath.Join(cwd, ".nova"), true
	}
	return "", false
}

const operatorHome = "~/.operator"

func ompHome(env func(string) string) string { return "~/" + cmp.Or(env("PI_CONFIG_DIR"), ".omp") }

// AgentSessions returns the folder in which the agent of a dialect keeps its
// sessions when it works in cwd on this host; env and ok are as in AgentDir. flat
// says that the user has set a folder in which the agent makes no others.
func AgentSessions(env func(string) string, dialect, cwd string) (dir string, flat, ok bool) {
	if own := env("PI_CODING_AGENT_SESSION_DIR"); dialect == "pi" && own != "" {
		dir, ok = ExpandHome(env, own)
		return dir, true, ok
	}
	dir, ok = AgentDir(env, dialect, cwd)
	return filepath.Join(dir, "sessions"), false, ok
}

// AgentRoots returns where the agents known here keep their sessions on this
// host, those of their profiles too, whether the directories are there or not.
// env is the environment, such as os.Getenv. What is relative (OpenRath's and
// Nova's folders of a project) is below cwd.
func AgentRoots(env func(string) string, cwd string) []Root {
	var roots []Root
	add := func(dialect, path string) {
		same := func(r Root) bool { return r.Path == path }
		if filepath.IsAbs(path) && !slices.ContainsFunc(roots, same) {
			roots = append(roots, Root{Path: filepath.Clean(path), Dialect: dialect})
		}
	}
	for _, dialect := range agents {
		path, flat, ok := AgentSessions(env, dialect, cwd)
		whose := dialect
		if env("PI_CODING_AGENT_DIR") != "" && !flat && (dialect == "pi" || dialect == "omp") {
			whose = "" // both keep them there: whose a file is, it says itself
		}
		if ok {
			add(whose, path)
		}
		for _, profile := range profiles(env, dialect) {
			add(dialect, profile)
		}
	}
	return roots
}

// profiles are where an agent keeps the sessions of its profiles.
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
	es, _ := os.ReadDir(filepath.Join(home, "profiles")) // not there: it has none
	for _, e := range es {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(home, "profiles", e.Name(), below))
		}
	}
	return dirs
}

// ExpandHome puts HOME of env in the place of a leading "~" of path. ok is false
// where there is one and HOME is not set.
func ExpandHome(env func(string) string, path string) (full string, ok bool) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' {
		return path, true
	}
	home := env("HOME")
	return filepath.Join(home, rest), home != ""
}
