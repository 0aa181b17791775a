package fsblob

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/internal/streams"
)

// Put is as in blobstore.Bucket. It refuses keys that run through another.
func (b *Bucket) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	if err := check(ctx, key); err != nil {
		return b.fail("put", key, err)
	}
	tmp := tmpDir + "/" + rand.Text()
	exact := streams.Exactly(src, size)
	err := b.write(tmp, streams.WithContext(ctx, exact))
	if err == nil {
		err = b.place(tmp, key)
	}
	if err == nil {
		return nil
	}
	// What cannot be removed now is swept later. After a rename it is gone.
	_ = b.root.Remove(tmp)
	if exact.Err() != nil { // the caller's, whatever it looks like
		return fmt.Errorf("put %s: %w", key, exact.Err())
	}
	return b.fail("put", key, err)
}

// write puts the bytes of src into a new file and flushes them.
func (b *Bucket) write(name string, src io.Reader) error {
	f, err := b.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, src)
	if err == nil {
		err = b.sync(f)
	}
	return cmp.Or(err, f.Close())
}

// place renames a flushed file to where Get finds it and makes that durable.
func (b *Bucket) place(tmp, key string) error {
	dir := path.Dir(key)
	err := b.move(tmp, key)
	if errors.Is(err, fs.ErrNotExist) { // somebody has removed directories by hand
		b.forgetDirs()
		err = b.move(tmp, key)
	}
	if err != nil {
		return err
	}
	return b.syncDir(dir)
}

// move renames tmp to key, whose directory it makes.
func (b *Bucket) move(tmp, key string) error {
	if err := b.makeDir(path.Dir(key)); err != nil {
		return err
	}
	return b.root.Rename(tmp, key)
}

// Get is as in blobstore.Bucket.
func (b *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := check(ctx, key); err != nil {
		return nil, b.fail("get", key, err)
	}
	f, err := b.root.Open(key)
	if err != nil {
		return nil, b.fail("get", key, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = f.Close()
		return nil, b.fail("get", key, err)
	}
	return streams.Body(ctx, f, func(err error) error { return b.fail("get", key, err) }), nil
}

// Stat is as in blobstore.Bucket. It flushes the object's directory: the one
// who renamed the object into it may not have got that far.
func (b *Bucket) Stat(ctx context.Context, key string) (blobstore.Info, error) {
	if err := check(ctx, key); err != nil {
		return blobstore.Info{}, b.fail("stat", key, err)
	}
	info, err := b.root.Lstat(key)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err == nil {
		err = b.makeDir(path.Dir(key))
	}
	if err == nil {
		err = b.syncDir(path.Dir(key))
	}
	if err != nil {
		return blobstore.Info{}, b.fail("stat", key, err)
	}
	return blobstore.Info{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil
}

// List is as in blobstore.Bucket. It holds the names of one directory per level
// in memory.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[blobstore.Info, error] {
	return func(yield func(blobstore.Info, error) bool) {
		if err := blobstore.CheckPrefix(prefix); err != nil {
			yield(blobstore.Info{}, b.fail("list", prefix, err))
			return
		}
		dir, _, found := cutLast(prefix, "/")
		if !found {
			dir = "."
		}
		err := b.walk(ctx, dir, prefix, func(info blobstore.Info) bool { return yield(info, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(blobstore.Info{}, b.fail("list", prefix, err))
		}
	}
}

var errStopped = errors.New("the caller stopped ranging")

// walk yields the objects below dir whose keys begin with prefix.
func (b *Bucket) walk(ctx context.Context, dir, prefix string, yield func(blobstore.Info) bool) error {
	entries, err := b.readDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return b.gone() // no such directory, or an object: nothing is below it
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		key := path.Join(dir, e.Name())
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case blobstore.CheckKey(key) != nil:
			continue // not ours
		case e.IsDir():
			below := key + "/"
			if !strings.HasPrefix(below, prefix) && !strings.HasPrefix(prefix, below) {
				continue
			}
			if err := b.walk(ctx, key, prefix, yield); err != nil {
				return err
			}
		case e.Type().IsRegular() && strings.HasPrefix(key, prefix):
			info, err := b.root.Lstat(key)
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted meanwhile
			}
			if err != nil {
				return err
			}
			if !yield(blobstore.Info{Key: key, Size: info.Size(), Modified: info.ModTime()}) {
				return errStopped
			}
		}
	}
	return nil
}

// Delete is as in blobstore.Bucket.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return b.fail("delete", key, err)
	}
	// Remove would take an empty directory, too.
	info, err := b.root.Lstat(key)
	if err == nil && !info.IsDir() {
		err = b.root.Remove(key)
	}
	// A file that is gone may have been removed by one who has not flushed yet.
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = b.syncDir(path.Dir(key))
	}
	if err = b.fail("delete", key, err); errors.Is(err, blobstore.ErrNotFound) {
		return nil
	}
	return err
}

func check(ctx context.Context, key string) error {
	return cmp.Or(blobstore.CheckKey(key), ctx.Err())
}

// cutLast is strings.Cut around the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// readDir returns the entries of dir in the order of the keys they stand for:
// those below "a" come after "a-b", because "/" comes after "-".
func (b *Bucket) readDir(dir string) ([]fs.DirEntry, error) {
	f, err := b.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	name := func(e fs.DirEntry) string {
		if e.IsDir() {
			return e.Name() + "/"
		}
		return e.Name()
	}
	slices.SortFunc(entries, func(x, y fs.DirEntry) int { return strings.Compare(name(x), name(y)) })
	return entries, nil
}
