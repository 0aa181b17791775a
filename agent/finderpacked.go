package agent

import (
	"path/filepath"
	"slices"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/lineage"
)

// packerOf returns the rules of an agent that keeps a session in several files.
func packerOf(name string) (bundle.Packer, bool) {
	d, err := dialect.Named(name)
	if err != nil {
		return nil, false
	}
	p, ok := d.(bundle.Packer)
	return p, ok
}

// readMain reads the header of a session from the start of its main file. The error
// is errNoHeader if the file is not one, or does not name its directory yet.
func (f *finder) readMain(p bundle.Packer, path string, root follow.Root, start []byte) (core.Header, core.Dialect, error) {
	name, err := filepath.Rel(root.Path, path)
	if err != nil || name == "." {
		name = filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
	}
	name = filepath.ToSlash(name)
	read := func(string) []byte { return start }
	all := p.Bundles([]string{name}, read)
	if len(all) != 1 || all[0].Main != name {
		return core.Header{}, nil, errNoHeader
	}
	file, err := p.Pack(name, []bundle.File{{Path: name, Data: start}})
	if err != nil {
		return core.Header{}, nil, err
	}
	if file.Header.CWD == "" || file.Header.Lineage == string(lineage.Subagent) {
		return core.Header{}, nil, errNoHeader
	}
	return file.Header, p, nil
}

// isInPlace reports whether a main file is where its agent looks for sessions of a
// directory in which it works, or whether the agent was started with its id. A
// session that came from another host names another directory in its lines.
func (f *finder) isInPlace(p bundle.Packer, path string, root follow.Root, h core.Header) bool {
	if slices.Contains(f.args, h.ID) {
		return true
	}
	own := h.CWD
	for _, dir := range f.dirs {
		h.CWD = realPath(dir)
		folder, name := p.FileName(h)
		h.CWD = own
		other, _ := p.FileName(h)
		if folder != other && path == filepath.Join(root.Path, folder, name) {
			return true
		}
	}
	return false
}
