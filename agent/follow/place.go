package follow

import (
	"bufio"
	"bytes"
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

// A place is how far a file was brought in. It is written behind the log's
// acknowledgement and so never ahead of the log; where it lags, what is in the
// file is compared with what is in the log.
type place struct {
	Path    string         `json:"path"`
	Session core.SessionID `json:"session,omitempty"` // empty: nothing of it is in the log
	Dialect string         `json:"dialect,omitempty"` // of the session; empty: it was never in step
	Head    string         `json:"head,omitempty"`    // that the file's lines go to
	// Cursor is where the session was when Head stood at Leaf, which is where the
	// agent goes on after reading the file. The zero cursor: the two differ, and
	// nothing is appended without a comparison.
	Cursor core.Cursor `json:"cursor,omitzero"`
	Leaf   core.Leaf   `json:"leaf,omitzero"`

	// The file, when it was last looked at: its identity, size and time, and when
	// that was.
	Dev   uint64 `json:"dev,omitempty"`
	Ino   uint64 `json:"ino,omitempty"`
	Size  int64  `json:"size,omitempty"`
	MTime int64  `json:"mtime,omitempty"`
	Seen  int64  `json:"seen,omitempty"`

	// Offset is how many bytes at its beginning are in the log, Sum their hash,
	// and Edge the hashes of the first and the last few of them.
	Offset int64     `json:"offset,omitempty"`
	Sum    uint64    `json:"sum,omitempty"`
	Edge   [2]uint64 `json:"edge,omitempty"`
	// Open: the last of those bytes is no newline.
	Open bool `json:"open,omitempty"`
	// Unheard: something was sent to the session and no answer has come. It may
	// still arrive.
	Unheard bool `json:"unheard,omitempty"`
	// Noting is where the session stood before it was told something of the file
	// to which no answer has come; the zero cursor where that is not so.
	Noting core.Cursor `json:"noting,omitzero"`
	// Quick: of what was there before it grew, not all was looked at since.
	Quick bool `json:"quick,omitempty"`
	// Telling is where the session stood before it was told that the file is gone;
	// the zero cursor while that is not to be told.
	Telling core.Cursor `json:"telling,omitzero"`
	// Left: the file is not there. What it had is remembered for a while: it may
	// come back, here or under another name.
	Left bool `json:"left,omitempty"`
	// Gone: forget the path. It is in the file of places only.
	Gone bool `json:"gone,omitempty"`
}

// A memory is the places, and for each file hashes of the lines that it had when
// it was last in step. Both are in files of one directory, or in memory alone.
//
// Nothing is flushed: what a crash of the host takes costs a comparison. Only
// which lines had been in a file that was changed at the same time cannot be told
// then, and those that left it stay in the log without a record that they left.
type memory struct {
	dir  string // empty for memory alone
	lock *flock.Flock

	mu      sync.Mutex
	places  map[string]*place
	log     *os.File
	garbage int // bytes of the file of places, or more, that later ones replaced
	live    int
	lines   map[string][]uint64 // where dir is empty
}

// compactAt is how much garbage the file of places takes before it is written
// anew.
const compactAt = 1 << 20

func openMemory(dir string) (*memory, error) {
	m := &memory{dir: dir, places: map[string]*place{}, lines: map[string][]uint64{}}
	if dir == "" {
		return m, nil
	}
	if err := os.MkdirAll(filepath.Join(dir, "lines"), 0o700); err != nil {
		return nil, fmt.Errorf("the follower's state: %w", err)
	}
	m.lock = flock.New(filepath.Join(dir, "lock"))
	switch got, err := m.lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	case !got:
		return nil, fmt.Errorf("another process follows files with the state in %s; end it, or name another state directory: %w", dir, core.ErrHeld)
	}
	err := m.read()
	for path, p := range m.places {
		if p.Left && time.Since(time.Unix(0, p.Seen)) > leftFor {
			delete(m.places, path)
			_ = os.Remove(m.linesPath(path))
		}
	}
	if err == nil {
		err = m.compact()
	}
	if err != nil {
		_ = m.close()
		return nil, fmt.Errorf("the follower's state: %w", err)
	}
	return m, nil
}

// leftFor is how long a file is remembered that is not there.
const leftFor = 30 * 24 * time.Hour

// at is what is remembered of path.
func (m *memory) at(path string) place {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.places[path]; p != nil {
		return *p
	}
	return place{Path: path}
}

// left returns what is remembered of a file that is not there any more and was
// of session, the latest of several.
func (m *memory) left(session core.SessionID, but string) (p place, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for old, q := range m.places {
		if q.Session != session || old == but || q.Seen < p.Seen {
			continue
		}
		if _, err := os.Lstat(old); os.IsNotExist(err) {
			p, found = *q, true
		}
	}
	return p, found
}

// rename makes the lines that are remembered of one path those of another.
func (m *memory) rename(old, path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dir == "" {
		m.lines[path] = m.lines[old]
		return
	}
	_ = os.Rename(m.linesPath(old), m.linesPath(path)) // where there are none, what differs is a clash
}

