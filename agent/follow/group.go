package follow

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A grouping knows to which sessions the files below a root belong, whose agent
// keeps a session in several files.
type grouping struct {
	mu    sync.Mutex
	files map[string]*member // by name
}

// packed returns the files of a session below a root whose agent keeps it in
// several.
func (f *file) packed() *packed { return f.source.(*packed) }

// A member is a file below a root.
type member struct {
	mains []string // names of the main files of its sessions; empty: unknown
	size  int64    // when it was looked at, if that is unknown
	mtime int64
}

func (s *scanner) grouping(r *Root) *grouping {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[r]
	if g == nil {
		g = &grouping{files: map[string]*member{}}
		s.groups[r] = g
	}
	return g
}

// changedPart schedules the sessions to which a changed file belongs.
func (s *scanner) changedPart(path string, r *Root) {
	name, err := filepath.Rel(r.home(), path)
	if err != nil {
		return
	}
	g := s.grouping(r)
	g.mu.Lock()
	m := g.files[filepath.ToSlash(name)]
	g.mu.Unlock()
	if m == nil || len(m.mains) == 0 {
		s.group(r)
		return
	}
	for _, main := range m.mains {
		s.fl.mu.Lock()
		f := s.fl.files[filepath.Join(r.home(), filepath.FromSlash(main))]
		s.fl.mu.Unlock()
		if f != nil {
			s.fl.enqueue(f)
		}
	}
}

// group finds the sessions below a root, and their files.
func (s *scanner) group(r *Root) {
	g := s.grouping(r)
	g.mu.Lock()
	defer g.mu.Unlock()
	names, fresh := s.list(r, g)
	fresh = slices.DeleteFunc(fresh, func(name string) bool { return s.adopt(r, g, name) })
	if len(fresh) == 0 {
		return
	}
	for _, b := range r.rules.Bundles(names, func(name string) []byte { return beginning(filepath.Join(r.home(), filepath.FromSlash(name))) }) {
		if b.Main == "" {
			continue
		}
		for _, name := range b.Files {
			if m := g.files[name]; m != nil && !slices.Contains(m.mains, b.Main) {
				m.mains = append(m.mains, b.Main)
			}
		}
		s.foundPacked(r, b.Main, b.Files)
	}
}

// list returns the names of the files below a root that a session of it may have,
// and those of which the session is unknown. It watches their directories. g is
// locked.
func (s *scanner) list(r *Root, g *grouping) (names, fresh []string) {
	home, top := r.home(), r.home()
	if main, err := filepath.Rel(home, r.Path); err == nil && r.Path != home {
		top = filepath.Join(home, filepath.FromSlash(r.rules.Scope(filepath.ToSlash(main))))
	}
	_ = filepath.WalkDir(top, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // it is being removed, or cannot be read
		case at != top && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			if r.Path == home || at == filepath.Dir(r.Path) || strings.HasPrefix(at+"/", strings.TrimSuffix(r.Path, ".jsonl")+"/") {
				s.watch(at)
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		name, err := filepath.Rel(home, at)
		if err != nil {
			return nil
		}
		name = filepath.ToSlash(name)
		names = append(names, name)
		m := g.files[name]
		if m != nil && len(m.mains) > 0 {
			return nil
		}
		info, err := d.Info()
		if err != nil || m != nil && m.size == info.Size() && m.mtime == info.ModTime().UnixNano() {
			return nil
		}
		g.files[name] = &member{size: info.Size(), mtime: info.ModTime().UnixNano()}
		fresh = append(fresh, name)
		return nil
	})
	return names, fresh
}

// adopt adds a new file to the session whose main file is called like one of the
// directories that it is in, and reports whether there is one. g is locked.
func (s *scanner) adopt(r *Root, g *grouping, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		main := dir + ".jsonl"
		m := g.files[main]
		if m == nil || !slices.Contains(m.mains, main) {
			continue
		}
		g.files[name].mains = []string{main}
		s.fl.mu.Lock()
		f := s.fl.files[filepath.Join(r.home(), filepath.FromSlash(main))]
		s.fl.mu.Unlock()
		if f != nil {
			f.packed().addMember(name)
			s.fl.enqueue(f)
		}
		return true
	}
	return false
}

// foundPacked starts to follow the session of a main file, or tells it its files.
func (s *scanner) foundPacked(r *Root, main string, names []string) {
	at := filepath.Join(r.home(), filepath.FromSlash(main))
	if r.Path != r.home() && r.Path != at {
		return // of another session
	}
	info, err := os.Lstat(at)
	if err != nil {
		return
	}
	s.fl.mu.Lock()
	f := s.fl.files[at]
	if f == nil && !info.ModTime().Before(r.Since) {
		f = s.fl.newFile(at, r)
	}
	s.fl.mu.Unlock()
	if f == nil {
		return
	}
	f.packed().setMembers(names)
	if s.isDue(f) {
		s.fl.enqueue(f)
	}
}

// beginningSize is how much of a file tells what it is.
const beginningSize = 64 << 10

func beginning(path string) []byte {
	h, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer h.Close()
	b, _ := io.ReadAll(io.LimitReader(h, beginningSize)) // as much as can be read
	return b
}
