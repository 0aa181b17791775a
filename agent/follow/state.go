package follow

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/sesslog/sesslog/core"
)

// A stateStore keeps the places of all files, and for each file hashes of the
// lines that it had when it was last in step. Both are in files of one directory,
// or only in memory.
//
// Nothing is synced: what a crash of the host loses costs a comparison. Only lines
// that were removed from a file at that time cannot be recognized then, and stay
// in the log without a record of the removal.
type stateStore struct {
	dir  string // empty: only in memory
	temp string // for copies if dir is empty
	lock *flock.Flock

	mu      sync.Mutex
	places  map[string]*place
	log     *os.File
	garbage int // bytes of replaced lines in the file of places, at least
	live    int
	lines   map[string][]uint64 // if dir is empty
}

const (
	// compactAt is how many bytes of garbage the file of places may contain.
	compactAt = 1 << 20
	// keepLeft is how long the place of a missing file is kept.
	keepLeft = 30 * 24 * time.Hour
)

func openState(dir string) (*stateStore, error) {
	st := &stateStore{dir: dir, places: map[string]*place{}, lines: map[string][]uint64{}}
	if dir == "" {
		var err error
		st.temp, err = os.MkdirTemp("", "sesslog-follow-")
		return st, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "lines"), 0o700); err != nil {
		return nil, fmt.Errorf("open the state directory: %w", err)
	}
	st.lock = flock.New(filepath.Join(dir, "lock"))
	switch got, err := st.lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	case !got:
		return nil, fmt.Errorf("another process uses the state directory %s; end it, or choose another directory: %w", dir, core.ErrHeld)
	}
	err := st.read()
	for path, p := range st.places {
		if p.Left && time.Since(time.Unix(0, p.Seen)) > keepLeft {
			delete(st.places, path)
			_ = os.Remove(st.linesPath(path))
			_ = os.Remove(st.copyPath(path))
		}
	}
	if err == nil {
		err = st.compact()
	}
	if err != nil {
		_ = st.close()
		return nil, fmt.Errorf("open the state directory: %w", err)
	}
	return st, nil
}

// at returns the place of path.
func (st *stateStore) at(path string) place {
	st.mu.Lock()
	defer st.mu.Unlock()
	if p := st.places[path]; p != nil {
		return *p
	}
	return place{Path: path}
}

// missing returns the latest place of a file of session that no longer exists,
// other than the file at except.
func (st *stateStore) missing(session core.SessionID, except string) (p place, found bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for path, q := range st.places {
		if q.Session != session || path == except || q.Seen < p.Seen {
			continue
		}
		if _, err := os.Lstat(path); os.IsNotExist(err) {
			p, found = *q, true
		}
	}
	return p, found
}

// copyPath returns where the copy of a session of several files is.
func (st *stateStore) copyPath(path string) string {
	dir := cmp.Or(st.dir, st.temp)
	return filepath.Join(dir, "packed", filepath.Base(st.linesPath(path))+".jsonl")
}

func (st *stateStore) path() string { return filepath.Join(st.dir, "places") }

// read reads the file of places: JSON lines, of which the last of a path counts. An
// invalid line was cut off by a crash; its file is compared.
func (st *stateStore) read() error {
	f, err := os.Open(st.path())
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 && line[len(line)-1] == '\n' {
			var p place
			if json.Unmarshal(line, &p) == nil && p.Path != "" {
				if p.Gone {
					delete(st.places, p.Path)
				} else {
					st.places[p.Path] = &p
				}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// compact rewrites the file of places atomically.
func (st *stateStore) compact() error {
	tmp := st.path() + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := st.writeAll(f); err != nil {
		_ = f.Close()
		return err
	}
	if err := os.Rename(tmp, st.path()); err != nil {
		_ = f.Close()
		return err
	}
	if st.log != nil {
		_ = st.log.Close()
	}
	st.log, st.garbage = f, 0
	return nil
}

func (st *stateStore) writeAll(f *os.File) error {
	w := bufio.NewWriter(f)
	st.live = 0
	for _, p := range st.places {
		line, err := json.Marshal(p)
		if err != nil {
			return err
		}
		n, _ := w.Write(append(line, '\n'))
		st.live += n
	}
	return w.Flush()
}

// save saves p. If that fails, the file is compared later.
func (st *stateStore) save(p place) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if p.Gone {
		delete(st.places, p.Path)
	} else {
		st.places[p.Path] = &p
	}
	if st.log == nil {
		return nil
	}
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	// A crash may have cut off the line before: a newline ends it.
	if _, err := st.log.Write(append(append([]byte("\n"), line...), '\n')); err != nil {
		return err
	}
	if st.garbage += len(line) + 2; st.garbage > compactAt && st.garbage > 2*st.live {
		return st.compact()
	}
	return nil
}

// forget removes everything about a path.
func (st *stateStore) forget(path string) error {
	st.mu.Lock()
	delete(st.lines, path)
	if st.dir != "" {
		_ = os.Remove(st.linesPath(path))
	}
	st.mu.Unlock()
	return st.save(place{Path: path, Gone: true})
}

func (st *stateStore) close() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	var err error
	if st.temp != "" {
		err = os.RemoveAll(st.temp)
	}
	if st.log != nil {
		err = st.log.Close()
		st.log = nil
	}
	if st.lock != nil {
		_ = st.lock.Unlock()
		st.lock = nil
	}
	return err
}

// claims returns the claims that were held when they were last saved. An
// unreadable file counts as empty.
func (st *stateStore) claims() (all []claim) {
	if st.dir == "" {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(st.dir, "claims"))
	if err != nil || json.Unmarshal(b, &all) != nil {
		return nil
	}
	return all
}

// saveClaims saves the claims that are held.
func (st *stateStore) saveClaims(all []claim) error {
	if st.dir == "" {
		return nil
	}
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(st.dir, "claims"), b)
}

// replaceFile writes a file atomically, but does not sync it.
func replaceFile(path string, b []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
