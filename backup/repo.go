package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
)

// A Repo is a place for backups. Its methods may be called from several
// goroutines, and several processes may use the same bucket.
type Repo struct {
	bucket blobstore.Bucket

	mu    sync.Mutex
	known map[core.Digest]int64 // objects whose bytes were proved, and their sizes
}

// NewRepo returns the Repo in bucket, which may be empty. Nothing is read or
// written by it.
func NewRepo(bucket blobstore.Bucket) *Repo {
	return &Repo{bucket: bucket, known: map[core.Digest]int64{}}
}

// trust notes that an object was proved.
func (r *Repo) trust(p Part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[p.Digest] = p.Size
}

func (r *Repo) trusted(d core.Digest) (int64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size, ok := r.known[d]
	return size, ok
}

// find returns the object of that digest, and whether it is there and sound. An
// object that no run vouches for, such as one that a backup left that broke off,
// is read and compared.
func (r *Repo) find(ctx context.Context, d core.Digest) (Part, bool, error) {
	info, err := r.bucket.Stat(ctx, objectKey(d))
	if errors.Is(err, blobstore.ErrNotFound) {
		return Part{}, false, nil
	}
	if err != nil {
		return Part{}, false, away(err)
	}
	p := Part{d, info.Size}
	if size, ok := r.trusted(d); ok {
		return p, size == info.Size, nil
	}
	_, err = r.Get(ctx, p)
	if errors.Is(err, core.ErrCorrupt) {
		return Part{}, false, nil
	}
	return p, err == nil, err
}

// put stores b where it is not there already, reads it back, and returns its part
// and how many bytes were sent.
func (r *Repo) put(ctx context.Context, b []byte) (p Part, sent int64, err error) {
	p = partOf(b)
	if _, ok, err := r.find(ctx, p.Digest); err != nil || ok {
		return p, 0, err
	}
	if err := r.bucket.Put(ctx, p.Key(), bytes.NewReader(b), p.Size); err != nil {
		return p, 0, away(err)
	}
	if _, err := r.Get(ctx, p); err != nil {
		return p, 0, fmt.Errorf("what was just written reads back as something else: %w", err)
	}
	return p, p.Size, nil
}

// Get returns an object's bytes, whose size and digest were compared.
// core.ErrCorrupt, naming the object, where it is gone or something else.
func (r *Repo) Get(ctx context.Context, p Part) ([]byte, error) {
	b, err := r.read(ctx, p.Key(), p.Size)
	if err != nil {
		return nil, err
	}
	if core.DigestOf(b) != p.Digest {
		return nil, fmt.Errorf("%s is other bytes than its name says: %w", p.Key(), core.ErrCorrupt)
	}
	r.trust(p)
	return b, nil
}

// read returns the object under key, of size bytes; of any size where that is -1.
func (r *Repo) read(ctx context.Context, key string, size int64) ([]byte, error) {
	src, err := r.bucket.Get(ctx, key)
	if errors.Is(err, blobstore.ErrNotFound) {
		return nil, fmt.Errorf("%s is gone: %w", key, core.ErrCorrupt)
	}
	if err != nil {
		return nil, away(err)
	}
	defer src.Close()
	var from io.Reader = src
	if size >= 0 {
		from = io.LimitReader(src, size+1)
	}
	b, err := io.ReadAll(from)
	if err != nil {
		return nil, away(err)
	}
	if size >= 0 && int64(len(b)) != size {
		return nil, fmt.Errorf("%s has not the %d bytes that it should have: %w", key, size, core.ErrCorrupt)
	}
	return b, nil
}

// away says of an error of the bucket what it means to a caller.
func away(err error) error {
	if errors.Is(err, blobstore.ErrRefused) { // by a cause, such as a file, that means something else to a caller
		return fmt.Errorf("%v: %w", err, core.ErrUnavailable)
	}
	if errors.Is(err, blobstore.ErrUnavailable) {
		return fmt.Errorf("%w: %w", err, core.ErrUnavailable)
	}
	return err
}

// Runs returns the runs that came to their end, the oldest first.
func (r *Repo) Runs(ctx context.Context) ([]RunName, error) { return r.runs(ctx, runPrefix) }

func (r *Repo) runs(ctx context.Context, prefix string) ([]RunName, error) {
	var names []RunName
	for info, err := range r.bucket.List(ctx, prefix) {
		if err != nil {
			return nil, away(err)
		}
		n, err := parseRun(prefix, info.Key)
		if err != nil {
			return nil, err
		}
		names = append(names, n)
	}
	slices.SortStableFunc(names, func(a, b RunName) int { return a.ID.Compare(b.ID) })
	return names, nil
}

// Run returns the run of that name. core.ErrCorrupt, naming it, where its bytes
// are others than its name says.
func (r *Repo) Run(ctx context.Context, n RunName) (*Run, error) {
	b, err := r.read(ctx, n.key, -1)
	if err != nil {
		return nil, err
	}
	if core.DigestOf(b) != n.Digest {
		return nil, fmt.Errorf("%s is other bytes than its name says: %w", n.key, core.ErrCorrupt)
	}
	run, err := decodeRun(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.key, err)
	}
	if run.ID != n.ID {
		return nil, fmt.Errorf("%s is run %s: %w", n.key, run.ID, core.ErrCorrupt)
	}
	return run, nil
}

// Pick returns the run that name names: the latest where it is empty, else the
// one whose id begins with it. core.ErrNotFound where there is none.
func (r *Repo) Pick(ctx context.Context, name string) (*Run, error) {
	names, err := r.Runs(ctx)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no backup here: %w", core.ErrNotFound)
	}
	if name == "" {
		return r.Run(ctx, names[len(names)-1])
	}
	var found []RunName
	for _, n := range names {
		if strings.HasPrefix(n.ID.String(), strings.ToUpper(name)) {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("there is no run %q here: %w", name, core.ErrNotFound)
	case 1:
		return r.Run(ctx, found[0])
	}
	return nil, fmt.Errorf("%d runs begin with %q: %w", len(found), name, core.ErrInvalid)
}

// save writes a run, under the name that its bytes give it.
func (r *Repo) save(ctx context.Context, prefix string, run *Run) (RunName, error) {
	b, err := run.encode()
	if err != nil {
		return RunName{}, err
	}
	n := nameRun(prefix, run.ID, core.DigestOf(b))
	if err := r.bucket.Put(ctx, n.key, bytes.NewReader(b), int64(len(b))); err != nil {
		return n, away(err)
	}
	if _, err := r.Run(ctx, n); err != nil {
		return n, fmt.Errorf("what was just written reads back as something else: %w", err)
	}
	return n, nil
}

// newRunID returns an id for a run that begins at ms, later than all others.
func newRunID(ms uint64, names []RunName) (ulid.ULID, error) {
	for _, n := range names {
		ms = max(ms, n.ID.Time()+1)
	}
	return ulid.New(ms, ulid.DefaultEntropy())
}
