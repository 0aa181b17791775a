package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// A sessionFile of an agent is one that was found.
type agentsFile struct {
	path    string
	root    follow.Root
	session core.SessionID
	dialect string
}

// A finder finds the session files that one agent writes, among those of all
// agents on the host: files that are new or have grown since it began, and whose
// header names the directory where it runs; those that it was told to write; and
// those that it has open.
type finder struct {
	roots  []follow.Root
	cwd    string
	named  map[string]bool     // the agent was told to use them
	before map[string]fileMark // as it was before the agent began
	seen   map[string]fileMark // as it was when it was no file of the agent's yet
	other  map[string]bool     // somebody else's
	found  map[string]bool
}

// A fileMark tells whether a file has changed.
type fileMark struct {
	size int64
	time time.Time
}

// newFinder looks at what is there before the agent begins. dir is where it
// runs.
func newFinder(roots []follow.Root, dir string, argv []string) *finder {
	f := &finder{
		roots: roots, cwd: dir, named: map[string]bool{},
		before: map[string]fileMark{}, seen: map[string]fileMark{}, other: map[string]bool{}, found: map[string]bool{},
	}
	f.listen(argv)
	f.walk(func(path string, _ follow.Root, m fileMark) { f.before[path] = m })
	return f
}

// listen takes from the agent's arguments where it keeps its session.
func (f *finder) listen(argv []string) {
	for i, arg := range argv {
		name, value, ok := strings.Cut(arg, "=")
		if !ok && i+1 < len(argv) {
			value = argv[i+1]
		}
		if value == "" {
			continue
		}
		path := value
		if !filepath.IsAbs(path) {
			path = filepath.Join(f.cwd, path)
		}
		switch name {
		case "--session-dir":
			f.add(path)
		case "--session", "--resume", "-r":
			if follow.IsSessionName(path) && looksLikePath(value) {
				f.named[path] = true
				f.add(path)
			}
		}
	}
}

func (f *finder) add(path string) {
	f.roots = append(f.roots, follow.Root{Path: filepath.Clean(path)})
}

// walk calls each with every session file below the roots.
func (f *finder) walk(each func(path string, root follow.Root, m fileMark)) {
	for _, root := range f.roots {
		_ = filepath.WalkDir(root.Path, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it is not there, or not for us
			}
			if d.IsDir() {
				if path != root.Path && strings.HasPrefix(d.Name(), ".") {
					return filepath.SkipDir
				}
				return nil
			}
			if !d.Type().IsRegular() || !follow.IsSessionName(path) || f.other[path] || f.found[path] {
				return nil
			}
			if info, err := d.Info(); err == nil {
				each(path, root, fileMark{info.Size(), info.ModTime()})
			}
			return nil
		})
	}
}

// look returns the files of the agent's that were not found before. pid is the
// agent's process, 0 where it has ended.
func (f *finder) look(pid int) []agentsFile {
	var fresh []agentsFile
	take := func(path string, root follow.Root, m fileMark, open bool) {
		if old, ok := f.before[path]; f.found[path] || ok && old == m && !open {
			return
		}
		if f.seen[path] == m && !open {
			return // it said nothing the last time
		}
		f.seen[path] = m
		file, ok := f.judge(path, root, open)
		if !ok {
			return
		}
		f.found[path] = true
		fresh = append(fresh, file)
	}
	f.walk(func(path string, root follow.Root, m fileMark) { take(path, root, m, false) })
	for _, path := range openedBy(pid) {
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && follow.IsSessionName(path) {
			take(path, follow.Root{Path: path}, fileMark{info.Size(), info.ModTime()}, true)
		}
	}
	return fresh
}

// judge reads the header of a file and says whether it is the agent's. Where
// that cannot be told yet, it is asked again once the file has changed.
func (f *finder) judge(path string, root follow.Root, open bool) (agentsFile, bool) {
	start, err := readStart(path)
	if err != nil {
		return agentsFile{}, false
	}
	h, d, err := readHeader(root.Dialect, start)
	if err != nil {
		return agentsFile{}, false
	}
	if !open && !f.named[path] && !f.mine(path, root, h) {
		f.other[path] = true
		return agentsFile{}, false
	}
	return agentsFile{path, root, core.SessionIDFor(d.Name(), h.ID), d.Name()}, true
}

// mine reports whether a file that changed while the agent runs is the agent's.
func (f *finder) mine(path string, root follow.Root, h core.Header) bool {
	for main := range f.found { // omp keeps what its subagents write beside its own
		if below(path, strings.TrimSuffix(main, ".jsonl")) {
			return true
		}
	}
	if h.CWD != "" {
		return samePlace(h.CWD, f.cwd)
	}
	_, old := f.before[path]
	return !old || below(root.Path, f.cwd)
}

func below(path, dir string) bool {
	return strings.HasPrefix(path, dir+string(filepath.Separator))
}

// samePlace reports whether two names are of one directory. An agent may know
// it by a name with links in it.
func samePlace(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func readStart(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, headerWithin))
}

var errNoHeader = errors.New("no whole line yet")

// readHeader reads the header of a file that begins with start.
func readHeader(name string, start []byte) (core.Header, core.Dialect, error) {
	if len(start) == headerWithin {
		if i := bytes.LastIndexByte(start, '\n'); i >= 0 {
			start = start[:i+1]
		}
	}
	if bytes.IndexByte(start, '\n') < 0 && !bytes.HasSuffix(bytes.TrimSpace(start), []byte("}")) {
		return core.Header{}, nil, errNoHeader
	}
	f, d, err := dialect.Read(name, start)
	if err != nil && name != "" {
		f, d, err = dialect.Read("", start)
	}
	if err != nil {
		return core.Header{}, nil, err
	}
	return f.Header, d, nil
}
