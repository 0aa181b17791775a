package fsblob

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/sesslog/sesslog/blobstore"
)

// mapError maps an error of the file system to one of blobstore. Those that remain
// unmapped, such as a missing permission, need an operator.
func (b *Bucket) mapError(op, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, blobstore.ErrBadKey):
		return fmt.Errorf("%s: %w", op, err) // err names the key, shortened
	case errors.Is(err, blobstore.ErrUnavailable):
		return fmt.Errorf("%s %s: %w", op, key, err)
	case op == "put" && isAny(err, syscall.ENOTDIR, syscall.EISDIR, syscall.EEXIST, syscall.ENOTEMPTY):
		return fmt.Errorf("%s %s: conflicts with an object above or below this key: %w", op, key, blobstore.ErrBadKey)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if gone := b.checkRoot(); gone != nil {
			return fmt.Errorf("%s %s: %w", op, key, gone)
		}
		if op == "put" { // a directory was removed during the put
			return fmt.Errorf("%s %s: %w: %w", op, key, blobstore.ErrUnavailable, err)
		}
		return fmt.Errorf("%s %s: %w", op, key, blobstore.ErrNotFound)
	case isAny(err, syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO, syscall.ESTALE):
		return fmt.Errorf("%s %s: %w: %w", op, key, blobstore.ErrUnavailable, err)
	default:
		return fmt.Errorf("%s %s: %w", op, key, err)
	}
}

// checkRoot returns ErrUnavailable if the blob directory itself was removed: then a
// missing file does not mean a missing object.
func (b *Bucket) checkRoot() error {
	if _, err := b.root.Lstat(tmpDir); err != nil {
		return fmt.Errorf("%w: the blob directory was removed: %w", blobstore.ErrUnavailable, err)
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
