package claude

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A record is what the members outside of the message say of a line.
type record struct {
	ok        bool // it is a JSON object
	kind      string
	uuid      string
	parent    string
	time      string
	session   jsjson.Value
	cwd       jsjson.Value
	sidechain bool
}

var recordMembers = [...]string{"type", "uuid", "parentUuid", "timestamp", "sessionId", "cwd", "isSidechain", "logicalParentUuid"}

// readLine reads a line of a file of the agent, which may be any bytes.
func readLine(line []byte) (r record) {
	var v [len(recordMembers)]jsjson.Value
	if jsjson.Pick(line, recordMembers[:], v[:]) != nil {
		return record{}
	}
	r.ok = true
	r.kind = kindOf(v[0])
	r.uuid, r.parent, r.time = jsonl.Texts(v[1], v[2], v[3])
	r.session, r.cwd = v[4], v[5]
	r.sidechain = v[6].Truthy()
	if r.parent == "" && r.kind == "system" {
		r.parent, _ = v[7].Text() // of a compaction
	}
	return r
}

func (r *record) entry(line []byte) core.Entry {
	return core.Entry{Line: line, ID: r.uuid, Parent: r.parent, Type: r.kind, Time: r.time, Aside: r.sidechain || r.uuid == ""}
}

// Entry reads an envelope or a line of the main file.
func (Dialect) Entry(line []byte) (core.Entry, error) {
	if e, ours, err := envelope.Entry(line); ours {
		return e, err
	}
	r := readLine(line)
	if !r.ok || bytes.IndexByte(line, '\n') >= 0 {
		if _, err := jsonl.Entry(line); err != nil {
			return core.Entry{}, err
		}
		return core.Entry{}, fmt.Errorf("not a JSON object: %w", core.ErrInvalid)
	}
	return r.entry(line), nil
}

// talkKinds are the types of the lines that have a place in the tree.
var talkKinds = []string{"user", "assistant", "system", "attachment", "progress"}

// isTalk reports whether lines of this type have a place in the tree.
func isTalk(kind string) bool { return slices.Contains(talkKinds, kind) }

// kindOf returns the type of a line.
func kindOf(v jsjson.Value) string {
	for _, kind := range talkKinds {
		if v.Is(kind) {
			return kind // without an allocation
		}
	}
	return text(v)
}

// Fill adds uuid, parentUuid and timestamp to a line of the conversation. Any
// other line gets an envelope with that id, and that time if it has none.
func (d Dialect) Fill(line []byte, f core.Fields) (core.Entry, error) {
	e, err := d.Entry(line)
	if err != nil || envelope.IsOurs(line) {
		return e, err
	}
	if !isTalk(e.Type) && e.ID == "" {
		var w envelope.Writer
		return w.Line(envelope.Piece{ID: f.ID, Path: mainPath, Kind: e.Type, Time: cmp.Or(e.Time, f.Time), Bytes: line})[0], nil
	}
	return d.Entry(jsonl.Complete(line,
		jsonl.Member{Name: "uuid", Value: jsonl.Quoted(f.ID)},
		jsonl.Member{Name: "parentUuid", Value: jsonl.Parent(f.Parent)},
		jsonl.Member{Name: "timestamp", Value: jsonl.Quoted(f.Time)},
	))
}
