package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/internal/retry"
)

// History is a session's history as a backup has it: consecutive records, without
// bodies.
type History struct {
	// Seq and Chain are of the record before Steps[0]. Both are zero if that is the
	// session's open, or its erase.
	Seq   uint64
	Chain core.Chain
	Steps []report.Step
}

// HistoryOf returns the history of records, which follow a record with that seq and
// chain.
func HistoryOf(seq uint64, chain core.Chain, records []*core.Record) History {
	p := History{Seq: seq, Chain: chain, Steps: make([]report.Step, len(records))}
	for i, r := range records {
		p.Steps[i] = report.Step{Seq: r.Seq, Chain: r.Chain, Kind: r.Kind}
	}
	return p
}

func (p *History) check() error {
	if len(p.Steps) == 0 {
		return fmt.Errorf("a history without records: %w", core.ErrInvalid)
	}
	if p.Seq == 0 && p.Steps[0].Kind == core.KindErase && len(p.Steps) == 1 {
		return nil
	}
	for i := range p.Steps {
		if p.Steps[i].Seq != p.Seq+uint64(i)+1 {
			return fmt.Errorf("got record %d, want %d: %w", p.Steps[i].Seq, p.Seq+uint64(i)+1, core.ErrInvalid)
		}
	}
	return nil
}

func (p *History) end() report.Step { return p.Steps[len(p.Steps)-1] }

// at returns the chain of record seq if p has it.
func (p *History) at(seq uint64) (core.Chain, bool) {
	if seq == p.Seq && seq != 0 {
		return p.Chain, true
	}
	first := p.Steps[0].Seq
	if seq < first || seq-first >= uint64(len(p.Steps)) {
		return core.Chain{}, false
	}
	return p.Steps[seq-first].Chain, true
}

// A comparison is a Comparison and the last record in the log, nil if there is none.
type comparison struct {
	report.Comparison
	last *core.Record
}

// err is Comparison.Err. The error for an erased session has its notice.
func (c *comparison) err(id core.SessionID) error {
	if c.Relation == report.Erased && c.last != nil {
		return erased(id, c.last)
	}
	return c.Err(id)
}

// Compare compares a session in the log with p. It changes nothing.
func (ss *Sessions) Compare(ctx context.Context, id core.SessionID, p History) (report.Comparison, error) {
	c, err := ss.compare(ctx, id, p)
	return c.Comparison, err
}

