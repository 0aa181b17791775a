package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A view is a session as the log has it, kept up with what is sent.
type view struct {
	id      core.SessionID
	dialect core.Dialect
	lines   map[string][]byte
	heads   map[string]core.Leaf
	cursor  core.Cursor
	touched map[string]int // steps sent for a head
}

// view reads the session from the log, and what that says of what is in the
// file: what is covered, what was lost.
func (l *Log) view(ctx context.Context, b *book) (*view, error) {
	loaded, err := l.inner.Load(ctx, b.id)
	if err != nil {
		return nil, err
	}
	return l.looked(b, loaded)
}

// looked is what a reading of the session tells.
func (l *Log) looked(b *book, loaded session.Loaded) (*view, error) {
	d, err := named(loaded.Dialect)
	if err != nil {
		return nil, err
	}
	v := &view{id: b.id, dialect: d, lines: map[string][]byte{}, heads: map[string]core.Leaf{}, cursor: loaded.Cursor, touched: map[string]int{}}
	es, err := entriesOf(d, loaded.Lines)
	if err != nil {
		return nil, fmt.Errorf("session %s: %v: %w", b.id, err, core.ErrCorrupt)
	}
	for _, e := range es {
		v.lines[e.ID] = e.Line
	}
	b.saw(loaded)
	for head, leaf := range loaded.Heads {
		v.heads[head] = leaf
	}
	b.covered(loaded.Covered)
	v.findLost(b)
	return v, nil
}

// findLost has appends wait again that the log had and has no more.
func (v *view) findLost(b *book) {
	for _, it := range b.items {
		if !it.stored || it.Op != OpAppend {
			continue
		}
		lines, err := filled(v.dialect, v.id, &it.note, it.Leaf)
		if err != nil {
			continue
		}
		if ids, err := idsOf(v.dialect, lines); err == nil && !v.hasAll(ids) {
			b.lost(it)
		}
	}
}

// saw notes where the heads of a session stand.
func (b *book) saw(loaded session.Loaded) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dialect = loaded.Dialect
	if len(b.waiting()) > 0 {
		return // what waits was written for where they stood before
	}
	clear(b.heads)
	for head, leaf := range loaded.Heads {
		b.heads[head] = seen{loaded.Cursor, leaf}
	}
}

func (v *view) stands(head string) core.Leaf {
	if leaf, ok := v.heads[head]; ok {
		return leaf
	}
	return v.heads[core.MainHead]
}

// expects reports whether the head is where the item's writer thought, or is the
// writer's own.
func (v *view) expects(it *item) bool {
	if it.Writer != "" || it.Leaf == (core.Leaf{}) || it.Op != OpAppend && it.Op != OpMove {
		return true
	}
	if it.Op == OpAppend && v.hasItem(it) || it.Op == OpMove && v.stands(it.Head) == it.To {
		return true
	}
	return v.stands(it.Head) == it.Leaf
}

// hasItem reports whether the log has the lines of an append.
func (v *view) hasItem(it *item) bool {
	lines, err := filled(v.dialect, v.id, &it.note, it.Leaf)
	if err != nil {
		return false
	}
	ids, err := idsOf(v.dialect, lines)
	return err == nil && v.hasAll(ids)
}

// hasAll reports whether the log has entries of these ids. Lines that stand
// aside have none, and alone they are never known to be there.
func (v *view) hasAll(ids []string) bool {
	some := false
	for _, id := range ids {
		if id == "" {
			continue
		}
		if _, ok := v.lines[id]; !ok {
			return false
		}
		some = true
	}
	return some
}

func (v *view) hasLines(lines [][]byte) bool {
	es, err := entriesOf(v.dialect, lines)
	for _, e := range es {
		if !bytes.Equal(v.lines[e.ID], e.Line) {
			return false
		}
	}
	return err == nil
}

func (v *view) add(ids []string, lines [][]byte) {
	for i, id := range ids {
		v.lines[id] = lines[i]
	}
}

// after notes that the log is at a record now, unless err says otherwise.
func (v *view) after(at core.Cursor, err error) core.Cursor {
	if err == nil && at != (core.Cursor{}) {
		v.cursor = at
	}
	return v.cursor
}

// Load implements session.Log: the session as the log has it, with what waits.
// While the log cannot be reached it is the session as it was loaded last
// through this journal, with what waits, or what was made in it; where there is
// neither, the error is the log's.
func (l *Log) Load(ctx context.Context, id core.SessionID) (session.Loaded, error) {
	b, free, err := l.hold(ctx, id)
	if err != nil {
		return session.Loaded{}, err
	}
	defer free()
	loaded, err := l.inner.Load(ctx, id)
	if err == nil {
		if _, err := l.looked(b, loaded); err != nil {
			return session.Loaded{}, err
		}
		if len(b.waiting()) > 0 {
			l.stir()
		}
		b.saveCopy(loaded, l)
		return b.overlaid(loaded)
	}
	made := len(b.waiting()) > 0 && b.waiting()[0].Op == OpCreate
	if passing(err) || made && errors.Is(err, core.ErrNotFound) {
		old, ok := b.loadCopy()
		if ok {
			b.saw(old)
		}
		if ok || made {
			return b.overlaid(old)
		}
		return session.Loaded{}, b.noCopy(err)
	}
	return session.Loaded{}, err
}

// overlaid is loaded with what the journal has besides.
func (b *book) overlaid(loaded session.Loaded) (session.Loaded, error) {
	out := loaded
	out.Heads = map[string]core.Leaf{}
	for head, leaf := range loaded.Heads {
		out.Heads[head] = leaf
	}
	out.Lines = append([][]byte(nil), loaded.Lines...)
	for _, it := range b.items {
		if it.stored && it.At.Seq <= loaded.Cursor.Seq {
			continue
		}
		if err := b.overlay(&out, it); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (b *book) overlay(out *session.Loaded, it *item) error {
	if it.Op == OpCreate {
		out.Dialect, out.Header, out.Lines = it.Dialect, it.lines[0], append([][]byte(nil), it.lines[1:]...)
		out.Heads = map[string]core.Leaf{core.MainHead: it.To}
		return nil
	}
	d, err := named(out.Dialect)
	if err != nil {
		return err
	}
	head := it.Head
	switch it.Op {
	case OpMove:
		out.Heads[head] = it.To
	case OpAmend:
		return place(d, out, it.lines, false)
	case OpAppend:
		stood, ok := out.Heads[head]
		if !ok {
			stood = out.Heads[core.MainHead]
		}
		leaf := it.Leaf
		if leaf == (core.Leaf{}) {
			leaf = stood
		}
		lines, err := filled(d, b.id, &it.note, leaf)
		if err != nil {
			return err
		}
		if out.Heads[head], err = leafAfter(d, lines, leaf); err != nil {
			return err
		}
		return place(d, out, lines, true)
	}
	return nil
}

// place puts lines in the stead of those with the same ids. With add, others go
// behind them.
func place(d core.Dialect, out *session.Loaded, lines [][]byte, add bool) error {
	at := map[string]int{}
	have, err := entriesOf(d, out.Lines)
	if err != nil {
		return err
	}
	for i, e := range have {
		at[e.ID] = i
	}
	es, err := entriesOf(d, lines)
	for _, e := range es {
		i, ok := at[e.ID]
		switch {
		case add && (!ok || e.ID == ""):
			out.Lines = append(out.Lines, e.Line)
		case !add && ok:
			out.Lines[i] = e.Line
		}
	}
	return err
}
