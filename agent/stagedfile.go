package agent

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
	"strings"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/omp"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/redact"
	"github.com/sesslog/sesslog/internal/atomicfile"
	"github.com/sesslog/sesslog/internal/hint"
)

// A stagedFile is an agent's session file, written as a draft beside its path.
type stagedFile struct {
	*atomicfile.Draft
	path    string
	cursor  core.Cursor
	agent   string       // the session's dialect
	dialect core.Dialect // nil if this program does not know it
	workdir Workdir
	old     fs.FileInfo // of the file at path now; nil if there is none

	base       string      // directory below which companions are
	companions []companion // of an agent that keeps several files for a session
}

// stage fetches the session as a file of its agent and writes it as a draft. With
// o.dryRun the draft is in the temporary directory, and no directory is created.
func (r *resumer) stage(ctx context.Context) (*stagedFile, error) {
	body, place, err := r.node.File(ctx, string(r.id), r.o.Head)
	if errors.Is(err, core.ErrNotFound) {
		return nil, hint.With(err, "list its heads with: sessctl heads %s", r.id)
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	file := &stagedFile{cursor: place.Cursor, agent: place.Dialect}
	if file.agent == "" { // the node is of an older version
		info, err := r.node.Info(ctx, string(r.id))
		if err != nil {
			return nil, err
		}
		file.agent = info.Log.Dialect
	}
	if file.agent == opencodeName {
		return nil, errReplayed
	}
	if file.dialect, err = r.host.dialect(file.agent); err != nil {
		file.dialect = nil // the node may know more dialects than this program
	}
	in := bufio.NewReaderSize(nodeBody{body}, 1<<20)
	var top []byte
	if b, ok := file.dialect.(bundle.Bundler); ok {
		err = r.unpack(ctx, b, file, &place)
	} else {
		top, err = r.localize(ctx, file, in, &place)
	}
	if err != nil {
		return nil, err
	}
	dir, err := r.host.fileDir(file.agent, r.o.Dir, place, file.workdir)
	if err != nil {
		return nil, err
	}
	if file.path, err = filepath.Abs(filepath.Join(dir, place.Name)); err != nil {
		return nil, err
	}
	if file.old, err = statRegular(file.path); err != nil {
		return nil, err
	}
	if err := file.write(io.MultiReader(bytes.NewReader(top), in), r.o.DryRun); err != nil {
		return nil, err
	}
	return file, nil
}

// localize chooses the working directory, and sets place to where the agent then
// looks for the file. It consumes the file up to its header, and returns that part
// with the new working directory.
func (r *resumer) localize(ctx context.Context, f *stagedFile, in *bufio.Reader, place *client.Place) ([]byte, error) {
	relocator, ok := f.dialect.(optional.Relocator)
	if !ok {
		info, err := r.node.Info(ctx, string(r.id))
		if err == nil {
			f.workdir, err = r.host.workdir(r.o.CWD, info.CWD)
		}
		return nil, err
	}
	above, header, end, err := f.readTop(in)
	if err != nil {
		return nil, err
	}
	h, err := f.dialect.Header(header)
	if err != nil { // not a session that this program can read
		f.workdir, err = r.host.workdir(r.o.CWD, "")
		return slices.Concat(above, header, end), err
	}
	if bytes.Equal(relocator.WithCWD(header, ""), header) {
		h.CWD = "" // it belongs to no host
	}
	if f.workdir, err = r.host.workdir(r.o.CWD, h.CWD); err != nil {
		return nil, err
	}
	if f.workdir.CWD != h.CWD {
		header = relocator.WithCWD(header, f.workdir.CWD)
		if h, err = f.dialect.Header(header); err != nil {
			return nil, err
		}
	}
	place.Dir, place.Name = f.dialect.FileName(h)
	return slices.Concat(above, header, end), nil
}

// readTop reads the file up to its header. omp writes a title slot above it.
func (f *stagedFile) readTop(r *bufio.Reader) (above, header, end []byte, err error) {
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

// dialect returns the dialect called name, with the directories of this host that
// its agent's file names depend on.
func (h *Host) dialect(name string) (core.Dialect, error) {
	if name == "omp" {
		return omp.Dialect{Home: realPath(h.Env("HOME")), Temp: realPath(os.TempDir())}, nil
	}
	return dialect.Named(name)
}

// statRegular returns nil if nothing exists at path, and an error if something
// other than a regular file does.
func statRegular(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s exists and is not a regular file%w", path, hint.Silent(fs.ErrExist))
	}
	return info, nil
}

// write writes the draft, with the mode of the file that it replaces.
func (f *stagedFile) write(r io.Reader, dryRun bool) (err error) {
	if dryRun {
		f.Draft, err = atomicfile.NewDraft(filepath.Join(os.TempDir(), filepath.Base(f.path)))
	} else if err = atomicfile.MkdirAll(filepath.Dir(f.path)); err == nil {
		f.Draft, err = atomicfile.NewDraft(f.path)
	}
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f.Draft, 1<<20)
	if err = f.copyUnmasked(w, r); err == nil {
		err = w.Flush()
	}
	if err == nil && f.old != nil {
		err = f.Chmod(f.old.Mode().Perm())
	}
	if err != nil {
		f.Discard()
	}
	return err
}

