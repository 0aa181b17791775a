package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/omp"
)

// An agentFile is a file that an agent can go on from, on its way to its place.
type agentFile struct {
	*draft
	session core.SessionID
	path    string
	cursor  core.Cursor
	agent   string       // the session's dialect
	dialect core.Dialect // nil for one that this program does not know
	where   workplace
	old     fs.FileInfo  // of what is in its place now, nil for nothing
	claim   *api.Claimed // under which it was put in its place
}

// fetchFile writes the session as a file of its agent beside its place. With dry
// it is written where nobody looks, and its place stays as it is, also where that
// is not there yet.
func (a *app) fetchFile(ctx context.Context, node *api.Client, id core.SessionID, f resumeFlags) (*agentFile, error) {
	body, place, err := node.File(ctx, string(id), f.head)
	if errors.Is(err, core.ErrNotFound) {
		return nil, hintf(err, "see which heads it has with: sessctl heads %s", id)
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	file := &agentFile{session: id, cursor: place.Cursor, agent: place.Dialect}
	if file.agent == "" { // an older node
		info, err := node.Info(ctx, string(id))
		if err != nil {
			return nil, err
		}
		file.agent = info.Log.Dialect
	}
	if file.dialect, err = a.dialectHere(file.agent); err != nil {
		file.dialect = nil // a node may know one that this program does not
	}
	r := bufio.NewReaderSize(answer{body}, 1<<20)
	top, err := a.settle(ctx, node, id, file, r, f.cwd, &place)
	if err != nil {
		return nil, err
	}
	dir, err := a.agentDir(file.agent, f.dir, place, file.where)
	if err != nil {
		return nil, err
	}
	if file.path, err = filepath.Abs(filepath.Join(dir, place.Name)); err != nil {
		return nil, err
	}
	if file.old, err = lookAt(file.path); err != nil {
		return nil, err
	}
	if err := file.write(io.MultiReader(bytes.NewReader(top), r), f.dry); err != nil {
		return nil, err
	}
	return file, nil
}

// settle finds out where the session goes on, and sets place to where the agent
// then looks for it. It reads as much of the file as has its header, and returns
// it with that directory in place of the one there.
func (a *app) settle(ctx context.Context, node *api.Client, id core.SessionID, f *agentFile, r *bufio.Reader, given string, place *api.Place) ([]byte, error) {
	if _, ok := f.dialect.(core.Relocator); !ok {
		info, err := node.Info(ctx, string(id))
		if err == nil {
			f.where, err = a.workplace(given, info.CWD)
		}
		return nil, err
	}
	above, header, end, err := f.top(r)
	if err != nil {
		return nil, err
	}
	h, err := f.dialect.Header(header)
	if err != nil { // no session as this program knows them
		f.where, err = a.workplace(given, "")
		return slices.Concat(above, header, end), err
	}
	mover := f.dialect.(core.Relocator)
	if bytes.Equal(mover.WithCWD(header, ""), header) {
		h.CWD = "" // it is none of a host's
	}
	if f.where, err = a.workplace(given, h.CWD); err != nil {
		return nil, err
	}
	if f.where.CWD != h.CWD {
		header = mover.WithCWD(header, f.where.CWD)
		if h, err = f.dialect.Header(header); err != nil {
			return nil, err
		}
	}
	place.Dir, place.Name = f.dialect.FileName(h)
	return slices.Concat(above, header, end), nil
}

// top reads the file as far as its header: omp has its title slot above it.
func (f *agentFile) top(r *bufio.Reader) (above, header, end []byte, err error) {
	for range 2 {
		above = append(above, append(header, end...)...)
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, nil, nil, err
		}
		header = bytes.TrimSuffix(line, []byte("\n"))
		end = line[len(header):]
		if _, err := f.dialect.Header(header); err == nil {
			break
		}
	}
	return above, header, end, nil
}

// dialectHere is the dialect called name, with what its agent's places depend on
// on this host.
func (a *app) dialectHere(name string) (core.Dialect, error) {
	if name == "omp" {
		return omp.Dialect{Home: realPath(a.env("HOME")), Temp: realPath(os.TempDir())}, nil
	}
	return dialect.Named(name)
}

// realPath is path without links, or path where that cannot be told.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// lookAt returns what is at path, nil for nothing; an error for what is no
// plain file.
func lookAt(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is there already and is no plain file%w", path, silent{fs.ErrExist})
	}
	return info, nil
}

// write writes the draft.
func (f *agentFile) write(r io.Reader, dry bool) (err error) {
	if dry {
		f.draft, err = newDraft(filepath.Join(os.TempDir(), filepath.Base(f.path)))
	} else if err = makeDir(filepath.Dir(f.path)); err == nil {
		f.draft, err = newDraft(f.path)
	}
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f.draft, 1<<20)
	if _, err = io.Copy(w, r); err == nil {
		err = w.Flush()
	}
	if err == nil && f.old != nil {
		err = f.Chmod(f.old.Mode().Perm())
	}
	if err != nil {
		f.discard()
	}
	return err
}

// put puts the file in its place. What is there is replaced, unless it has
// changed since it was looked at; with aside it stays under another name, which
// is returned.
func (f *agentFile) put(aside bool, now time.Time) (string, error) {
	defer f.discard()
	if f.old == nil {
		return "", f.keep(false)
	}
	info, err := lookAt(f.path)
	if err != nil {
		return "", err
	}
	if info == nil || !os.SameFile(info, f.old) || info.Size() != f.old.Size() || !info.ModTime().Equal(f.old.ModTime()) {
		return "", changed(f.path)
	}
	name := ""
	if aside {
		name = f.path + "." + now.UTC().Format("20060102T150405.000000000Z") + ".aside"
		if err := os.Link(f.path, name); err != nil {
			if err := os.Rename(f.path, name); err != nil { // not all file systems have links
				return "", err
			}
		}
	}
	return name, f.keep(true)
}

// agentDir returns where the file goes. What the node says of it is checked:
// it names a file in that place and none elsewhere.
func (a *app) agentDir(dialect, dir string, place api.Place, w workplace) (string, error) {
	if place.Name != filepath.Base(place.Name) || !filepath.IsLocal(place.Name) || place.Name == "." || hasSeparator(place.Name) {
		return "", fmt.Errorf("the node says that the file is called %q, which is no file's name%w", place.Name, silent{core.ErrInvalid})
	}
	if dir != "" {
		return dir, nil
	}
	root, flat, err := a.agentRoot(dialect, w.here())
	if err != nil {
		return "", err
	}
	if place.Dir == "" || flat {
		return root, nil
	}
	if !filepath.IsLocal(place.Dir) {
		return "", fmt.Errorf("the node says that the file is in %q, which is not below the agent's directory%w", place.Dir, silent{core.ErrInvalid})
	}
	return filepath.Join(root, place.Dir), nil
}
