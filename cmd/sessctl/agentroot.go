package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/sesslog/sesslog/agent/follow"
)

// agentRoot is where the agent of a dialect keeps its sessions on this host when
// it works in cwd. flat says that the user has set a folder in which the agent
// makes no other.
func (a *app) agentRoot(dialect, cwd string) (root string, flat bool, err error) {
	root, flat, ok := follow.AgentSessions(a.env, dialect, cwd)
	return root, flat, a.placed(dialect, ok)
}

// agentDataDir is the folder in which the agent has its folder of sessions when
// it works in cwd.
func (a *app) agentDataDir(dialect, cwd string) (string, error) {
	dir, ok := follow.AgentDir(a.env, dialect, cwd)
	return dir, a.placed(dialect, ok)
}

// placed is the error where an agent's place is not known.
func (a *app) placed(dialect string, ok bool) error {
	switch {
	case ok:
		return nil
	case a.env("HOME") == "":
		return errNoHome
	}
	return usagef("it is not known where %q keeps its sessions, say where the file goes: --dir DIR", dialect)
}

var errNoHome = usagef("HOME is not set, say where the file goes: --dir DIR")

// expand puts the home directory in the place of a leading "~".
func (a *app) expand(path string) (string, error) {
	full, ok := follow.ExpandHome(a.env, path)
	if !ok {
		return "", errNoHome
	}
	return full, nil
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func hasSeparator(name string) bool { return strings.ContainsAny(name, `/\`) }
