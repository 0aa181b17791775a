package engine

import (
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// errHole is a record that others must have been before, which are not there.
var errHole = errors.New("a record is missing")

// A view is a session as the log's records gave it.
type view struct {
	st *core.State
	// end is the session's last record that was read. It is where the next one
	// goes, and not always the last one folded: strays stay behind.
	end    mark
	strays []*core.Record // read and not folded, in order
	mem    memory
	// from is the first record that was read to get here, but for the checkpoint
	// that said where to begin. Nothing before it is needed.
	from core.Pos
	// begun is the manifest that reading began at, nil for the first record.
	begun *core.Manifest
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
	v.mem.add(r)
	v.pass(r)
	return nil
}

// pass notes that r was read.
func (v *view) pass(r *core.Record) {
	v.end = mark{r.Pos, r.Chain}
	if v.from == 0 {
		v.from = r.Pos
	}
}

// read is fold for one who reads from a base that is known to be good: a record
// that does not follow, although its writer meant the place where it is, is a
// stray. That writer knew another record there, which the log has forgotten.
// It is errHole where a record is missing before r.
func (v *view) read(r *core.Record) error {
	err := v.fold(r)
	if !errors.Is(err, core.ErrOrphan) {
		return err
	}
	if r.After != v.end.pos {
		return fmt.Errorf("record %d, at %d, was stored behind one at %d, which does not exist: %w", r.Seq, r.Pos, r.After, errHole)
	}
	v.strays = append(v.strays, r)
	v.pass(r)
	return nil
}
