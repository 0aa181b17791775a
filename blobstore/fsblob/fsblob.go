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

// Put implements blobstore.Bucket. It rejects a key that is a parent or a child of
// another.
func (b *Bucket) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	if err := check(ctx, key); err != nil {
		return b.mapError("put", key, err)
	}
	tmp := tmpDir + "/" + rand.Text()
	exact := streams.Exactly(src, size)
	err := b.write(tmp, streams.WithContext(ctx, exact))
	if err == nil {
		err = b.publish(tmp, key)
	}
	if err == nil {
		return nil
	}
	// If the file remains, the next Open removes it. After a rename it is gone.
	_ = b.root.Remove(tmp)
	if exact.Err() != nil { // the source failed, not the file system
		return fmt.Errorf("put %s: %w", key, exact.Err())
	}
	return b.mapError("put", key, err)
}

// write copies src to a new file and syncs it.
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

// publish renames a synced file to its key and makes that durable.
func (b *Bucket) publish(tmp, key string) error {
	dir := path.Dir(key)
	err := b.move(tmp, key)
	if errors.Is(err, fs.ErrNotExist) { // an operator removed directories
		b.forgetDirs()
		err = b.move(tmp, key)
	}
	if err != nil {
		return err
	}
	return b.syncDir(dir)
}

// move renames tmp to key and creates the directories of key.
func (b *Bucket) move(tmp, key string) error {
	if err := b.makeDir(path.Dir(key)); err != nil {
		return err
	}
	return b.root.Rename(tmp, key)
}

// Get implements blobstore.Bucket.
func (b *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := check(ctx, key); err != nil {
		return nil, b.mapError("get", key, err)
	}
	f, err := b.root.Open(key)
	if err != nil {
		return nil, b.mapError("get", key, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = f.Close()
		return nil, b.mapError("get", key, err)
	}
	return streams.Body(ctx, f, func(err error) error { return b.mapError("get", key, err) }), nil
}

// Stat implements blobstore.Bucket. It syncs the object's directory, because the
// writer that renamed the object may not have done so yet.
func (b *Bucket) Stat(ctx context.Context, key string) (blobstore.Info, error) {
	if err := check(ctx, key); err != nil {
		return blobstore.Info{}, b.mapError("stat", key, err)
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
		return blobstore.Info{}, b.mapError("stat", key, err)
	}
	return blobstore.Info{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil
}

// List implements blobstore.Bucket. It holds the names of one directory per level in
// memory.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[blobstore.Info, error] {
	return func(yield func(blobstore.Info, error) bool) {
		if err := blobstore.CheckPrefix(prefix); err != nil {
			yield(blobstore.Info{}, b.mapError("list", prefix, err))
			return
		}
		dir := path.Dir(prefix + "x") // the directory that the prefix ends in
		err := b.walk(ctx, dir, prefix, func(info blobstore.Info) bool { return yield(info, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(blobstore.Info{}, b.mapError("list", prefix, err))
		}
	}
}

var errStopped = errors.New("the caller stopped ranging")

// walk yields the objects below dir whose keys begin with prefix.
func (b *Bucket) walk(ctx context.Context, dir, prefix string, yield func(blobstore.Info) bool) error {
	entries, err := b.readDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return b.checkRoot() // no such directory, or an object
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
			continue // not an object
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
				continue // deleted in the meantime
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

// Delete implements blobstore.Bucket.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return b.mapError("delete", key, err)
	}
	// Remove would also delete an empty directory.
	info, err := b.root.Lstat(key)
	if err == nil && !info.IsDir() {
		err = b.root.Remove(key)
	}
	// Another process may have removed the file and not synced the directory yet.
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = b.syncDir(path.Dir(key))
	}
	if err = b.mapError("delete", key, err); errors.Is(err, blobstore.ErrNotFound) {
		return nil
	}
	return err
}

func check(ctx context.Context, key string) error {
	return cmp.Or(blobstore.CheckKey(key), ctx.Err())
}

// readDir returns the entries of dir in key order: the entries below "a" sort
// after "a-b", because "/" sorts after "-".
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
