package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sesslog/sesslog/internal/hint"
)

// A Draft is a temporary file in the directory of its target, with mode 0600. It
// ends with Commit or Discard.
type Draft struct {
	*os.File
	path string
}

// NewDraft creates a temporary file for path.
func NewDraft(path string) (*Draft, error) {
	// Agents look for *.jsonl, so they do not see a draft.
	f, err := os.CreateTemp(filepath.Dir(path), ".sessctl-*.tmp")
	if err != nil {
		return nil, err
	}
	return &Draft{f, path}, nil
}

// Commit renames the draft to its path. After Commit returns nil, the file
// survives a crash of the host. Without replace, an existing file stays and the
// error is fs.ErrExist. Commit never replaces anything but a regular file.
func (d *Draft) Commit(replace bool) error {
	defer d.Discard()
	if err := d.Sync(); err != nil {
		return err
	}
	if err := d.Close(); err != nil {
		return err
	}
	if err := d.rename(replace); err != nil {
		return err
	}
	return syncDir(filepath.Dir(d.path))
}

func (d *Draft) rename(replace bool) error {
	if info, err := os.Lstat(d.path); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s exists and is not a regular file%w", d.path, hint.Silent(fs.ErrExist))
		}
		if !replace {
			return exists(d.path)
		}
	}
	if replace {
		return os.Rename(d.Name(), d.path)
	}
	// Link never replaces a file, but not all file systems support it.
	err := os.Link(d.Name(), d.path)
	if errors.Is(err, fs.ErrExist) {
		return exists(d.path)
	}
	if err != nil {
		return os.Rename(d.Name(), d.path)
	}
	return nil
}

func exists(path string) error {
	return fmt.Errorf("%s already exists%w", path, hint.Silent(fs.ErrExist))
}

// Discard removes the draft. It does nothing after a successful Commit.
func (d *Draft) Discard() {
	_ = d.Close()
	_ = os.Remove(d.Name())
}

// Write creates the file at path with the output of write. If it fails, path is
// unchanged. The meaning of replace is that of Commit.
func Write(path string, replace bool, write func(io.Writer) error) error {
	d, err := NewDraft(path)
	if err != nil {
		return err
	}
	defer d.Discard()
	w := bufio.NewWriterSize(d, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return d.Commit(replace)
}

// WriteBytes is Write for bytes in memory. It replaces an existing file.
func WriteBytes(path string, b []byte) error {
	return Write(path, true, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// MkdirAll creates dir and its missing parents durably, with mode 0700. If a file
// is in the way, the error is fs.ErrExist.
func MkdirAll(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory%w", dir, hint.Silent(fs.ErrExist))
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// syncDir makes the directory entries of dir durable.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // neither supported nor needed
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
