package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/internal/hint"
)

// A SessionFile is a parsed session file.
type SessionFile struct {
	*core.File
	name  string // as the user wrote it
	Data  []byte
	Rules core.Dialect // of its agent
}

// readFile reads the session file name, or standard input for "-". Of a file that
// is growing, it reads the size at opening; an incomplete last line is reported as
// skipped.
func (a *App) readFile(ctx context.Context, name string) (*SessionFile, error) {
	data, err := a.ReadBytes(ctx, name)
	if err != nil {
		return nil, err
	}
	f, d, err := dialect.Read("", data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", FileTitle(name), err)
	}
	return &SessionFile{File: f, name: name, Data: data, Rules: d}, nil
}

// ReadBytes reads the file name, or standard input for "-", up to MaxFile bytes.
func (a *App) ReadBytes(ctx context.Context, name string) ([]byte, error) {
	if name == "-" {
		return a.readLimited(name, a.Input(ctx), -1)
	}
	f, size, err := OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return a.readLimited(name, f, size)
}

// OpenFile opens a file and returns its size, or -1 if it is not a regular file.
func OpenFile(name string) (f *os.File, size int64, err error) {
	f, err = os.Open(name)
	if err != nil {
		return nil, 0, FileError(name, err)
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

// readLimited reads size bytes of r, or all of it if size is -1.
func (a *App) readLimited(name string, r io.Reader, size int64) ([]byte, error) {
	if size > a.MaxFile {
		return nil, a.tooLarge(name)
	}
	data, err := readUpTo(r, size, a.MaxFile+1)
	switch {
	case err != nil && errors.Is(err, context.Canceled):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s: %w", FileTitle(name), err)
	case int64(len(data)) > a.MaxFile:
		return nil, a.tooLarge(name)
	}
	return data, nil
}

// readUpTo reads size bytes of r, fewer if it ends before, or up to most if size is -1.
func readUpTo(r io.Reader, size, most int64) ([]byte, error) {
	if size < 0 {
		return io.ReadAll(io.LimitReader(r, most))
	}
	data := make([]byte, size)
	if size >= 1<<20 {
		onHugePages(data)
	}
	n, err := io.ReadFull(r, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return data[:n], err
}

func (a *App) tooLarge(name string) error {
	return Hintf(fmt.Errorf("%s is larger than %s: %w", FileTitle(name), Bytes(a.MaxFile), core.ErrTooLarge),
		"import it, then read it from the log: sessctl import %s", name)
}

// FileTitle returns the name of a file in messages.
func FileTitle(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// NoteSkipped prints which lines of f are not entries.
func (a *App) NoteSkipped(f *SessionFile) {
	for i, bad := range f.Skipped {
		if i == 5 {
			a.Notef("%s: and %d more such lines, see: sessctl info -o json %s", FileTitle(f.name), len(f.Skipped)-i, f.name)
			return
		}
		a.Notef("%s: line %d is not an entry and is skipped: %s", FileTitle(f.name), bad.Line, bad.Error)
	}
}

// HasEntry reports whether es has an entry with that id.
func HasEntry(es []core.Entry, id string) bool {
	return slices.ContainsFunc(es, func(e core.Entry) bool { return e.ID == id })
}

// View returns the leaf that v names in f.
func (f *SessionFile) View(v ViewFlags) (core.Leaf, error) {
	if v.head != "" && v.head != core.MainHead {
		return core.Leaf{}, fmt.Errorf("a file has only the head %.128q, not %.128q%w", core.MainHead, v.head, hint.Silent(core.ErrNotFound))
	}
	switch v.leaf {
	case "":
		leaf := f.Rules.Leaf(f.Entries)
		if id, named := leaf.ID(); named && !HasEntry(f.Entries, id) { // Operator's leaf entries can name missing entries
			leaf = core.NoLeaf
		}
		return leaf, nil
	case NullLeaf:
		return core.NoLeaf, nil
	}
	return core.LeafAt(v.leaf), nil
}
