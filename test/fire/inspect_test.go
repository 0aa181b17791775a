package fire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// An ending is the final state of a session on all nodes.
type ending struct {
	files   [][]byte // its export, by node
	records []record
	last    uint64 // the number of the last, as info says
	reads   []op   // of every node
}

// A record is one step in the session's history.
type record struct {
	kind   core.Kind
	head   string
	writer string
	epoch  uint64
	seq    uint64
	ids    []string
	leaf   string // where a head was moved to
}

func recordOf(ev api.Event) (record, error) {
	r := record{kind: ev.Kind, head: ev.Head, writer: ev.Writer, epoch: ev.Epoch, seq: ev.Seq}
	if ev.Kind == core.KindHead {
		var m core.Move
		err := json.Unmarshal(ev.Body, &m)
		r.leaf, _ = m.Leaf.ID()
		return r, err
	}
	if ev.Kind != core.KindAppend {
		return r, nil
	}
	for _, line := range ev.Entries {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return r, err
		}
		r.ids = append(r.ids, e.ID)
	}
	return r, nil
}

func export(ctx context.Context, c *client.Client, id string) ([]byte, error) {
	body, err := c.Export(ctx, id, false)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// place sets each op's position among the records.
func (e ending) place(ops []op) {
	for i := range ops {
		o := &ops[i]
		for _, r := range e.records {
			at, ok := r.shows(o)
			if !ok {
				continue
			}
			o.Stored, o.Place = true, r.seq<<16+uint64(at)
		}
	}
	for i := range ops {
		for j := range ops[:i] {
			if ops[i].asksAs(ops[j]) {
				ops[i].Place, ops[j].Place = 0, 0
			}
		}
	}
}

// asksAs reports whether o and other make the same request, so that a record may be from
// either: moves have no id, and a claim may be released twice.
func (o op) asksAs(other op) bool {
	if o.Kind != other.Kind || o.Head != other.Head {
		return false
	}
	return o.Kind == opMove && o.Leaf == other.Leaf || o.Kind == opRelease && o.Writer == other.Writer
}

// shows reports whether o may have stored r, and the number of its line.
func (r record) shows(o *op) (at int, ok bool) {
	switch {
	case o.Result == fenced && o.Kind != opClaim, o.Result == conflict: // it stored nothing
		return 0, false
	case o.Kind == opAppend && r.kind == core.KindAppend:
		at = slices.Index(r.ids, o.IDs[0])
		return at, at >= 0
	case o.Kind == opClaim && r.kind == core.KindClaim, o.Kind == opRelease && r.kind == core.KindRelease:
		return 0, r.writer == o.Writer
	case o.Kind == opMove && r.kind == core.KindHead:
		return 0, r.head == heads[o.Head] && r.leaf == o.Leaf
	}
	return 0, false
}

// states returns the state of the session after each of its records.
func (e ending) states() []state {
	var s state
	all := []state{s}
	for _, r := range e.records {
		head := slices.Index(heads[:], r.head)
		switch {
		case head < 0:
		case r.kind == core.KindAppend:
			s = s.appended(head, r.ids)
		case r.kind == core.KindHead:
			s = s.moved(head, r.leaf)
		case r.kind == core.KindClaim:
			s = s.claimed(head, r.writer)
		case r.kind == core.KindRelease && s.holder[head] == r.writer:
			s.holder[head] = ""
		}
		all = append(all, s)
	}
	return all
}

// A damage counts the violations in a session. All except acked must be 0.
type damage struct {
	acked      int // acknowledged entries
	lost       int // acknowledged entries that are missing
	duplicated int // entries that exist more than once
	reordered  int // entries that precede an earlier acknowledged one of their writer
	dangling   int // entries whose parent is not before them
	halved     int // appends that are stored in part
	trespassed int // records of a writer on a head that was not its own
	gaps       int // records or epochs that do not follow the one before
	differing  int // nodes whose export differs from that of the first
	notes      []string
}

func (d *damage) note(n *int, format string, args ...any) {
	*n++
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// inspect compares the answers of each writer, in order, and its requests with the final
// state.
func inspect(acked [][]string, ops []op, e ending) damage {
	var d damage
	for i, file := range e.files {
		if !bytes.Equal(file, e.files[0]) {
			d.note(&d.differing, "node %d gives %d bytes that differ from the %d of node 1", i+1, len(file), len(e.files[0]))
		}
	}
	for i, file := range e.files {
		if i > 0 && bytes.Equal(file, e.files[0]) {
			continue // it is reported already
		}
		d.file(file, acked, ops)
	}
	d.chain(e.records)
	if n := uint64(len(e.records)); n != e.last {
		d.note(&d.gaps, "%d records are shown of %d", n, e.last)
	}
	return d
}

// file checks the export of a session.
func (d *damage) file(file []byte, acked [][]string, ops []op) {
	_, lines, _ := bytes.Cut(file, []byte("\n")) // the header
	es, err := entriesOf(lines)
	if err != nil {
		d.note(&d.differing, "the export is no session: %v", err)
	}
	at := map[string]int{}
	for i, e := range es {
		if _, twice := at[e.ID]; twice {
			d.note(&d.duplicated, "entry %s is there twice", e.ID)
		}
		if _, ok := at[e.Parent]; !ok && e.Parent != "" {
			d.note(&d.dangling, "entry %s continues %s, which is not before it", e.ID, e.Parent)
		}
		at[e.ID] = i
	}
	for writer, ids := range acked {
		last := -1
		for _, id := range ids {
			d.acked++
			i, ok := at[id]
			switch {
			case !ok:
				d.note(&d.lost, "entry %s of writer %d was acknowledged and is not there", id, writer)
			case i < last:
				d.note(&d.reordered, "entry %s of writer %d is before one that was acknowledged before it was sent", id, writer)
			}
			last = max(last, i)
		}
	}
	for _, o := range ops {
		there := 0
		for _, id := range o.IDs {
			if _, ok := at[id]; ok {
				there++
			}
		}
		if there > 0 && there < len(o.IDs) {
			d.note(&d.halved, "%d of the lines are there: %v", there, o)
		}
	}
}

// chain checks that the author of each of the session's records held the head.
func (d *damage) chain(records []record) {
	holder := map[string]string{}
	claimed := map[string]bool{}
	var epoch uint64
	for i, r := range records {
		if r.seq != uint64(i+1) {
			d.note(&d.gaps, "record %d is number %d", i+1, r.seq)
		}
		switch r.kind {
		case core.KindClaim:
			if epoch++; r.epoch != epoch {
				d.note(&d.gaps, "claim %d of the session says epoch %d", epoch, r.epoch)
			}
			holder[r.head] = r.writer
			claimed[r.writer] = true
		case core.KindRelease:
			if holder[r.head] == r.writer {
				delete(holder, r.head)
			}
		case core.KindAppend, core.KindHead:
			h, held := holder[r.head]
			if held && r.writer != h || !held && claimed[r.writer] {
				d.note(&d.trespassed, "record %d (%s) on head %s is by %s, whose head it is not (%q holds it)", r.seq, r.kind, r.head, r.writer, h)
			}
		}
	}
}

// ackedBy returns each client's acknowledged entries in order.
func ackedBy(ops []op) [][]string {
	by := make([][]string, clientsPerRound)
	for _, o := range ops {
		if o.Kind == opAppend && o.Result == done {
			by[o.Client] = append(by[o.Client], o.IDs...)
		}
	}
	return by
}

// unexcused returns what is wrong with an answer that no state of the session and no fault
// explains, or "".
func unexcused(o op) string {
	switch {
	case o.Result == broken:
		return "no fault excuses this answer"
	case o.Result == absent && o.Kind != opMove && !o.Stale:
		return "the session is there"
	}
	return ""
}

// listed formats a history for people.
func listed(ops []op) string {
	ops = slices.Clone(ops)
	slices.SortFunc(ops, func(a, b op) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for _, o := range ops {
		fmt.Fprintln(&b, o)
	}
	return b.String()
}