func (ss *Sessions) compare(ctx context.Context, id core.SessionID, p History) (comparison, error) {
	if err := p.check(); err != nil {
		return comparison{}, err
	}
	end := p.end()
	c := comparison{Comparison: report.Comparison{History: core.CursorOf(end.Seq, end.Chain)}}
	last, err := ss.lastOf(ctx, id)
	if errors.Is(err, core.ErrNotFound) {
		c.Relation, c.MissingRecords = report.Absent, len(p.Steps)
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.Log, c.last = core.CursorOf(last.Seq, last.Chain), last
	known, within := p.at(last.Seq)
	switch {
	case last.Seq == end.Seq && last.Chain == end.Chain:
		c.Relation, c.Shared = report.Same, c.Log
	case last.Kind == core.KindErase:
		c.Relation = report.Erased
	case within && known == last.Chain:
		c.Relation, c.Shared, c.MissingRecords = report.Behind, c.Log, int(end.Seq-last.Seq)
	case last.Seq < p.Seq:
		c.Relation = report.TooShort
	default:
		return c, ss.shared(ctx, id, &c, p)
	}
	return c, nil
}

// shared finds the last common record among those that the log still has. If the
// history ends before them, the log is ahead.
func (ss *Sessions) shared(ctx context.Context, id core.SessionID, c *comparison, p History) error {
	other := false
	for r, err := range ReadTo(ctx, ss.cfg.Log, id, 0, c.last.Pos) {
		if err != nil {
			return err
		}
		switch chain, ok := p.at(r.Seq); {
		case ok && chain == r.Chain:
			c.Shared = core.CursorOf(r.Seq, r.Chain)
		case ok:
			other = true
		}
	}
	c.Relation = report.Ahead
	if c.Log.Seq < c.History.Seq || other && c.Shared != c.History {
		c.Relation = report.Diverged
	}
	return nil
}

// Refold returns the state after records, which follow the record with that seq and
// chain. A checkpoint among them names its snapshot; both are zero if the first
// record is an open. It proves that a log with these records can be read. The state
// is nil if the only record is an erase. Nothing is stored.
func (ss *Sessions) Refold(ctx context.Context, id core.SessionID, seq uint64, chain core.Chain, records []*core.Record) (*core.State, error) {
	p := HistoryOf(seq, chain, records)
	if err := p.check(); err != nil {
		return nil, err
	}
	if seq == 0 && records[0].Kind == core.KindErase {
		return nil, nil
	}
	st := core.NewState(ss.cfg.Log.Name(), id, ss.cfg.Dialects)
	if seq != 0 {
		base, err := coveringBase(seq, chain, records)
		if err != nil {
			return nil, err
		}
		if st, _, err = ss.loadCheckpoint(ctx, id, base); err != nil {
			return nil, err
		}
	}
	for _, r := range records {
		if err := st.Apply(r); err != nil {
			return nil, fmt.Errorf("session %s: %w", id, err)
		}
	}
	if st.UnknownKind != "" {
		return nil, st.CheckWritable()
	}
	return st, nil
}

// coveringBase returns the checkpoint among records whose snapshot covers the record
// with that seq and chain.
func coveringBase(seq uint64, chain core.Chain, records []*core.Record) (*core.Record, error) {
	for _, r := range records {
		if r.Kind != core.KindCheckpoint {
			continue
		}
		if m, err := r.Manifest(); err == nil && m.Seq == seq && m.Chain == chain {
			return r, nil
		}
	}
	return nil, fmt.Errorf("no checkpoint among these records names a snapshot that covers record %d: %w", seq, core.ErrInvalid)
}

// Restore stores the records that the log lacks, unchanged except for their bases
// and a mark. They must pass Refold. A session that has the same records, or more,
// does not change; Comparison.Err says if the two do not fit, and nothing is stored
// then. It is safe to repeat, and must be repeated if it was interrupted: a session
// whose base is a checkpoint cannot be read before that is stored.
func (ss *Sessions) Restore(ctx context.Context, id core.SessionID, seq uint64, chain core.Chain, records []*core.Record) (c report.Comparison, stored int, err error) {
	p := HistoryOf(seq, chain, records)
	for {
		now, err := ss.compare(ctx, id, p)
		if err != nil {
			return now.Comparison, stored, err
		}
		if c.Relation == "" {
			c = now.Comparison // how it stood before
		}
		if now.Relation != report.Absent && now.Relation != report.Behind {
			return c, stored, now.err(id)
		}
		n, err := ss.putRecords(ctx, id, &now, records)
		stored += n
		again := errors.Is(err, core.ErrConflict) || errors.Is(err, core.ErrUncertain)
		if err != nil && (!again || retry.Pause(ctx) != nil) {
			return c, stored, fmt.Errorf("restore session %s: %w", id, err)
		}
	}
}

// putRecords stores the records that c says the log lacks.
func (ss *Sessions) putRecords(ctx context.Context, id core.SessionID, c *comparison, records []*core.Record) (stored int, err error) {
	var after, base core.Pos
	if last := c.last; last != nil {
		after, base = last.Pos, last.Base
		if last.Kind == core.KindOpen || last.Kind == core.KindCheckpoint {
			base = last.Pos
		}
	}
	placed := map[uint64]core.Pos{} // by seq
	for i, r := range records[len(records)-c.MissingRecords:] {
		again := *r
		again.Redo, again.Restored, again.Base = true, true, base
		switch r.Kind {
		case core.KindOpen, core.KindErase:
			again.Base = 0
		case core.KindCheckpoint:
			if again.Base, err = ss.coveredPos(ctx, id, r, placed, c.last); err != nil {
				return stored, err
			}
		}
		put := ctx
		if i > 0 || c.last != nil { // complete a session that is partly stored, even if space is short
			put = storage.WithReserve(ctx)
		}
		if after, err = ss.cfg.Log.Append(put, id, after, &again); err != nil {
			return stored, err
		}
		stored++
		placed[r.Seq] = after
		if r.Kind == core.KindOpen || r.Kind == core.KindCheckpoint {
			base = after
		}
	}
	return stored, nil
}

// coveredPos returns the position of the last record that a checkpoint's snapshot
// covers, or 0.
func (ss *Sessions) coveredPos(ctx context.Context, id core.SessionID, r *core.Record, placed map[uint64]core.Pos, last *core.Record) (core.Pos, error) {
	m, err := r.Manifest()
	if err != nil {
		return 0, err
	}
	if pos, ok := placed[m.Seq]; ok {
		return pos, nil
	}
	if last == nil {
		return 0, nil
	}
	for there, err := range ReadTo(ctx, ss.cfg.Log, id, 0, last.Pos) {
		if err != nil {
			return 0, err
		}
		if there.Seq == m.Seq && there.Chain == m.Chain {
			return there.Pos, nil
		}
	}
	return 0, nil
}
