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
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/omp"
)

// An agentFile is a file that an agent can go on from, on its way to its place.
type agentFile struct {
	*draft
	path    string
	cursor  core.Cursor
	dialect core.Dialect // nil for one that this program does not know
	old     fs.FileInfo  // of what is in its place now, nil for nothing
}

// fetchFile writes the session as a file of its agent beside its place, where it
// works in w. With dry it is written where nobody looks, and its place stays as
// it is, also where that is not there yet.
func (a *app) fetchFile(ctx context.Context, node *api.Client, id core.SessionID, f resumeFlags, w workplace) (*agentFile, error) {
	body, place, err := node.File(ctx, string(id), f.head)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	file := &agentFile{cursor: place.Cursor}
	if file.dialect, err = a.dialectHere(f.dialect); err != nil {
		file.dialect = nil // a node may know one that this program does not
	}
	r := bufio.NewReaderSize(answer{body}, 1<<20)
	top, err := file.readTop(r, w, &place)
	if err != nil {
		return nil, err
	}
	dir, err := a.agentDir(f.dialect, f.dir, place, w)
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

// readTop reads as much of a file as has its header, and returns it with that
// one's directory in place of its own. place is then where the agent of this
// host looks for it.
func (f *agentFile) readTop(r *bufio.Reader, w workplace, place *api.Place) ([]byte, error) {
	mover, ok := f.dialect.(core.Mover)
	if !ok {
		return nil, nil
	}
	var top []byte
	for range 2 { // omp has its title slot in front
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		plain := bytes.TrimSuffix(line, []byte("\n"))
		if _, bad := f.dialect.Header(plain); bad == nil {
			if w.CWD != w.From {
				line = append(mover.InCWD(plain, w.CWD), line[len(plain):]...)
			}
			h, err := f.dialect.Header(bytes.TrimSuffix(line, []byte("\n")))
			if err != nil {
				return nil, err
			}
			place.Dir, place.Name = f.dialect.FileName(h)
			return append(top, line...), nil
		}
		top = append(top, line...)
	}
	return top, nil
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
		return "", hintf(fmt.Errorf("%s was written to meanwhile%w", f.path, silent{fs.ErrExist}), "end the agent that works with it and try again")
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
