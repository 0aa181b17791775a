package agent

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Workdir is the directory on this host in which a session continues.
type Workdir struct {
	From string `json:"from"`          // in the session's header
	CWD  string `json:"cwd"`           // on this host
	Why  string `json:"why,omitempty"` // it was chosen; empty if it is the same
	Gone bool   `json:"gone,omitempty"`
}

// Getwd returns the current directory as agents see it, without symbolic links.
// os.Getwd returns the path by which a shell came there.
func Getwd() (string, error) {
	dir, err := os.Getwd()
	return realPath(dir), err
}

// RealDir returns the absolute path of a directory on this host as agents see it that
// work there, without symbolic links. A directory that does not exist keeps its path.
func RealDir(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		here, err := Getwd()
		if err != nil {
			return "", err
		}
		dir = here + string(filepath.Separator) + dir // not cleaned: x/.. is not here if x is a link
	}
	return filepath.Clean(realPath(dir)), nil
}

// realPath resolves symbolic links in path, and returns path if that fails.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil && path != "" {
		return real
	}
	return path
}

// workdir chooses the directory for a session that worked in from, and resolves
// symbolic links in its path, as agents do.
func (h *Host) workdir(given, from string) (Workdir, error) {
	w, err := h.chooseWorkdir(given, from)
	if real := realPath(w.CWD); err == nil && real != w.CWD {
		w.CWD, w.Why = real, cmp.Or(w.Why, "agents resolve symbolic links")
	}
	return w, err
}

// chooseWorkdir returns given, if it is not empty; else the directory that the user's
// table maps from to; else from, if it exists here; else the matching place in the
// current repository. Otherwise Gone is true.
func (h *Host) chooseWorkdir(given, from string) (Workdir, error) {
	w := Workdir{From: from, CWD: from}
	if given != "" {
		dir, err := h.givenDir(given)
		if err == nil {
			w.CWD, w.Why = dir, "--cwd says so"
		}
		return w, err
	}
	if from == "" {
		return w, nil
	}
	rows, file, err := h.PathRows()
	if err != nil {
		return w, err
	}
	if dir, row := h.mapped(rows, from); dir != "" {
		if w.CWD = dir; dir != from {
			w.Why = fmt.Sprintf("row %d of paths in %s says so", row, file)
		}
		return w, nil
	}
	if isDir(from) {
		return w, nil
	}
	if here, err := Getwd(); err == nil {
		if dir, why := inRepository(here, from); dir != "" {
			w.CWD, w.Why = dir, why
			return w, nil
		}
	}
	w.Gone = true
	return w, nil
}

// LocalDir returns the directory on this host in which a session that worked in from
// continues, empty if it is unknown.
func (h *Host) LocalDir(from string) string {
	w, err := h.workdir("", from)
	if err != nil {
		return ""
	}
	return w.local()
}

func (h *Host) givenDir(given string) (string, error) {
	dir, ok := ExpandHome(h.Env, given)
	if !ok {
		return "", errNoHome
	}
	dir, err := RealDir(dir)
	if err == nil && !isDir(dir) {
		err = usagef("--cwd %s is not a directory on this host", given)
	}
	return dir, err
}

// mapped returns the directory on this host that rows map from to, and the number
// of the row, from 1. The longest prefix of from in a row decides, and of that row
// the first directory that exists here.
func (h *Host) mapped(rows [][]string, from string) (string, int) {
	path := splitPath(from)
	best, longest := 0, -1
	for i, row := range rows {
		for _, dir := range row {
			if p := splitPath(h.expand(dir)); path.hasPrefix(p) && len(p.names) > longest {
				best, longest = i, len(p.names)
			}
		}
	}
	if longest < 0 {
		return "", 0
	}
	rest := filepath.Join(path.names[longest:]...)
	for _, dir := range rows[best] {
		if dir = filepath.Join(h.expand(dir), rest); isDir(dir) {
			return dir, best + 1
		}
	}
	return "", 0
}

// expand is ExpandHome; without a home directory it returns dir unchanged.
func (h *Host) expand(dir string) string {
	if full, ok := ExpandHome(h.Env, dir); ok {
		return full
	}
	return dir
}

// inRepository returns the directory of the repository around here that from most
// likely is, and why: an element of from is the name of the repository or of a
// remote, and the rest of the path exists in the repository.
func inRepository(here, from string) (dir, why string) {
	repo, ok := repositoryAt(here)
	if !ok {
		return "", ""
	}
	path := splitPath(from)
	for i, name := range slices.Backward(path.names) {
		why := repo.matches(name)
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

// local returns the directory on this host, empty if it is unknown.
func (w Workdir) local() string {
	if w.Gone {
		return ""
	}
	return w.CWD
}

// orNil returns nil if there is nothing to print.
func (w Workdir) orNil() *Workdir {
	if w == (Workdir{}) {
		return nil
	}
	return &w
}

// noteWorkdir tells the user where the session continues, unless it is where it
// was.
func (h *Host) noteWorkdir(w Workdir) {
	from := w.From
	if from == "" {
		from = "none"
	}
	switch {
	case w.Gone:
		h.notef("the session keeps its directory %s, which this host does not have; choose another with: --cwd DIR", w.From)
	case w.CWD != w.From:
		h.notef("it continues in %s (it was %s): %s", w.CWD, from, w.Why)
	}
}

// CheckPathRow returns an error unless row names a directory as at least two hosts
// have it.
func CheckPathRow(row []string) error {
	if len(row) < 2 {
		return errors.New("has only one directory; list its path on each host")
	}
	for _, dir := range row {
		if dir == "~" || len(dir) > 1 && dir[:2] == "~/" {
			continue
		}
		if p := splitPath(dir); p.root == "" {
			return fmt.Errorf("%.128q is not an absolute path and does not begin with ~", dir)
		}
	}
	return nil
}

// A splitPathname is a path of any system, split into elements. root is empty for
// relative paths and those with "..".
type splitPathname struct {
	root  string
	names []string
}

// splitPath splits a Unix or Windows path.
func splitPath(path string) splitPathname {
	p := splitPathname{root: "/"}
	seps := "/"
	switch {
	case len(path) > 1 && path[1] == ':' && isLetter(path[0]):
		p.root, path, seps = strings.ToUpper(path[:2]), path[2:], `/\`
	case strings.HasPrefix(path, `\\`):
		p.root, seps = `\\`, `/\`
	case !strings.HasPrefix(path, "/"):
		return splitPathname{}
	}
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(seps, r) }) {
		switch name {
		case ".":
		case "..":
			return splitPathname{}
		default:
			p.names = append(p.names, name)
		}
	}
	return p
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// hasPrefix reports whether p is q or inside q.
func (p splitPathname) hasPrefix(q splitPathname) bool {
	return q.root != "" && p.root == q.root && len(p.names) >= len(q.names) && slices.Equal(p.names[:len(q.names)], q.names)
}
