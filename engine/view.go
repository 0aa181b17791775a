package engine

import (
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// errMissingRecord means that a record's predecessor is not there.
var errMissingRecord = errors.New("a record is missing")

// view is a session as the log's records gave it.
type view struct {
	st *core.State
	// end is the last record that was read. The next one is stored after it. It may be an
	// orphan, which is not folded.
	end     mark
	orphans []*core.Record // read and not folded, in order
	recent  recentRecords
	// needsFrom is the first record that the view was read from, except for the checkpoint
	// that is its base. Earlier records are not needed.
	needsFrom core.Pos
	// base is the manifest that reading started at, nil if that was the first record.
	base *core.Manifest
}

// mark names one record of a log.
type mark struct {
	pos   core.Pos
	chain core.Chain
}

// fold applies r. It returns core.ErrOrphan if r does not follow the last record.
func (v *view) fold(r *core.Record) error { return v.foldRead(r, nil) }

// foldRead is fold for an append whose entries are es, or nil if they must be read.
func (v *view) foldRead(r *core.Record, es []core.Entry) error {
	if err := v.st.ApplyRead(r, es); err != nil {
		return err
	}
	v.recent.add(r)
	v.setEnd(r)
	return nil
}

// setEnd notes that r was read.
func (v *view) setEnd(r *core.Record) {
	v.end = mark{r.Pos, r.Chain}
	if v.needsFrom == 0 {
		v.needsFrom = r.Pos
	}
}

// read is fold for a reader that started at a valid base. A record that does not
// follow is then an orphan: its writer knew another predecessor, which the log has
// lost. It returns errMissingRecord if a record before r is missing.
func (v *view) read(r *core.Record) error {
	err := v.fold(r)
	if !errors.Is(err, core.ErrOrphan) {
		return err
	}
	if r.After != v.end.pos {
		return fmt.Errorf("record %d, at %d, follows one at %d, which does not exist: %w", r.Seq, r.Pos, r.After, errMissingRecord)
	}
	v.orphans = append(v.orphans, r)
	v.setEnd(r)
	return nil
}

const (
	// maxRecentBytes bounds recentRecords. Most bodies share memory with entries.
	maxRecentBytes = 16 << 20
	// recordOverhead is roughly what a record takes besides its body.
	recordOverhead = 400
)

// recentRecords holds the latest records of a session as they are in the log, so
// that they can be stored again if a broker loses them.
type recentRecords struct {
	records []*core.Record // without a gap
	size    int64          // of all of them, roughly
}

// add appends r and drops the oldest ones beyond the limit.
func (m *recentRecords) add(r *core.Record) {
	m.records = append(m.records, r)
	m.size += int64(len(r.Body)) + recordOverhead
	for len(m.records) > 1 && m.size > maxRecentBytes {
		m.size -= int64(len(m.records[0].Body)) + recordOverhead
		m.records[0] = nil
		m.records = m.records[1:]
	}
}

// at returns the record with that seq, or nil.
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
