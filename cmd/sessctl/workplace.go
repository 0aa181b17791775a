package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A workplace is the directory on this host in which a session goes on.
type workplace struct {
	From string `json:"from"`          // as the session's header has it
	CWD  string `json:"cwd"`           // on this host
	Why  string `json:"why,omitempty"` // it was chosen; empty where it is the same
	Gone bool   `json:"gone,omitempty"`
}

// workplace chooses the directory for a session that worked in from: given
// where that is not empty, else what the settings say, else the same one where
// it is here, else the current repository where it seems to be the same. Gone
// says that it is not known here.
func (a *app) workplace(given, from string) (workplace, error) {
	w := workplace{From: from, CWD: from}
	if given != "" {
		dir, err := a.expand(given)
		if err != nil {
			return w, err
		}
		if dir, err = filepath.Abs(dir); err != nil {
			return w, err
		}
		if !isDir(dir) {
			return w, usagef("--cwd %s is no directory here", given)
		}
		w.CWD, w.Why = dir, "--cwd says so"
		return w, nil
	}
	if from == "" {
		return w, nil
	}
	s, err := a.settings()
	if err != nil {
		return w, err
	}
	if dir, row := a.mapped(s.Paths, from); dir != "" {
		if w.CWD = dir; dir != from {
			w.Why = fmt.Sprintf("row %d of paths in %s says so", row, a.settingsFile())
		}
		return w, nil
	}
	if isDir(from) {
		return w, nil
	}
	if here, err := os.Getwd(); err == nil {
		if dir, why := guessed(here, from); dir != "" {
			w.CWD, w.Why = dir, why
			return w, nil
		}
	}
	w.Gone = true
	return w, nil
}

// mapped returns the directory here that rows say from is, and which row, from
// 1. The longest beginning of from that is in a row decides, and of that row the
// first directory that is here.
func (a *app) mapped(rows [][]string, from string) (string, int) {
	path := splitPath(from)
	best, longest := 0, -1
	for i, row := range rows {
		for _, dir := range row {
			if p := splitPath(a.atHome(dir)); path.beginsWith(p) && len(p.names) > longest {
				best, longest = i, len(p.names)
			}
		}
	}
	if longest < 0 {
		return "", 0
	}
	rest := filepath.Join(path.names[longest:]...)
	for _, dir := range rows[best] {
		if dir = filepath.Join(a.atHome(dir), rest); isDir(dir) {
			return dir, best + 1
		}
	}
	return "", 0
}

// atHome is expand for a path that can do without a home.
func (a *app) atHome(dir string) string {
	if full, err := a.expand(dir); err == nil {
		return full
	}
	return dir
}

// guessed returns the place where from may be in the repository that here is
// in, and what makes it seem so: a part of from is called as the repository or
// one of its remotes, and what is behind that part is here.
func guessed(here, from string) (dir, why string) {
	repo, ok := repositoryAt(here)
	if !ok {
		return "", ""
	}
	path := splitPath(from)
	for i, name := range slices.Backward(path.names) {
		why := repo.called(name)
		if why == "" {
			continue
		}
		rest := filepath.Join(path.names[i+1:]...)
		if dir := filepath.Join(repo.root, rest); isDir(dir) {
			return dir, why
		}
	}
	return "", ""
}

func isDir(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && filepath.IsAbs(dir)
}

// pathParts are a path of any system, taken apart. root is empty for one that does
// not begin at a root, or that goes up.
type pathParts struct {
	root  string
	names []string
}

// splitPath takes a path apart, as the system would that it is of.
func splitPath(path string) pathParts {
	p := pathParts{root: "/"}
	seps := "/"
	switch {
	case len(path) > 1 && path[1] == ':' && isLetter(path[0]):
		p.root, path, seps = strings.ToUpper(path[:2]), path[2:], `/\`
	case strings.HasPrefix(path, `\\`):
		p.root, seps = `\\`, `/\`
	case !strings.HasPrefix(path, "/"):
		return pathParts{}
	}
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(seps, r) }) {
		switch name {
		case ".":
		case "..":
			return pathParts{}
		default:
			p.names = append(p.names, name)
		}
	}
	return p
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// beginsWith reports whether p is below q, or q itself.
func (p pathParts) beginsWith(q pathParts) bool {
	return q.root != "" && p.root == q.root && len(p.names) >= len(q.names) && slices.Equal(p.names[:len(q.names)], q.names)
}

// noteWorkplace says in one line where the session goes on, unless that is
// where it was.
func (a *app) noteWorkplace(w workplace) {
	switch {
	case w.Gone:
		a.notef("it worked in %s, which is not here; say where it goes on with: --cwd DIR", w.From)
	case w.CWD != w.From:
		a.notef("it goes on in %s (it was %s): %s", w.CWD, orNone(w.From), w.Why)
	}
}

// here is the directory on this host, empty where it is not known.
func (w workplace) here() string {
	if w.Gone {
		return ""
	}
	return w.CWD
}

// told is w as it is printed, nil where there is nothing to say.
func (w workplace) told() *workplace {
	if w == (workplace{}) {
		return nil
	}
	return &w
}
