package agent

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/sesslog/sesslog/agent/eventdb"
	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/agent/process"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/core/lineage"
)

// A database is one of opencode in which sessions are searched.
type database struct {
	db   *eventdb.DB
	read bool // what it had at first is known
}

// walkDatabase calls each with every undecided session in a database. A session's
// mark is the number of its last event. If the database could not be read before
// the agent began, what it has now counts as having been there.
func (f *finder) walkDatabase(root follow.Root, each func(path string, root follow.Root, m fileMark)) {
	d, began := f.databases[root.Path], false
	if d == nil {
		d, began = &database{db: eventdb.At(root.Path)}, true
		f.databases[root.Path] = d
	}
	last, err := d.db.Sessions(context.Background())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	late := !d.read && !began
	d.read = true
	for id, seq := range last {
		path, m := filepath.Join(root.Path, id), fileMark{seq, time.Time{}}
		if late {
			f.before[path] = m
		}
		if _, other := f.other[path]; !other && !f.found[path] {
			each(path, root, m)
		}
	}
}

// identifyEvents reads the header of a session in a database and reports whether it
// is the agent's.
func (f *finder) identifyEvents(path string, root follow.Root) (sessionFile, bool) {
	events, err := f.databases[root.Path].db.Events(context.Background(), filepath.Base(path), 0, 1)
	if err != nil || len(events) == 0 {
		return sessionFile{}, false
	}
	h, err := opencode.Dialect{}.Begin(events[0].JSON)
	if err != nil {
		return sessionFile{}, false
	}
	own := slices.Contains(f.args, h.ID) || slices.ContainsFunc(f.dirs, func(dir string) bool { return process.SameDir(h.CWD, dir) })
	if !own {
		f.other[path] = h.CWD
		return sessionFile{}, false
	}
	return sessionFile{path, root, core.SessionIDFor(opencodeName, h.ID), opencodeName, h.Lineage == string(lineage.Subagent)}, true
}