// copyUnmasked copies r with the secrets of the file that is there now.
func (f *stagedFile) copyUnmasked(w io.Writer, r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<20)
	var u *unmasker
	for {
		line, err := in.ReadBytes('\n')
		if u == nil && f.old != nil && redact.Masks(line) != nil {
			old, _ := os.ReadFile(f.path) // without it, the masks stay
			u = newUnmasker(old)
		}
		if u != nil {
			line = u.lines(line)
		}
		if _, werr := w.Write(line); werr != nil {
			return werr
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// put renames the draft to its path. It refuses to replace a file that has changed
// since it was examined. With aside, the old file keeps another name, which is
// returned.
func (f *stagedFile) put(aside bool, now time.Time) (string, error) {
	defer f.Discard()
	if f.old == nil {
		return "", f.Commit(false)
	}
	info, err := statRegular(f.path)
	if err != nil {
		return "", err
	}
	if info == nil || !os.SameFile(info, f.old) || info.Size() != f.old.Size() || !info.ModTime().Equal(f.old.ModTime()) {
		return "", errChanged(f.path)
	}
	name := ""
	if aside {
		name = f.path + "." + now.UTC().Format("20060102T150405.000000000Z") + ".aside"
		if err := os.Link(f.path, name); err != nil {
			if err := os.Rename(f.path, name); err != nil { // not all file systems support links
				return "", err
			}
		}
	}
	return name, f.Commit(true)
}

// errChanged says that the file at path was written to after it was examined.
func errChanged(path string) error {
	return hint.With(fmt.Errorf("%s was written to in the meantime%w", path, hint.Silent(fs.ErrExist)), "end the agent that uses it and try again")
}

// fileDir returns the directory for the file. It rejects names from the node that
// would leave the agent's directory.
func (h *Host) fileDir(dialect, dir string, place client.Place, w Workdir) (string, error) {
	if place.Name != filepath.Base(place.Name) || !filepath.IsLocal(place.Name) || place.Name == "." || strings.ContainsAny(place.Name, `/\`) {
		return "", fmt.Errorf("the node returned %q, which is not a file name%w", place.Name, hint.Silent(core.ErrInvalid))
	}
	if dir != "" {
		return dir, nil
	}
	root, flat, err := h.sessionsDir(dialect, w.local())
	if err != nil {
		return "", err
	}
	if place.Dir == "" || flat {
		return root, nil
	}
	if !filepath.IsLocal(place.Dir) {
		return "", fmt.Errorf("the node returned the directory %q, which is not below the agent's%w", place.Dir, hint.Silent(core.ErrInvalid))
	}
	return filepath.Join(root, place.Dir), nil
}

// A nodeBody is the body of a node's response: read errors wrap
// core.ErrUnavailable, which tells them from errors of the destination.
type nodeBody struct{ io.Reader }

func (r nodeBody) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("the node's response ended early: %w%w", err, hint.Silent(core.ErrUnavailable))
	}
	return n, err
}
