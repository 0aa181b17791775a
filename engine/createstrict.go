package engine

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/core/newid"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/session"
)

// CreateStrict makes a session from client input, with the id that its header names;
// n.ID may be empty. Unlike Create, it rejects entries that an append would reject.
func (ss *Sessions) CreateStrict(ctx context.Context, n session.New) (*Session, error) {
	d, ok := ss.cfg.Dialects[n.Dialect]
	if !ok {
		return nil, fmt.Errorf("dialect %.64q is unknown: %w", n.Dialect, core.ErrInvalid)
	}
	h, err := optional.NewHeader(d, n.Header)
	if err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	want := core.SessionIDFor(n.Dialect, h.ID)
	if n.ID == "" {
		n.ID = want
	}
	if n.ID != want {
		return nil, fmt.Errorf("the header names session %q, whose id is %s, not %s: %w", clipped(h.ID), want, n.ID, core.ErrInvalid)
	}
	es, err := admitAll(d, ss.cfg.Dialects, h, n)
	if err != nil {
		return nil, err
	}
	began := ss.cfg.Now()
	kept, _, err := ss.StoreImages(ctx, es)
	if err != nil {
		return nil, err
	}
	o := core.Origin{Dialect: n.Dialect, By: n.By}
	o.SetKey(n.Key, "lines", n.Dialect, digestOfLines(n.Header, n.Lines))
	if len(h.Parents) == 0 && h.Lineage == "" {
		o.Kind = string(lineage.Create)
	}
	s, err := ss.Create(ctx, CreateRequest{ID: n.ID, Origin: o, Header: h, Entries: kept})
	if err != nil {
		return nil, err
	}
	return s, ss.RenewImages(ctx, began, es)
}

func digestOfLines(header []byte, lines [][]byte) core.Digest {
	h := sha256.New()
	h.Write(header)
	for _, line := range lines {
		h.Write([]byte("\n"))
		h.Write(line)
	}
	return core.Digest(h.Sum(nil))
}

// admitAll returns the entries of a new session. It applies the rules of an append
// to an empty session.
func admitAll(d core.Dialect, all core.Dialects, h core.Header, n session.New) ([]core.Entry, error) {
	es := make([]core.Entry, len(n.Lines))
	for i, line := range n.Lines {
		e, err := checkLine(d, line, false)
		if err == nil {
			err = newid.CheckEntry(e.ID)
		}
		if err != nil {
			return nil, &core.LineError{Line: i + 1, ID: e.ID, Err: err}
		}
		es[i] = e
	}
	if len(es) == 0 {
		return nil, nil
	}
	empty := core.NewState("", n.ID, all)
	empty.Seq, empty.Dialect, empty.Header = 1, d, h // exists, without entries
	fresh, err := empty.Admit(core.Proposal{Head: core.MainHead, Entries: es})
	if err == nil && len(fresh) < len(es) {
		err = fmt.Errorf("an entry is repeated: %w", core.ErrInvalid)
	}
	return es, err
}

func clipped(s string) string { return s[:min(len(s), 64)] }
