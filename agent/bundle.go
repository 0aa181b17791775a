package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/redact"
	"github.com/sesslog/sesslog/internal/atomicfile"
	"github.com/sesslog/sesslog/internal/hint"
)

// A companion is a file of a session beside the one that the agent opens.
type companion struct {
	path string
	data []byte
}

// unpack chooses the working directory of a session of several files, and sets
// place to where the agent then looks for the main one. It keeps the others for
// putCompanions.
func (r *resumer) unpack(ctx context.Context, b bundle.Bundler, f *stagedFile, place *client.Place) error {
	body, err := r.node.ExportPacked(ctx, string(r.id))
	if err != nil {
		return err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(nodeBody{body}, r.host.MaxFile+1))
	if err != nil {
		return err
	}
	if int64(len(data)) > r.host.MaxFile {
		return fmt.Errorf("session %s has more than the %d bytes that are read into memory: %w", r.id, r.host.MaxFile, core.ErrTooLarge)
	}
	packed, err := b.File(data)
	if err != nil {
		return err
	}
	h := packed.Header
	if f.workdir, err = r.host.workdir(r.o.CWD, h.CWD); err != nil {
		return err
	}
	h.CWD = f.workdir.CWD
	place.Dir, place.Name = b.FileName(h)
	files, err := b.Unpack(h, packed.Entries, h.CWD)
	if err != nil {
		return err
	}
	main, ok := mainOf(files, path.Join(place.Dir, place.Name))
	if !ok {
		main, ok = fileWith(files, packed, f.dialect)
	}
	if !ok {
		return fmt.Errorf("session %s has no main file: %w", r.id, core.ErrInvalid)
	}
	top, rest, _ := strings.Cut(main, "/") // the sessions directory
	place.Dir, place.Name = path.Dir(rest), path.Base(rest)
	dir, err := r.host.fileDir(f.agent, r.o.Dir, *place, f.workdir)
	if err != nil {
		return err
	}
	if r.o.Dir == "" {
		dir = strings.TrimSuffix(dir, string(filepath.Separator)+filepath.FromSlash(place.Dir))
	} else {
		top = path.Dir(main) // the files beside the main one
	}
	f.base = dir
	for _, file := range files {
		rel, below := strings.CutPrefix(file.Path, top+"/")
		if file.Path == main || !below {
			continue
		}
		if err := bundle.CheckPath(rel); err != nil {
			return err
		}
		f.companions = append(f.companions, companion{filepath.Join(dir, filepath.FromSlash(rel)), file.Data})
	}
	return nil
}

// mainOf returns the path of the file that the agent opens, which ends with name.
func mainOf(files []bundle.File, name string) (string, bool) {
	for _, f := range files {
		if f.Path == name || strings.HasSuffix(f.Path, "/"+name) {
			return f.Path, true
		}
	}
	return "", false
}

// fileWith returns the path of the file that has the lines at whose end the agent
// continues: Codex has a new file for them after a revert, and local times in names.
func fileWith(files []bundle.File, f *core.File, d core.Dialect) (string, bool) {
	l, ok := d.(interface {
		Layout(h core.Header, es []core.Entry) []core.Entry
	})
	if !ok {
		return "", false
	}
	lines := core.Lines(l.Layout(f.Header, f.Entries))
	for _, file := range files {
		if bytes.Equal(bytes.TrimSuffix(file.Data, []byte("\n")), bytes.TrimSuffix(lines, []byte("\n"))) {
			return file.Path, true
		}
	}
	return "", false
}

// putCompanions writes the other files of the session. A file that has other
// content than a beginning of what the log has stays, and the user is told.
func (r *resumer) putCompanions(f *stagedFile) error {
	for _, c := range f.companions {
		old, err := os.ReadFile(c.path)
		if redact.Covers(c.data, old) {
			continue // the log has it with masks
		}
		c.data = newUnmasker(old).lines(c.data)
		switch {
		case err == nil && bytes.HasPrefix(old, c.data):
			continue // the log has it, or the agent has written more
		case err == nil && !bytes.HasPrefix(c.data, old) && !r.o.Force:
			r.host.notef("%s is not the file in the log and stays as it is; replace it with: sessctl resume --force %s", c.path, r.id)
			continue
		case err != nil && !os.IsNotExist(err):
			return err
		}
		if err := checkNoLinks(f.base, c.path); err != nil {
			return err
		}
		if err := atomicfile.MkdirAll(filepath.Dir(c.path)); err != nil {
			return err
		}
		if err := atomicfile.WriteBytes(c.path, c.data); err != nil {
			return err
		}
	}
	return nil
}

// checkNoLinks returns an error if a directory between dir and path is a symbolic
// link, which could lead out of dir.
func checkNoLinks(dir, path string) error {
	for p := filepath.Dir(path); len(p) > len(dir); p = filepath.Dir(p) {
		if info, err := os.Lstat(p); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return hint.With(fmt.Errorf("%s is a symbolic link%w", p, hint.Silent(fs.ErrExist)), "remove it, or give another directory with: --dir DIR")
		}
	}
	return nil
}
