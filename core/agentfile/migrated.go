package agentfile

import (
	"bytes"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// idMembers are the members of pi's entries that hold ids of entries.
var idMembers = []string{"id", "parentId", "firstKeptEntryId", "targetId", "fromId"}

// Migrated returns f with the session's ids, if the session was imported from a file
// of version 1, whose entries had no ids, and f is that file after its agent gave
// them random ones. Otherwise it returns f. Entries are matched in order, without
// their ids. Lines of f are as the log would store them.
func Migrated(s *core.State, f *core.File) *core.File {
	if s.Origin.Version != "1" || f.Version != "3" {
		return f
	}
	ids := map[string]string{}
	for i := range min(len(s.Entries), len(f.Entries)) {
		have, e := &s.Entries[i], &f.Entries[i]
		if have.ID == e.ID {
			continue
		}
		if have.ID == "" || e.ID == "" || !bytes.Equal(withIDs(have.Line, nil), withIDs(e.Line, nil)) {
			break
		}
		ids[e.ID] = have.ID
	}
	if len(ids) == 0 {
		return f
	}
	out := *f
	out.Entries = slices.Clone(f.Entries)
	for i := range out.Entries {
		e, err := s.Dialect.Entry(withIDs(out.Entries[i].Line, ids))
		if err != nil {
			return f
		}
		out.Entries[i] = e
	}
	return &out
}

// withIDs returns line with other ids, as its agent writes it, or without ids if ids
// is nil. Returns nil if line is not a JSON object.
func withIDs(line []byte, ids map[string]string) []byte {
	o, err := jsjson.ParseObject(line)
	if err != nil {
		return nil
	}
	for _, name := range idMembers {
		old, _ := o.Get(name).Text()
		if id, ok := ids[old]; ok {
			o.Set(name, jsjson.AppendString(nil, id))
		} else if ids == nil {
			o.Delete(name)
		}
	}
	b, err := o.Append(nil)
	if err != nil {
		return nil
	}
	return b
}
