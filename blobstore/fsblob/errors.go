package fsblob

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/sesslog/sesslog/blobstore"
)

// fail turns what the file system says about a key into an error of blobstore.
// What is left as it is, such as a missing permission, waiting does not mend.
func (b *Bucket) fail(op, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, blobstore.ErrBadKey):
		return fmt.Errorf("%s: %w", op, err) // it tells the key, cut to a bearable length
	case errors.Is(err, blobstore.ErrUnavailable):
		return fmt.Errorf("%s %s: %w", op, key, err)
	case op == "put" && isAny(err, syscall.ENOTDIR, syscall.EISDIR, syscall.EEXIST, syscall.ENOTEMPTY):
		return fmt.Errorf("%s %s: there is an object on the way or below: %w", op, key, blobstore.ErrBadKey)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if gone := b.gone(); gone != nil {
			return fmt.Errorf("%s %s: %w", op, key, gone)
		}
		if op == "put" { // directories vanish under it
			return fmt.Errorf("%s %s: %w: %w", op, key, blobstore.ErrUnavailable, err)
		}
		return fmt.Errorf("%s %s: %w", op, key, blobstore.ErrNotFound)
	case isAny(err, syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO, syscall.ESTALE):
		return fmt.Errorf("%s %s: %w: %w", op, key, blobstore.ErrUnavailable, err)
	default:
		return fmt.Errorf("%s %s: %w", op, key, err)
	}
}

// gone returns ErrUnavailable when the directory itself was removed under us:
// then that a file is missing in it means nothing.
func (b *Bucket) gone() error {
	if _, err := b.root.Lstat(tmpDir); err != nil {
		return fmt.Errorf("%w: the blob directory is gone: %w", blobstore.ErrUnavailable, err)
	}
	return nil
}

func isAny(err error, errnos ...syscall.Errno) bool {
	for _, errno := range errnos {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}
