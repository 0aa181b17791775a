package nova

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Header reads a header line: an object of type "nova" whose id CheckID takes.
// A parent in it is the id of the session that this one was forked from.
func (Dialect) Header(line []byte) (core.Header, error) {
	e, err := jsonl.Entry(line)
	if err != nil {
		return core.Header{}, err
	}
	if e.Type != typeHeader {
		return core.Header{}, fmt.Errorf("it begins with type %q, a Nova header has type %q: %w", jsonl.Clip(e.Type, 40), typeHeader, core.ErrInvalid)
	}
	if err := CheckID(e.ID); err != nil {
		return core.Header{}, err
	}
	o, err := jsjson.ParseObject(line)
	if err != nil {
		return core.Header{}, fmt.Errorf("header: %v: %w", err, core.ErrInvalid)
	}
	h := core.Header{Line: line, ID: e.ID, CWD: text(&o, "cwd"), Time: text(&o, "created_at"), Parent: text(&o, "parent")}
	if h.Parent != "" {
		h.Parents, h.Lineage = []string{h.Parent}, "fork"
	}
	return h, nil
}

// NewHeader makes a header line. Its time is written as Nova writes times.
func (Dialect) NewHeader(f core.HeaderFields) []byte {
	w := begin(typeHeader)
	w.text("id", f.ID)
	w.text("created_at", toNova(f.Time))
	w.optional("cwd", f.CWD)
	w.optional("parent", f.Parent)
	return w.end()
}

// SessionMark makes the line that names the session. After the lines of another
// session it turns a copy into a fork.
func (Dialect) SessionMark(h core.Header) []byte {
	w := begin(typeBegin)
	w.text("session_id", h.ID)
	w.text("created_at", h.Time)
	w.optional("parent", h.Parent)
	return w.end()
}

// Entry reads any line as an entry; Fold reads its content. An id, type or
// timestamp that is not a string counts as absent.
func (Dialect) Entry(line []byte) (core.Entry, error) {
	e, err := jsonl.Entry(line)
	e.Parent = ""
	return e, err
}

// Fill adds id and timestamp, in this order and as far as f gives and line
// lacks them, in front of the brace that closes line. A chain has no parents.
func (d Dialect) Fill(line []byte, f core.Fields) (core.Entry, error) {
	f.Parent = core.Leaf{}
	e, err := jsonl.Fill(line, f)
	e.Parent = ""
	return e, err
}

// begin returns a line of that type, to be completed and ended.
func begin(kind string) *writer {
	w := &writer{b: []byte{'{'}}
	w.text("type", kind)
	return w
}

func (w *writer) end() []byte { return append(w.b, '}') }

func text(o *jsjson.Object, name string) string {
	s, _ := o.Get(name).Text()
	return s
}

// AsWritten returns line: what Nova writes is not made of lines.
func (Dialect) AsWritten(line []byte) []byte { return line }

// SameHeader reports whether two headers are of one session. Nova's file does
// not name the directory, so a header that was made from a file lacks it.
func (d Dialect) SameHeader(a, b []byte) bool {
	ha, errA := d.Header(a)
	hb, errB := d.Header(b)
	return errA == nil && errB == nil && ha.ID == hb.ID && ha.Time == hb.Time && ha.Parent == hb.Parent
}
