package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/sesslog/sesslog/core"
)

// DefaultMax is how many bytes wait for the log at most, unless Options say
// otherwise.
const DefaultMax = 64 << 20

const suffix = ".journal"

// Options say how large a journal may be.
type Options struct {
	// Max is how many bytes may wait for the log, of all sessions together;
	// default DefaultMax. As much again is taken at most by the copies of
	// sessions that were loaded, and as much by what is remembered after it was
	// stored, an eighth of that for one session.
	Max int64
}

// A Journal is a directory of what waits for a log. Its methods may be called
// from several goroutines.
type Journal struct {
	dir  string
	max  int64
	lock *flock.Flock

	mu      sync.Mutex
	books   map[core.SessionID]*book
	waiting int64 // bytes
	closed  bool

	stored  atomic.Int64 // bytes that are remembered though the log has them
	copying sync.Mutex   // held while room is made for a copy
}

// Open opens the journal in dir, which is made where it is not there, and waits
// until ctx ends for another process that has it: then core.ErrUnavailable. It
// reads what waits; a file that is damaged is no error here but for whoever
// needs it, see Sessions.
func Open(ctx context.Context, dir string, o Options) (*Journal, error) {
	if o.Max == 0 {
		o.Max = DefaultMax
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); !ok {
		return nil, fmt.Errorf("journal %s is in use by another process: %w: %w", dir, err, core.ErrUnavailable)
	}
	j := &Journal{dir: dir, max: o.Max, lock: lock, books: map[core.SessionID]*book{}}
	if err := j.read(); err != nil {
		_ = j.Close()
		return nil, err
	}
	return j, nil
}

// read opens the files that are there.
func (j *Journal) read() error {
	files, err := os.ReadDir(j.dir)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), unfinished) {
			if err := os.Remove(filepath.Join(j.dir, f.Name())); err != nil {
				return fmt.Errorf("journal: %w", err)
			}
		}
		name, ok := strings.CutSuffix(f.Name(), suffix)
		id, err := core.ParseSessionID(name)
		if !ok || err != nil {
			continue
		}
		if _, err := j.book(id); err != nil {
			return err
		}
	}
	return nil
}

// book returns the file of session id.
func (j *Journal) book(id core.SessionID) (*book, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, fmt.Errorf("journal %s is closed: %w", j.dir, core.ErrUnavailable)
	}
	if b, ok := j.books[id]; ok {
		return b, nil
	}
	if _, err := core.ParseSessionID(string(id)); err != nil {
		return nil, err
	}
	b := newBook(j, id)
	if err := b.open(); err != nil {
		return nil, err
	}
	for _, it := range b.items {
		if !it.stored {
			j.waiting += it.size
		}
	}
	j.books[id] = b
	return b, nil
}

// reserve makes n bytes count as waiting. core.ErrFull where there is no room.
func (j *Journal) reserve(n int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.waiting+n > j.max {
		return fmt.Errorf("journal %s: %d bytes wait for the log, and %d more would be over its %d; nothing more is kept until the log is back and they are sent: %w",
			j.dir, j.waiting, n, j.max, core.ErrFull)
	}
	j.waiting += n
	return nil
}

func (j *Journal) free(n int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting -= n
}

// all returns the files, in the order of their sessions' names.
func (j *Journal) all() []*book {
	j.mu.Lock()
	defer j.mu.Unlock()
	bs := make([]*book, 0, len(j.books))
	for _, b := range j.books {
		bs = append(bs, b)
	}
	slices.SortFunc(bs, func(a, b *book) int { return strings.Compare(string(a.id), string(b.id)) })
	return bs
}

// A Waiting is what a journal has of one session.
type Waiting struct {
	Session core.SessionID
	Entries int       // appends and other steps that the log does not have yet
	Lines   int       // in them
	Bytes   int64     // that they take
	Since   time.Time // when the first of them was kept
	Stored  int       // steps that are remembered though the log has them
	// Err is why they do not land, where waiting will not help, or what is wrong
	// with the file. Nil where all is well.
	Err error
}

// Sessions returns what the journal has, by session.
func (j *Journal) Sessions() []Waiting {
	var ws []Waiting
	for _, b := range j.all() {
		ws = append(ws, b.status())
	}
	return ws
}

// Close gives the journal up; what waits stays. A second Close does nothing.
// Calls that are under way fail.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	var err error
	for _, b := range j.books {
		err = errors.Join(err, b.close())
	}
	return errors.Join(err, j.lock.Unlock())
}

// unfinished ends the name of a file that is to take another's place.
const unfinished = ".tmp"

// replace puts bytes in the place of a file, whole or not at all.
func replace(path string, data []byte, sync bool) error {
	f, err := os.OpenFile(path+unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(full(err), os.Remove(path+unfinished))
	}
	if err := os.Rename(path+unfinished, path); err != nil || !sync {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Dialect is the dialect of a session that the journal has met; empty where it
// has not.
func (j *Journal) Dialect(id core.SessionID) string {
	j.mu.Lock()
	b, ok := j.books[id]
	j.mu.Unlock()
	if !ok {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dialect
}
