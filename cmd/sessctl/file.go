package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/internal/hint"
)

// A sessionFile is a session file, read.
type sessionFile struct {
	*core.File
	name    string // as the user wrote it
	data    []byte
	dialect core.Dialect
}

// readFile reads the session file at name, or standard input for "-". A file
// that grows meanwhile is read as it was when it was opened: its last line may
// then be half a line, which is reported like any that is no entry.
func (a *app) readFile(ctx context.Context, name string) (*sessionFile, error) {
	data, err := a.readBytes(ctx, name)
	if err != nil {
		return nil, err
	}
	f, d, err := dialect.Read("", data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(name), err)
	}
	return &sessionFile{File: f, name: name, data: data, dialect: d}, nil
}

func (a *app) readBytes(ctx context.Context, name string) ([]byte, error) {
	if name == "-" {
		return a.readLimited(name, a.input(ctx), -1)
	}
	f, size, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return a.readLimited(name, f, size)
}

// openFile opens name for reading once. Its size is -1 where it is no plain
// file, so that only reading tells.
func openFile(name string) (f *os.File, size int64, err error) {
	f, err = os.Open(name)
	if err != nil {
		return nil, 0, noFile(name, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = isDirectory(name)
	case info.Mode().IsRegular():
		return f, info.Size(), nil
	default:
		return f, -1, nil
	}
	_ = f.Close()
	return nil, 0, err
}

// readLimited reads size bytes of r, or all where size is -1.
func (a *app) readLimited(name string, r io.Reader, size int64) ([]byte, error) {
	if size > a.maxFile {
		return nil, a.tooLarge(name)
	}
	if size < 0 {
		size = a.maxFile + 1
	}
	data, err := io.ReadAll(io.LimitReader(r, size))
	switch {
	case err != nil && errors.Is(err, context.Canceled):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s: %w", title(name), err)
	case int64(len(data)) > a.maxFile:
		return nil, a.tooLarge(name)
	}
	return data, nil
}

func (a *app) tooLarge(name string) error {
	return hintf(fmt.Errorf("%s is larger than the %s that are read in one piece: %w", title(name), bytesText(a.maxFile), core.ErrTooLarge),
		"import it, then read it from the log: sessctl import %s", name)
}

// title is what a file is called in messages.
func title(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// noteSkipped tells people which lines of the file are no entries.
func (a *app) noteSkipped(f *sessionFile) {
	for i, bad := range f.Skipped {
		if i == 5 {
			a.notef("%s: and %d more such lines, see: sessctl info -o json %s", title(f.name), len(f.Skipped)-i, f.name)
			return
		}
		a.notef("%s: line %d is no entry and is left out: %s", title(f.name), bad.Line, bad.Error)
	}
}

// view returns the leaf that --leaf and --head name in a file.
func (f *sessionFile) view(v viewFlags) (core.Leaf, error) {
	if v.head != "" && v.head != core.MainHead {
		return core.Leaf{}, fmt.Errorf("a file has no head but %.128q, not %.128q%w", core.MainHead, v.head, hint.Silent(core.ErrNotFound))
	}
	switch v.leaf {
	case "":
		return f.dialect.Leaf(f.Entries), nil
	case nullLeaf:
		return core.NoLeaf, nil
	}
	return core.LeafAt(v.leaf), nil
}
