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

// A Repo is a place for backups. It is safe for concurrent use, and several
// processes may use the same bucket.
type Repo struct {
	bucket blobstore.Bucket

	mu       sync.Mutex
	verified map[core.Digest]int64 // sizes of objects that are known to be intact
}

// NewRepo returns the Repo in bucket, which may be empty. It does no I/O.
func NewRepo(bucket blobstore.Bucket) *Repo {
	return &Repo{bucket: bucket, verified: map[core.Digest]int64{}}
}

// trust records that objects are intact.
func (r *Repo) trust(parts ...Part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range parts {
		r.verified[p.Digest] = p.Size
	}
}

func (r *Repo) trusted(d core.Digest) (int64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size, ok := r.verified[d]
	return size, ok
}

// find returns the object with that digest, and whether it exists and is intact.
// It reads and compares an object that is not trusted, such as one written by an
// interrupted backup.
func (r *Repo) find(ctx context.Context, d core.Digest) (Part, bool, error) {
	info, err := r.bucket.Stat(ctx, objectKey(d))
	if errors.Is(err, blobstore.ErrNotFound) {
		return Part{}, false, nil
	}
	if err != nil {
		return Part{}, false, mapError(err)
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

// put stores b unless it exists, and reads it back. It returns the part and the
// number of bytes sent.
func (r *Repo) put(ctx context.Context, b []byte) (p Part, sent int64, err error) {
	p = partOf(b)
	if _, ok, err := r.find(ctx, p.Digest); err != nil || ok {
		return p, 0, err
	}
	if err := r.bucket.Put(ctx, p.Key(), bytes.NewReader(b), p.Size); err != nil {
		return p, 0, mapError(err)
	}
	if _, err := r.Get(ctx, p); err != nil {
		return p, 0, fmt.Errorf("read back after write: %w", err)
	}
	return p, p.Size, nil
}

// Get returns the verified bytes of an object. It returns core.ErrCorrupt, naming
// the object, if it is missing or corrupt.
func (r *Repo) Get(ctx context.Context, p Part) ([]byte, error) {
	b, err := r.read(ctx, p.Key(), p.Size)
	if err != nil {
		return nil, err
	}
	if core.DigestOf(b) != p.Digest {
		return nil, fmt.Errorf("%s does not match its digest: %w", p.Key(), core.ErrCorrupt)
	}
	r.trust(p)
	return b, nil
}

// read returns the object under key, which must have size bytes unless size is -1.
func (r *Repo) read(ctx context.Context, key string, size int64) ([]byte, error) {
	src, err := r.bucket.Get(ctx, key)
	if errors.Is(err, blobstore.ErrNotFound) {
		return nil, fmt.Errorf("%s is missing: %w", key, core.ErrCorrupt)
	}
	if err != nil {
		return nil, mapError(err)
	}
	defer src.Close()
	var from io.Reader = src
	if size >= 0 {
		from = io.LimitReader(src, size+1)
	}
	b, err := io.ReadAll(from)
	if err != nil {
		return nil, mapError(err)
	}
	if size >= 0 && int64(len(b)) != size {
		return nil, fmt.Errorf("%s does not have %d bytes: %w", key, size, core.ErrCorrupt)
	}
	return b, nil
}

// mapError maps an error of the bucket to one of core.
func mapError(err error) error {
	if errors.Is(err, blobstore.ErrRefused) { // hide the cause, which callers could misinterpret
		return fmt.Errorf("%v: %w", err, core.ErrUnavailable)
	}
	if errors.Is(err, blobstore.ErrUnavailable) {
		return fmt.Errorf("%w: %w", err, core.ErrUnavailable)
	}
	return err
}

// Runs returns the names of the complete runs, oldest first.
func (r *Repo) Runs(ctx context.Context) ([]RunName, error) { return r.runs(ctx, runPrefix) }

func (r *Repo) runs(ctx context.Context, prefix string) ([]RunName, error) {
	var names []RunName
	for info, err := range r.bucket.List(ctx, prefix) {
		if err != nil {
			return nil, mapError(err)
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

// Run returns the run with that name. It returns core.ErrCorrupt if its bytes do
// not match the name.
func (r *Repo) Run(ctx context.Context, n RunName) (*Run, error) {
	b, err := r.read(ctx, n.key, -1)
	if err != nil {
		return nil, err
	}
	if core.DigestOf(b) != n.Digest {
		return nil, fmt.Errorf("%s does not match its digest: %w", n.key, core.ErrCorrupt)
	}
	run, err := decodeRun(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.key, err)
	}
	if run.ID != n.ID {
		return nil, fmt.Errorf("%s contains run %s: %w", n.key, run.ID, core.ErrCorrupt)
	}
	return run, nil
}

// Pick returns the run whose id starts with name, or the latest run if name is
// empty. It returns core.ErrNotFound if there is none, core.ErrInvalid if there
// are several.
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
		return nil, fmt.Errorf("there is no run %q: %w", name, core.ErrNotFound)
	case 1:
		return r.Run(ctx, found[0])
	}
	return nil, fmt.Errorf("%d runs start with %q: %w", len(found), name, core.ErrInvalid)
}

// save writes a run and reads it back.
func (r *Repo) save(ctx context.Context, prefix string, run *Run) error {
	b, err := run.encode()
	if err != nil {
		return err
	}
	n := nameRun(prefix, run.ID, core.DigestOf(b))
	if err := r.bucket.Put(ctx, n.key, bytes.NewReader(b), int64(len(b))); err != nil {
		return mapError(err)
	}
	if _, err := r.Run(ctx, n); err != nil {
		return fmt.Errorf("read back after write: %w", err)
	}
	return nil
}

// newRunID returns an id for a run that begins at ms, greater than all others.
func newRunID(ms uint64, names []RunName) (ulid.ULID, error) {
	for _, n := range names {
		ms = max(ms, n.ID.Time()+1)
	}
	return ulid.New(ms, ulid.DefaultEntropy())
}
