package agents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/agent/eventdb"
	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/core/optional"
)

// databasesBelow returns the databases of opencode in and below dir.
func databasesBelow(dir string) (paths []string) {
	if dir == "" {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasPrefix(d.Name(), "opencode") && strings.HasSuffix(d.Name(), ".db") {
			paths = append(paths, path)
		}
		return nil // WalkSessions reports errors
	})
	return paths
}

// examineDatabase examines the sessions in a database of opencode.
func (a app) examineDatabase(ctx context.Context, root follow.Root, f rescueFlags) (all []*examinedSession, err error) {
	db := eventdb.At(root.Path)
	defer db.Close()
	last, err := db.Sessions(ctx)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			a.Notef("%v", err)
		}
		return nil, ctx.Err()
	}
	dirs, err := db.Directories(ctx)
	if err != nil {
		a.Notef("%v", err)
	}
	ids := slices.Collect(maps.Keys(last))
	for id := range dirs {
		if _, ok := last[id]; !ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		at := filepath.Join(root.Path, id)
		if !strings.Contains(at, f.text) {
			continue
		}
		p, err := a.examineEvents(ctx, db, id, dirs[id], f)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			a.Notef("%v", err)
			continue
		}
		p.Path = at
		all = append(all, p)
	}
	return all, nil
}

// examineEvents examines a session whose directory is dir, if that is known.
func (a app) examineEvents(ctx context.Context, db *eventdb.DB, id, dir string, f rescueFlags) (*examinedSession, error) {
	rules := opencode.Dialect{}
	events, err := a.eventsOf(ctx, db, id)
	if err != nil {
		return nil, err
	}
	if events == nil {
		none := optional.Fault{Kind: optional.MissingEvents, Text: "it has no events, as after opencode import: rescue cannot examine it"}
		return &examinedSession{Agent: rules.Name(), Examination: optional.Examination{Faults: []optional.Fault{none}}}, nil
	}
	main := path.Join(id, "events.json")
	p := examined(rules, main, map[string][]byte{main: events}, f.join)
	if _, err := os.Stat(dir); dir == "" || !errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	// A copy is for another directory: opencode import moves a session to where it runs.
	gone := optional.Fault{Kind: optional.MissingDirectory, Text: fmt.Sprintf("its directory %s does not exist; opencode import moves it to another", dir)}
	if p.Copy == nil && !slices.ContainsFunc(p.Faults, func(f optional.Fault) bool { return f.Kind == optional.MissingEvents }) {
		p.Copy = exportOf(events)
	}
	if p.Copy != nil {
		gone.Repair = optional.ByCopy
	}
	p.Faults = append(p.Faults, gone)
	return p, nil
}

// eventsOf returns the events of a session as a list, or nil if it has none.
func (a app) eventsOf(ctx context.Context, db *eventdb.DB, id string) ([]byte, error) {
	var all [][]byte
	size := int64(0)
	for from := int64(0); ; {
		events, err := db.Events(ctx, id, from, eventdb.Limit)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 && from == 0 {
			return nil, nil
		}
		if len(events) == 0 {
			return slices.Concat([]byte("["), bytes.Join(all, []byte(",")), []byte("]")), nil
		}
		for _, e := range events {
			all = append(all, e.JSON)
			size += int64(len(e.JSON))
		}
		if size > a.MaxFile {
			return nil, fmt.Errorf("session %s has events of more than %d bytes: %w", id, a.MaxFile, core.ErrTooLarge)
		}
		from = events[len(events)-1].Seq + 1
	}
}

// exportOf returns the export of a session that has these events, or nil.
func exportOf(events []byte) []byte {
	rules := opencode.Dialect{}
	f, err := rules.File(events)
	if err != nil {
		return nil
	}
	files, err := rules.Unpack(f.Header, f.Entries, "")
	for _, file := range files {
		if err == nil && file.Path == "export.json" {
			return file.Data
		}
	}
	return nil
}