func (m *memory) path() string { return filepath.Join(m.dir, "places") }

// read reads the file of places: JSON lines, of which the last of a path counts.
// A line that is no place is what a crash left of one: that file is compared.
func (m *memory) read() error {
	f, err := os.Open(m.path())
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
					delete(m.places, p.Path)
				} else {
					m.places[p.Path] = &p
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

// compact writes the file of places anew, whole or not at all.
func (m *memory) compact() error {
	tmp := m.path() + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	m.live = 0
	for _, p := range m.places {
		line, err := json.Marshal(p)
		if err != nil {
			_ = f.Close()
			return err
		}
		n, _ := w.Write(append(line, '\n'))
		m.live += n
	}
	if err := w.Flush(); err != nil {
		_ = f.Close()
		return err
	}
	if err := os.Rename(tmp, m.path()); err != nil {
		_ = f.Close()
		return err
	}
	if m.log != nil {
		_ = m.log.Close()
	}
	m.log, m.garbage = f, 0
	return nil
}

// save remembers p. That it cannot be written costs a comparison later.
func (m *memory) save(p place) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.Gone {
		delete(m.places, p.Path)
	} else {
		m.places[p.Path] = &p
	}
	if m.log == nil {
		return nil
	}
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	// After a crash the line before may lack its end: a newline ends it.
	if _, err := m.log.Write(append(append([]byte("\n"), line...), '\n')); err != nil {
		return err
	}
	if m.garbage += len(line) + 2; m.garbage > compactAt && m.garbage > 2*m.live {
		return m.compact()
	}
	return nil
}

func (m *memory) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	if m.log != nil {
		err = m.log.Close()
		m.log = nil
	}
	if m.lock != nil {
		_ = m.lock.Unlock()
		m.lock = nil
	}
	return err
}

// A set is hashes of lines.
type set map[uint64]struct{}

func (s set) has(h uint64) bool { _, ok := s[h]; return ok }

// had reports whether the file had the line while the log had it.
func (s set) had(line []byte) bool { return s.has(hash(line)) }

// maybe reports whether the file had the line, and perhaps the log.
func (s set) maybe(line []byte) bool {
	h := hash(line)
	return s.has(h) || s.has(h^announced)
}

// had returns the lines that the file had, nil where nothing is known of it.
func (m *memory) had(path string) set {
	m.mu.Lock()
	defer m.mu.Unlock()
	hs := m.lines[path]
	if m.dir != "" {
		b, err := os.ReadFile(m.linesPath(path))
		if err != nil {
			return nil
		}
		hs = unpack(b)
	}
	if hs == nil {
		return nil
	}
	s := make(set, len(hs))
	for _, h := range hs {
		s[h] = struct{}{}
	}
	return s
}

// add notes lines: before they are sent as announced, and then as they are.
func (m *memory) add(path string, hs []uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dir == "" {
		m.lines[path] = append(m.lines[path], hs...)
		return nil
	}
	f, err := os.OpenFile(m.linesPath(path), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size()%8 != 0 { // a crash in the middle of one
		if err := f.Truncate(info.Size() / 8 * 8); err != nil {
			return err
		}
	}
	_, err = f.Write(pack(hs))
	return err
}

// set replaces what is known of the file's lines.
func (m *memory) set(path string, hs []uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dir == "" {
		m.lines[path] = append([]uint64{}, hs...)
		return nil
	}
	tmp := m.linesPath(path) + ".new"
	if err := os.WriteFile(tmp, pack(hs), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, m.linesPath(path))
}

// claims returns the claims that were held when it was last written. What cannot
// be read is none: then others' word counts.
func (m *memory) claims() (all []claim) {
	if m.dir == "" {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(m.dir, "claims"))
	if err != nil || json.Unmarshal(b, &all) != nil {
		return nil
	}
	return all
}

// saveClaims remembers the claims that are held.
func (m *memory) saveClaims(all []claim) error {
	if m.dir == "" {
		return nil
	}
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	tmp := filepath.Join(m.dir, "claims.new")
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(m.dir, "claims"))
}

// forget drops all that is known of a path.
func (m *memory) forget(path string) error {
	m.mu.Lock()
	delete(m.lines, path)
	if m.dir != "" {
		_ = os.Remove(m.linesPath(path))
	}
	m.mu.Unlock()
	return m.save(place{Path: path, Gone: true})
}

func (m *memory) linesPath(path string) string {
	return filepath.Join(m.dir, "lines", core.DigestOf([]byte(path)).String()[len("sha256:"):][:32])
}

func pack(hs []uint64) []byte {
	b := make([]byte, 0, 8*len(hs))
	for _, h := range hs {
		b = binaryOrder.AppendUint64(b, h)
	}
	return b
}

func unpack(b []byte) []uint64 {
	hs := make([]uint64, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		hs = append(hs, binaryOrder.Uint64(b))
	}
	return hs
}

// blank reports whether line is nothing but white space.
func blank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }
