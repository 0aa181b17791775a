package agent

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/agent/process"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect"
)

// A sessionFile is a session file of an agent.
type sessionFile struct {
	path    string
	root    follow.Root
	session core.SessionID
	dialect string
	isChild bool // of a sub-agent that has a session beside that of its agent
}

// A finder finds the session files that one agent writes among those of all agents
// on the host: files that are new or have grown since it began and whose header
// names a directory that it works in, files that its arguments name, and files
// that it has open.
type finder struct {
	roots  []follow.Root
	dirs   []string            // that the agent works in; the first is where it is started
	omp    string              // where omp works instead; empty if it stays
	named  map[string]bool     // by the agent's arguments
	before map[string]fileMark // before the agent began
	seen   map[string]fileMark // when the header was last read without success
	other  map[string]string   // files of other agents, and the directories in their headers
	found  map[string]bool
	args   []string

	databases map[string]*database // by path
}

// A fileMark shows whether a file has changed.
type fileMark struct {
	size int64
	time time.Time
}

// close closes the databases that were searched.
func (f *finder) close() {
	for _, d := range f.databases {
		_ = d.db.Close()
	}
}

// newFinder records which files exist before the agent begins. dir is the agent's
// working directory.
func newFinder(roots []follow.Root, dir string, argv []string) *finder {
	f := &finder{
		roots: roots, dirs: []string{dir}, named: map[string]bool{},
		before: map[string]fileMark{}, seen: map[string]fileMark{}, other: map[string]string{}, found: map[string]bool{}, args: argv,
		databases: map[string]*database{},
	}
	f.readArgs(argv)
	f.walk(func(path string, _ follow.Root, m fileMark) { f.before[path] = m })
	return f
}

// readArgs takes from the agent's arguments where it keeps its session.
func (f *finder) readArgs(argv []string) {
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
			path = filepath.Join(f.dirs[0], path)
		}
		switch name {
		case "--cwd", "--cd", "-C":
			f.addDir(filepath.Clean(path))
		case "--session-dir":
			f.addRoot(path)
		case "--session", "--resume", "-r":
			if follow.IsSessionName(path) && looksLikePath(value) {
				f.named[path] = true
				f.addRoot(path)
			}
		}
	}
}

func looksLikePath(arg string) bool {
	return strings.ContainsRune(arg, '/') || strings.ContainsRune(arg, os.PathSeparator) || strings.HasSuffix(arg, ".jsonl")
}

func (f *finder) addRoot(path string) {
	f.roots = append(f.roots, follow.Root{Path: filepath.Clean(path)})
}

// addDir records that the agent works in dir, too. Files that were taken for those of
// other agents are examined again if they name it: an agent may change its directory
// after it was started, as omp does in the user's home.
func (f *finder) addDir(dir string) {
	if !filepath.IsAbs(dir) || slices.Contains(f.dirs, dir) {
		return
	}
	f.dirs = append(f.dirs, dir)
	for path, cwd := range f.other {
		if process.SameDir(cwd, dir) {
			delete(f.other, path)
			delete(f.seen, path)
		}
	}
}

// walk calls each with every undecided session file below the roots.
func (f *finder) walk(each func(path string, root follow.Root, m fileMark)) {
	for _, root := range f.roots {
		if root.Dialect == opencodeName {
			f.walkDatabase(root, each)
			continue
		}
		_ = filepath.WalkDir(root.Path, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // missing or not readable
			}
			if d.IsDir() {
				if path != root.Path && strings.HasPrefix(d.Name(), ".") {
					return filepath.SkipDir
				}
				return nil
			}
			if _, other := f.other[path]; !d.Type().IsRegular() || !follow.IsSessionName(path) || other || f.found[path] {
				return nil
			}
			if info, err := d.Info(); err == nil {
				each(path, root, fileMark{info.Size(), info.ModTime()})
			}
			return nil
		})
	}
}

// scan returns the agent's files that were not found before. pid is the agent's
// process, or 0 if it has ended. Then files are examined even if they seem unchanged.
func (f *finder) scan(pid int) []sessionFile {
	if len(f.found) == 0 { // later on, tools of the agent may work anywhere
		for _, dir := range process.Dirs(pid) {
			f.addDir(dir)
		}
	}
	var fresh []sessionFile
	take := func(path string, root follow.Root, m fileMark, open bool) {
		if old, ok := f.before[path]; f.found[path] || ok && old == m && !open {
			return
		}
		if f.seen[path] == m && !open && pid != 0 {
			return // its header was incomplete, and it has not changed
		}
		f.seen[path] = m
		file, ok := f.identify(path, root, open)
		if !ok {
			return
		}
		f.found[path] = true
		fresh = append(fresh, file)
	}
	f.walk(func(path string, root follow.Root, m fileMark) { take(path, root, m, false) })
	for _, path := range process.OpenJSON(pid) {
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && follow.IsSessionName(path) {
			take(path, follow.Root{Path: path}, fileMark{info.Size(), info.ModTime()}, true)
		}
	}
	return fresh
}

// identify reads the header of a file and reports whether it is the agent's. A
// file without a complete header is read again after it has changed.
func (f *finder) identify(path string, root follow.Root, open bool) (sessionFile, bool) {
	if root.Dialect == opencodeName {
		return f.identifyEvents(path, root)
	}
	start, err := readStart(path)
	if err != nil {
		return sessionFile{}, false
	}
	h, d, err := readHeader(root.Dialect, start)
	if p, ok := packerOf(root.Dialect); ok {
		h, d, err = f.readMain(p, path, root, start)
	}
	if err != nil {
		return sessionFile{}, false
	}
	if !open && !f.named[path] && !f.isOwn(path, root, h, d) {
		f.other[path] = h.CWD
		return sessionFile{}, false
	}
	return sessionFile{path: path, root: root, session: core.SessionIDFor(d.Name(), h.ID), dialect: d.Name()}, true
}

// isOwn reports whether a file that changed while the agent runs is the agent's.
func (f *finder) isOwn(path string, root follow.Root, h core.Header, d core.Dialect) bool {
	for main := range f.found { // omp keeps the files of subagents beside its own
		if isBelow(path, strings.TrimSuffix(main, ".jsonl")) {
			return true
		}
	}
	if p, ok := d.(bundle.Packer); ok && f.isInPlace(p, path, root, h) {
		return true
	}
	if h.CWD != "" {
		if d.Name() == "omp" && f.omp != "" && process.SameDir(h.CWD, f.omp) {
			return true
		}
		return slices.ContainsFunc(f.dirs, func(dir string) bool { return process.SameDir(h.CWD, dir) })
	}
	_, old := f.before[path]
	return !old || isBelow(root.Path, f.dirs[0])
}

// isBelow reports whether path is inside dir.
func isBelow(path, dir string) bool {
	return strings.HasPrefix(path, dir+string(filepath.Separator))
}

// headerLimit bounds how much of a file is read for its header.
const headerLimit = 64 << 10

func readStart(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, headerLimit))
}

var errNoHeader = errors.New("no complete line yet")

// readHeader reads the header from the start of a file.
func readHeader(name string, start []byte) (core.Header, core.Dialect, error) {
	if len(start) == headerLimit {
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
