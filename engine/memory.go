package engine

import "github.com/sesslog/sesslog/core"

const (
	// memoryBytes bounds what a memory holds. Most bodies share their bytes with
	// the state's entries.
	memoryBytes = 16 << 20
	// recordOverhead is about what a record takes besides its body. Many have none.
	recordOverhead = 400
)

// A memory holds the latest records of a session, as they are in the log, so
// that they can be stored again when a broker has forgotten them.
type memory struct {
	records []*core.Record // without a gap
	size    int64          // of all of them, roughly
}

// add appends r and drops the oldest while they take too much.
func (m *memory) add(r *core.Record) {
	m.records = append(m.records, r)
	m.size += int64(len(r.Body)) + recordOverhead
	for len(m.records) > 1 && m.size > memoryBytes {
		m.size -= int64(len(m.records[0].Body)) + recordOverhead
		m.records[0] = nil
		m.records = m.records[1:]
	}
}

// at returns the record of that seq, or nil.
func (m *memory) at(seq uint64) *core.Record {
	if len(m.records) == 0 || seq < m.records[0].Seq {
		return nil
	}
	if i := seq - m.records[0].Seq; i < uint64(len(m.records)) {
		return m.records[i]
	}
	return nil
}

// has reports whether a record with that chain is in memory.
func (m *memory) has(chain core.Chain) bool {
	for _, r := range m.records {
		if r.Chain == chain {
			return true
		}
	}
	return false
}
