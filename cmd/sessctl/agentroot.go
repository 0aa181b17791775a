package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// agentRoot is where the agent of a dialect keeps its sessions on this host when
// it works in cwd. flat says that the user has set a folder in which the agent
// makes no other.
func (a *app) agentRoot(dialect, cwd string) (root string, flat bool, err error) {
	if dialect == "pi" && a.env("PI_CODING_AGENT_SESSION_DIR") != "" {
		root, err = a.expand(a.env("PI_CODING_AGENT_SESSION_DIR"))
		return root, true, err
	}
	root, err = a.agentDataDir(dialect, cwd)
	return filepath.Join(root, "sessions"), false, err
}

// agentDataDir is the folder in which the agent has its folder of sessions when
// it works in cwd.
func (a *app) agentDataDir(dialect, cwd string) (string, error) {
	switch dialect {
	case "pi":
		return a.expand(cmp.Or(a.env("PI_CODING_AGENT_DIR"), "~/.pi/agent"))
	case "omp":
		return a.ompDir()
	case "operator":
		return a.expand("~/.operator")
	case "openrath":
		if dir := a.env("OPENRATH_HOME"); dir != "" {
			return a.expand(dir)
		}
		if own := filepath.Join(cwd, ".openrath"); fileExists(own) {
			return own, nil
		}
		return a.expand("~/.openrath")
	case "nova":
		return filepath.Join(cwd, ".nova"), nil
	}
	return "", usagef("it is not known where %q keeps its sessions, say where the file goes: --dir DIR", dialect)
}

// ompDir is omp's own folder, or below $XDG_DATA_HOME where omp has moved.
func (a *app) ompDir() (string, error) {
	if dir := a.env("PI_CODING_AGENT_DIR"); dir != "" {
		return a.expand(dir)
	}
	if data := a.env("XDG_DATA_HOME"); data != "" && fileExists(filepath.Join(data, "omp")) {
		return filepath.Join(data, "omp"), nil
	}
	return a.expand("~/" + cmp.Or(a.env("PI_CONFIG_DIR"), ".omp") + "/agent")
}

// expand puts the home directory in the place of a leading "~".
func (a *app) expand(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' {
		return path, nil
	}
	home := a.env("HOME")
	if home == "" {
		return "", usagef("HOME is not set, say where the file goes: --dir DIR")
	}
	return filepath.Join(home, rest), nil
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func hasSeparator(name string) bool { return strings.ContainsAny(name, `/\`) }
