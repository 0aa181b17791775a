package engine

import (
	"context"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// checkKind settles how a fork tells of its source. Where ctx says that lineage
// is not recorded, it does not.
func (f *Fork) checkKind(ctx context.Context) error {
	switch f.Kind {
	case "":
		f.Kind = lineage.Fork
		if f.Branched {
			f.Kind = lineage.Branch
		}
	case lineage.Fork, lineage.Branch, lineage.Detach:
	default:
		return fmt.Errorf("kind %.64q: a fork is %q, %q or %q: %w", f.Kind, lineage.Fork, lineage.Branch, lineage.Detach, core.ErrInvalid)
	}
	if !lineage.IsRecording(ctx) {
		f.Kind = lineage.Detach
	}
	return nil
}

// descent is what the log records of a fork at leaf of st, and the parent that
// its header names.
func (f *Fork) descent(st *core.State, leaf core.Leaf) (o core.Origin, parent string) {
	if f.Kind == lineage.Detach {
		return core.Origin{Kind: string(lineage.Detach)}, ""
	}
	return core.Origin{Parents: []core.Lineage{descendsFrom(st, leaf, f.Kind)}}, st.Header.ID
}

// descendsFrom names the place in st where leaf is.
func descendsFrom(st *core.State, leaf core.Leaf, kind lineage.Kind) core.Lineage {
	l := core.Lineage{Session: st.ID, Cursor: st.Cursor(), Kind: string(kind)}
	l.Entry, _ = leaf.ID()
	return l
}
