package fsblob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"

	"github.com/sesslog/sesslog/blobstore"
)

const (
	tmpDir   = ".tmp"
	lockFile = ".lock"
	fileMode = 0o600
	dirMode  = 0o700
)

// A Bucket is a blobstore.Bucket in a directory. It is safe for concurrent use.
type Bucket struct {
	root *os.Root // prevents keys and symbolic links from leaving the directory
	// lock is held shared while the Bucket is open, so that no other process
	// removes the files being written as leftovers.
	lock *flock.Flock
	// sync syncs a file or a directory. It is (*os.File).Sync, except in tests.
	sync func(*os.File) error

	mu      sync.Mutex
	durable map[string]struct{} // directories whose entry in the parent was synced
}

var _ blobstore.Bucket = (*Bucket)(nil)

// Open returns the Bucket in dir, and creates dir if it does not exist. It removes
// the files that crashed processes left in .tmp, unless another process has the
// directory open.
func Open(dir string) (*Bucket, error) {
	b, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("open blob directory %s: %w", dir, err)
	}
	return b, nil
}

func open(dir string) (_ *Bucket, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := makeDurable(dir); err != nil {
		return nil, err
	}
	b := &Bucket{
		lock: flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(fileMode)),
		sync: (*os.File).Sync,
	}
	if b.root, err = os.OpenRoot(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if err := b.root.Mkdir(tmpDir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	alone, err := b.lock.TryLock()
	if err != nil {
		return nil, err
	}
	if alone {
		if err := b.sweep(); err != nil {
			return nil, err
		}
		// Between the two locks another process may sweep; this one has written
		// nothing yet.
		if err := b.lock.Unlock(); err != nil {
			return nil, err
		}
	}
	if err := b.lock.RLock(); err != nil {
		return nil, err
	}
	return b, nil
}

// makeDurable creates dir and its missing parents, and syncs each into its parent.
func makeDurable(dir string) error {
	parent := filepath.Dir(dir)
	err := os.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrNotExist) && parent != dir {
		if err := makeDurable(parent); err != nil {
			return err
		}
		err = os.Mkdir(dir, dirMode)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil // if it is a file, OpenRoot fails
	case err != nil:
		return err
	}
	f, err := os.Open(parent)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// sweep removes the files that a crash left in .tmp.
func (b *Bucket) sweep() error {
	entries, err := b.readDir(tmpDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := b.root.RemoveAll(tmpDir + "/" + e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// Close releases the lock on the directory. Open readers stay valid, and further
// calls of Close do nothing; other methods must not be called. Close does not sync,
// because acknowledged writes are durable already.
func (b *Bucket) Close() error {
	return errors.Join(b.lock.Close(), b.root.Close())
}
