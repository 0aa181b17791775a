package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// errExist: another file is in the place already.
var errExist = fs.ErrExist

// A draft is a file on its way to its place. It is written beside it, with
// rights for its owner alone, and is either kept or discarded.
type draft struct {
	*os.File
	path string // its place
}

// newDraft begins a file that is meant for path.
func newDraft(path string) (*draft, error) {
	// Agents look for *.jsonl: they do not see a draft.
	f, err := os.CreateTemp(filepath.Dir(path), ".sessctl-*.tmp")
	if err != nil {
		return nil, err
	}
	return &draft{f, path}, nil
}

// keep puts the file in its place. Once it returns nil, the file outlives a
// crash of the host. Without replace, a file that is there already is left
// alone, and the error is fs.ErrExist.
func (d *draft) keep(replace bool) error {
	defer d.discard()
	if err := d.Sync(); err != nil {
		return err
	}
	if err := d.Close(); err != nil {
		return err
	}
	if err := d.place(replace); err != nil {
		return err
	}
	return syncDir(filepath.Dir(d.path))
}

func (d *draft) place(replace bool) error {
	if info, err := os.Lstat(d.path); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is there and is no plain file%w", d.path, silent{errExist})
		}
		if !replace {
			return fmt.Errorf("%s is there already%w", d.path, silent{errExist})
		}
	}
	if replace {
		return os.Rename(d.Name(), d.path)
	}
	// A link is never made over a file; not all file systems have links.
	err := os.Link(d.Name(), d.path)
	if errors.Is(err, errExist) {
		return fmt.Errorf("%s is there already%w", d.path, silent{errExist})
	}
	if err != nil {
		return os.Rename(d.Name(), d.path)
	}
	return nil
}

// discard gives the draft up. What was kept stays.
func (d *draft) discard() {
	_ = d.Close()
	_ = os.Remove(d.Name())
}

// writeFile makes path hold what write writes, or leaves it as it is.
func writeFile(path string, replace bool, write func(io.Writer) error) error {
	d, err := newDraft(path)
	if err != nil {
		return err
	}
	defer d.discard()
	w := bufio.NewWriterSize(d, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return d.keep(replace)
}

// makeDir makes dir and what is missing above it, durably.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is no directory%w", dir, silent{errExist})
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, errExist) {
		return err
	}
	return syncDir(parent)
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // has no such call, and needs none
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
