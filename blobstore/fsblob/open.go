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

// A Bucket is a blobstore.Bucket in a directory. Its methods may be called from
// several goroutines.
type Bucket struct {
	root *os.Root // no key, and no symbolic link, leads out of it
	// lock is held shared for as long as the Bucket is open, so that no other
	// process takes the files being written for leftovers.
	lock *flock.Flock
	// sync flushes a file or a directory. It is (*os.File).Sync; a field, so
	// that tests can count flushes and fail them.
	sync func(*os.File) error

	mu      sync.Mutex
	durable map[string]struct{} // directories known to be in their flushed parents
}

var _ blobstore.Bucket = (*Bucket)(nil)

// Open returns the Bucket in dir, which is made when it is not there. What
// crashed processes left in .tmp is removed, unless another process has the
// directory open: then it may belong to that one, and stays for a later Open.
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
		// Between the two locks another may open and sweep: there is nothing
		// of ours to sweep yet.
		if err := b.lock.Unlock(); err != nil {
			return nil, err
		}
	}
	if err := b.lock.RLock(); err != nil {
		return nil, err
	}
	return b, nil
}

// makeDurable makes dir and what is missing above it, each flushed into its
// parent.
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
		// It may be a file; OpenRoot says so.
		return nil
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

// sweep removes what a crash left in .tmp.
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

// Close lets other processes sweep. The Bucket must not be used afterwards, but
// to Close it again; readers it gave out stay good. Close does not flush:
// nothing acknowledged is waiting for it.
func (b *Bucket) Close() error {
	return errors.Join(b.lock.Close(), b.root.Close())
}
