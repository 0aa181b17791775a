package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
)

const (
	// ofOne is how many uploads one owner may have, and ofAll how many there may
	// be in all.
	ofOne, ofAll = 16, 256
	// lifetime is how long an upload is kept.
	lifetime = 24 * time.Hour
	// sweepEvery is how often it is looked for uploads whose time is over.
	sweepEvery = 10 * time.Minute
	// pieceSize is how much is read before it is written.
	pieceSize = 256 << 10
)

// Config is what a Store needs to know.
type Config struct {
	Dir string // its own; made where it is not there
	// Bytes is how many bytes all uploads may come to when they are whole; one
	// owner's may come to half of that.
	Bytes  int64
	Logger *slog.Logger // default slog.Default()
}

// A Store keeps uploads in a directory that no other process uses. Its methods
// may be called from several goroutines.
type Store struct {
	cfg Config
	now func() time.Time

	mu    sync.Mutex
	parts map[string]*part
}

// A part is an upload with the order of those who use its file.
type part struct {
	Upload                   // Offset is for whoever has the turn
	turn       chan struct{} // whoever has put something in has the turn, and so the file
	interrupts func()        // ends the turn of who is writing, nil for nobody; the Store's lock guards it
	gone       bool          // it was removed; likewise
}

// Open returns the Store in cfg.Dir, with the uploads that are there. Leftovers
// of a crash are removed.
func Open(cfg Config) (*Store, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Store{cfg: cfg, now: time.Now, parts: map[string]*part{}}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of uploads: %w", err)
	}
	found, err := s.found()
	if err != nil {
		return nil, fmt.Errorf("directory of uploads: %w", err)
	}
	for _, u := range found {
		s.parts[u.ID] = newPart(u)
	}
	s.sweep(context.Background())
	return s, nil
}

func newPart(u Upload) *part { return &part{Upload: u, turn: make(chan struct{}, 1)} }

// Run removes uploads whose time is over until ctx ends. The error is never nil.
func (s *Store) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			s.sweep(ctx)
		}
	}
}

// sweep removes what has expired.
func (s *Store) sweep(ctx context.Context) {
	for _, u := range s.expired() {
		if err := s.Remove(ctx, u.Owner, u.ID); err != nil && !errors.Is(err, ErrGone) {
			s.cfg.Logger.Warn("an upload whose time is over is still there", "upload", u.ID, "err", err)
		}
	}
}

func (s *Store) expired() (over []Upload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		if !s.now().Before(p.Expires) {
			over = append(over, Upload{ID: p.ID, Owner: p.Owner})
		}
	}
	return over
}

// Begin returns the upload of size bytes with the digest d, which is made where
// owner has none. One that is there may have some of its bytes already: then
// whoever was sending them is interrupted. ErrNoRoom where there are too many.
func (s *Store) Begin(ctx context.Context, owner string, d core.Digest, size int64) (Upload, error) {
	if size < 1 {
		return Upload{}, fmt.Errorf("an upload of %d bytes: %w", size, core.ErrInvalid)
	}
	s.sweep(ctx)
	id := idOf(owner, d, size)
	u, err := s.Look(ctx, owner, id)
	if !errors.Is(err, ErrGone) {
		return u, err
	}
	p := newPart(Upload{ID: id, Owner: owner, SHA256: d, Size: size, Expires: s.now().Add(lifetime).UTC().Truncate(time.Second)})
	p.turn <- struct{}{}
	if there, err := s.add(p); err != nil {
		return Upload{}, err
	} else if there {
		return s.Look(ctx, owner, id) // somebody was quicker
	}
	defer func() { <-p.turn }()
	if err := s.write(p.Upload); err != nil {
		s.drop(p)
		return Upload{}, fmt.Errorf("begin an upload: %w", err)
	}
	return p.Upload, nil
}

// add gives p its place, unless one with its id is there.
func (s *Store) add(p *part) (there bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts[p.ID] != nil {
		return true, nil
	}
	var mine int
	var bytes, mineBytes int64
	for _, other := range s.parts {
		bytes += other.Size
		if other.Owner == p.Owner {
			mine++
			mineBytes += other.Size
		}
	}
	switch half := s.cfg.Bytes / 2; {
	case mine >= ofOne:
		return false, fmt.Errorf("this caller has %d uploads here, as many as one may: %w", mine, ErrNoRoom)
	case len(s.parts) >= ofAll:
		return false, fmt.Errorf("there are %d uploads here, as many as there may be: %w", len(s.parts), ErrNoRoom)
	case mineBytes+p.Size > half:
		return false, fmt.Errorf("with %d bytes more this caller's uploads come to %d, %d are allowed: %w", p.Size, mineBytes+p.Size, half, ErrNoRoom)
	case bytes+p.Size > s.cfg.Bytes:
		return false, fmt.Errorf("with %d bytes more all uploads come to %d, %d are allowed: %w", p.Size, bytes+p.Size, s.cfg.Bytes, ErrNoRoom)
	}
	s.parts[p.ID] = p
	return false, nil
}

