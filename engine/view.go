package engine

import (
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// errHole is a record that others must have been before, which are not there.
var errMissingRecord = errors.New("a record is missing")

// A view is a session as the log's records gave it.
type view struct {
	st *core.State
	// end is the session's last record that was read. It is where the next one
	// goes, and not always the last one folded: strays stay behind.
	end     mark
	orphans []*core.Record // read and not folded, in order
	recent  recentRecords
	// from is the first record that was read to get here, but for the checkpoint
	// that said where to begin. Nothing before it is needed.
	needsFrom core.Pos
	// begun is the manifest that reading began at, nil for the first record.
	base *core.Manifest
}

// A mark names one record of a log.
type mark struct {
	pos   core.Pos
	chain core.Chain
}

// fold takes r in. It is core.ErrOrphan when r does not follow what is known.
func (v *view) fold(r *core.Record) error {
	if err := v.st.Apply(r); err != nil {
		return err
	}
	v.recent.add(r)
	v.setEnd(r)
	return nil
}

// pass notes that r was read.
func (v *view) setEnd(r *core.Record) {
	v.end = mark{r.Pos, r.Chain}
	if v.needsFrom == 0 {
		v.needsFrom = r.Pos
	}
}

// read is fold for one who reads from a base that is known to be good: a record
// that does not follow, although its writer meant the place where it is, is a
// orphan. That writer knew another record there, which the log has forgotten.
// It is errHole where a record is missing before r.
func (v *view) read(r *core.Record) error {
	err := v.fold(r)
	if !errors.Is(err, core.ErrOrphan) {
		return err
	}
	if r.After != v.end.pos {
		return fmt.Errorf("record %d, at %d, was stored behind one at %d, which does not exist: %w", r.Seq, r.Pos, r.After, errMissingRecord)
	}
	v.orphans = append(v.orphans, r)
	v.setEnd(r)
	return nil
}

const (
	// memoryBytes bounds what a memory holds. Most bodies share their bytes with
	// the state's entries.
	maxRecentBytes = 16 << 20
	// recordOverhead is about what a record takes besides its body. Many have none.
	recordOverhead = 400
)

// A memory holds the latest records of a session, as they are in the log, so
// that they can be stored again when a broker has forgotten them.
type recentRecords struct {
	records []*core.Record // without a gap
	size    int64          // of all of them, roughly
}

// add appends r and drops the oldest while they take too much.
func (m *recentRecords) add(r *core.Record) {
	m.records = append(m.records, r)
	m.size += int64(len(r.Body)) + recordOverhead
	for len(m.records) > 1 && m.size > maxRecentBytes {
		m.size -= int64(len(m.records[0].Body)) + recordOverhead
		m.records[0] = nil
		m.records = m.records[1:]
	}
}

// at returns the record of that seq, or nil.
func (m *recentRecords) at(seq uint64) *core.Record {
	if len(m.records) == 0 || seq < m.records[0].Seq {
		return nil
	}
	if i := seq - m.records[0].Seq; i < uint64(len(m.records)) {
		return m.records[i]
	}
	return nil
}

// has reports whether a record with that chain is in memory.
func (m *recentRecords) has(chain core.Chain) bool {
	for _, r := range m.records {
		if r.Chain == chain {
			return true
		}
	}
	return false
}
