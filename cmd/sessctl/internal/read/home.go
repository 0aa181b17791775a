package read

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect"
)

// exportHome writes the files of a session below f.home.
func (a app) exportHome(ctx context.Context, arg string, f exportFlags) error {
	file, rules, err := a.packed(ctx, arg)
	if err != nil {
		return err
	}
	bundler, ok := rules.(bundle.Bundler)
	if !ok {
		return cli.Hintf(cli.Usagef("--home: a session of %s is one file", rules.Name()), "name the file: sessctl export %s --out FILE", arg)
	}
	cwd := cmp.Or(f.cwd, file.Header.CWD)
	if f.cwd != "" || filepath.IsAbs(cwd) { // it need not exist
		if cwd, err = agent.RealDir(cwd); err != nil {
			return err
		}
	}
	files, err := bundler.Unpack(file.Header, file.Entries, cwd)
	if err != nil {
		return err
	}
	sum := rules.Summary(file.Header, file.Entries)
	changed, _ := time.Parse(time.RFC3339, sum.LastChange()) // agents continue the file that was changed last
	return a.writeHome(f, files, changed)
}

// packed returns the session that arg names with all its files.
func (a app) packed(ctx context.Context, arg string) (*core.File, core.Dialect, error) {
	src, err := a.Find(ctx, arg)
	if err != nil {
		return nil, nil, err
	}
	if src.File != nil {
		return src.File.File, src.File.Rules, nil
	}
	body, err := src.Node.ExportPacked(ctx, src.ID)
	if err != nil {
		return nil, nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(cli.Answer{Reader: body})
	if err != nil {
		return nil, nil, err
	}
	return dialect.Read("", data)
}

// writeHome writes files below f.home, all or, if one of them may not be
// replaced, none. Symbolic links that lead out of f.home are not followed.
func (a app) writeHome(f exportFlags, files []bundle.File, modified time.Time) error {
	if err := os.MkdirAll(f.home, 0o700); err != nil {
		return cli.FileError(f.home, err)
	}
	root, err := os.OpenRoot(f.home)
	if err != nil {
		return cli.FileError(f.home, err)
	}
	defer root.Close()
	same := make([]bool, len(files))
	for i, file := range files {
		if err := bundle.CheckPath(file.Path); err != nil {
			return err
		}
		if same[i], err = isThere(root, file, f.Force()); err != nil {
			return err
		}
	}
	for i, file := range files {
		if !same[i] {
			if err := writeBelow(root, file, modified); err != nil {
				return cli.FileError(filepath.Join(f.home, file.Path), err)
			}
		}
		if err := a.printWritten(filepath.Join(f.home, filepath.FromSlash(file.Path)), len(file.Data)); err != nil {
			return err
		}
	}
	return nil
}

func (a app) printWritten(path string, size int) error {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	out := struct {
		Path  string `json:"path"`
		Bytes int    `json:"bytes"`
	}{path, size}
	return a.Print(out, func() error { return a.Printf("%s  %s", cli.Plain(path), cli.Bytes(int64(size))) })
}

// isThere reports whether a file exists that holds all of it, and perhaps more: the
// agent continued it, or another session needs only its beginning. A file that is
// the beginning of it is replaced. Without force, one with different content is an error.
func isThere(root *os.Root, file bundle.File, force bool) (bool, error) {
	path := filepath.Join(root.Name(), filepath.FromSlash(file.Path))
	old, err := root.ReadFile(file.Path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, cli.FileError(path, err)
	case bytes.HasPrefix(old, file.Data):
		return true, nil
	case force || bytes.HasPrefix(file.Data, old):
		return false, nil
	}
	return false, cli.Hintf(fmt.Errorf("%s exists with different content: %w", path, core.ErrConflict),
		"replace it with --force, or name another directory")
}

// writeBelow writes a file and its directories. It appears whole or not at all.
func writeBelow(root *os.Root, file bundle.File, modified time.Time) error {
	if err := root.MkdirAll(filepath.Dir(file.Path), 0o755); err != nil {
		return err
	}
	draft := file.Path + ".sesslog-draft"
	f, err := root.OpenFile(draft, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(file.Data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil && !modified.IsZero() {
		err = root.Chtimes(draft, modified, modified)
	}
	if err == nil {
		err = root.Rename(draft, file.Path)
	}
	if err != nil {
		_ = root.Remove(draft)
	}
	return err
}