// drop has p be gone for everybody, also for those who wait for it.
func (s *Store) drop(p *part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.parts, p.ID)
	p.gone = true
}

// take gives the caller the file of an upload, and interrupts who is writing to
// it: a sender whose connection broke comes again before the node has noticed.
// The caller calls release. ErrGone where owner has no such upload.
func (s *Store) take(ctx context.Context, owner, id string) (p *part, release func(), err error) {
	s.mu.Lock()
	p = s.parts[id]
	if p == nil || p.Owner != owner {
		s.mu.Unlock()
		return nil, nil, notHere(id)
	}
	if p.interrupts != nil {
		p.interrupts()
	}
	s.mu.Unlock()
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("upload %s is in use: %w", id, ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.gone {
		<-p.turn
		return nil, nil, notHere(id)
	}
	return p, func() { <-p.turn }, nil
}

// Look returns an upload as it is, once nobody writes to it. ErrGone
// where owner has no such upload on this node.
func (s *Store) Look(ctx context.Context, owner, id string) (Upload, error) {
	p, release, err := s.take(ctx, owner, id)
	if err != nil {
		return Upload{}, err
	}
	defer release()
	return p.Upload, nil
}

// A Sender gives the bytes of a part. Interrupt comes from another goroutine; it
// ends a Read that waits, with an error, and all that follow. It does not wait
// itself.
type Sender interface {
	io.Reader
	Interrupt()
}

// Append adds what from gives to the end of an upload, which must be at offset:
// else ErrOffset. It returns how the upload stands then, with its bytes flushed;
// with an error, too, if the upload is known: a sender that breaks off has brought
// what arrived. It is interrupted when somebody else asks for the upload, not
// after Append has returned. More bytes than are missing are an error, and are
// left out.
func (s *Store) Append(ctx context.Context, owner, id string, offset int64, from Sender) (Upload, error) {
	p, release, err := s.take(ctx, owner, id)
	if err != nil {
		return Upload{}, err
	}
	defer release()
	if offset != p.Offset {
		return p.Upload, fmt.Errorf("upload %s has %d bytes, these are for offset %d: %w", id, p.Offset, offset, ErrOffset)
	}
	s.interruptWith(p, from.Interrupt)
	defer s.interruptWith(p, nil)
	n, err := s.receive(p.Upload, from)
	p.Offset += n
	return p.Upload, err
}

func (s *Store) interruptWith(p *part, stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.interrupts = stop
}

// receive writes what from gives behind what u has, and says how much of it is
// flushed.
func (s *Store) receive(u Upload, from io.Reader) (n int64, err error) {
	f, err := os.OpenFile(s.bytesOf(u.ID), os.O_WRONLY, 0)
	if err != nil {
		return 0, fmt.Errorf("upload %s: %w", u.ID, roomy(err))
	}
	defer f.Close()
	n, err = copyAt(f, u.Offset, from, u.Size-u.Offset)
	if n == 0 {
		return 0, err
	}
	if bad := f.Sync(); bad != nil { // then nobody knows what is there
		return 0, fmt.Errorf("upload %s: %w", u.ID, roomy(bad))
	}
	return n, err
}

// copyAt copies up to most bytes of from to f, from offset at on.
func copyAt(f *os.File, at int64, from io.Reader, most int64) (n int64, err error) {
	buf := make([]byte, pieceSize)
	for {
		m, err := io.ReadAtLeast(from, buf, 1)
		keep := min(int64(m), most-n)
		if _, bad := f.WriteAt(buf[:keep], at+n); bad != nil {
			return n, fmt.Errorf("upload: %w", roomy(bad))
		}
		n += keep
		switch {
		case keep < int64(m):
			return n, fmt.Errorf("these are more bytes than were announced: %w", core.ErrInvalid)
		case err == io.EOF:
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

// Read returns the bytes of an upload that is whole, and how many there are.
// They are not checked: whoever reads them compares their digest with the
// upload's. The caller closes them.
func (s *Store) Read(ctx context.Context, owner, id string) (Upload, io.ReadCloser, error) {
	p, release, err := s.take(ctx, owner, id)
	if err != nil {
		return Upload{}, nil, err
	}
	defer release()
	if !p.Whole() {
		return p.Upload, nil, fmt.Errorf("upload %s has %d of its %d bytes: %w", id, p.Offset, p.Size, ErrOffset)
	}
	f, err := os.Open(s.bytesOf(id))
	if err != nil {
		return p.Upload, nil, fmt.Errorf("upload %s: %w", id, err)
	}
	return p.Upload, f, nil
}

// Remove removes an upload and its bytes. ErrGone where owner has none.
func (s *Store) Remove(ctx context.Context, owner, id string) error {
	p, release, err := s.take(ctx, owner, id)
	if err != nil {
		return err
	}
	defer release()
	for _, name := range []string{s.noteOf(id), s.bytesOf(id)} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an upload: %w", err)
		}
	}
	s.drop(p)
	return nil
}
