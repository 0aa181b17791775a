package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/tree"
	"github.com/sesslog/sesslog/session"
)

// maxRebases is how often lines are rebased onto a head that keeps moving.
const maxRebases = 20

// withBranch fills in the name of the branch and the ids that it is derived from.
func (s *Session) withBranch(a Append) (Append, error) {
	a.Head = headOr(a.Head)
	if _, err := session.ParseOnConflict(string(a.OnConflict)); err != nil {
		return a, err
	}
	if a.OnConflict != session.Branch {
		if a.Branch != "" {
			return a, fmt.Errorf("a branch name, %.64q, requires the conflict mode branch: %w", a.Branch, core.ErrInvalid)
		}
		return a, nil
	}
	if a.ID == nil { // the name of the branch is derived from the ids
		fresh, given := s.newIDs(s.dialect()), map[int]string{}
		a.ID = func(i int) string {
			if given[i] == "" {
				given[i] = fresh(i)
			}
			return given[i]
		}
	}
	if a.Branch == "" {
		a.Branch = s.branchName(a)
	}
	if a.Branch == a.Head {
		return a, fmt.Errorf("a branch of head %q must have another name: %w", a.Head, core.ErrInvalid)
	}
	return a, core.CheckHead(a.Branch)
}

// branchName derives the name of an append's branch. It is the same on every attempt
// and every node.
func (s *Session) branchName(a Append) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s", s.id, a.Head)
	for i := range a.Lines {
		fmt.Fprintf(h, "\x00%s", s.idOf(a, i))
	}
	return a.Head[:min(len(a.Head), 40)] + "-" + hex.EncodeToString(h.Sum(nil)[:6])
}

// idOf returns the id that line i has or gets; the line itself if it gets none.
func (s *Session) idOf(a Append, i int) string {
	e, err := s.dialect().Entry(a.Lines[i])
	switch {
	case err == nil && e.ID != "":
		return e.ID
	case err != nil || a.Loose:
		return string(a.Lines[i])
	}
	return a.ID(i)
}

// isConflict reports whether err is about another writer.
func isConflict(err error) bool {
	_, fenced := errors.AsType[*core.FencedError](err)
	_, moved := errors.AsType[*core.ConflictError](err)
	return fenced || moved
}

// headOf returns the head that stored lines are on: the requested one, or its branch
// if an earlier attempt had to make it.
func (s *Session) headOf(a Append, rec core.Receipt) string {
	if a.OnConflict != session.Branch || rec.Stored > 0 || len(rec.IDs) == 0 {
		return a.Head
	}
	last := rec.IDs[len(rec.IDs)-1]
	head := a.Head
	_ = s.View(func(st *core.State) error {
		if st.Heads[a.Branch] != nil && !leadsTo(st, a.Head, last) && leadsTo(st, a.Branch, last) {
			head = a.Branch
		}
		return nil
	})
	return head
}

// leadsTo reports whether the entry with that id is on the path to head's leaf.
func leadsTo(st *core.State, head, id string) bool {
	at, _ := st.Leaf(head).ID()
	for range len(st.Entries) {
		if at == id || at == "" {
			return at == id
		}
		e, ok := st.Entry(at)
		if !ok {
			return false
		}
		at = e.Parent
	}
	return false
}

// rebase appends a's lines to the head's current leaf. If that is impossible it
// returns why.
func (s *Session) rebase(ctx context.Context, a Append, why error) (core.Receipt, error) {
	if errors.Is(why, core.ErrFenced) {
		return core.Receipt{}, why
	}
	seenLeaf, err := s.leafLastSeen(ctx, a, why)
	if err != nil {
		return core.Receipt{}, why
	}
	for range maxRebases {
		b := a
		var leaf core.Leaf
		_ = s.View(func(st *core.State) error {
			at := st.Cursor()
			leaf, b.After = st.Leaf(a.Head), &at
			return nil
		})
		b.Lines = withParent(s.dialect(), a.Lines, seenLeaf, leaf)
		var rec core.Receipt
		if rec, why = s.enqueueAndWait(ctx, b); !errors.Is(why, core.ErrConflict) || !isConflict(why) {
			rec.Head = a.Head
			return rec, why
		}
	}
	return core.Receipt{}, why
}

// withParent returns lines with leaf as parent in place of seenLeaf.
func withParent(d core.Dialect, lines [][]byte, seenLeaf, leaf core.Leaf) [][]byte {
	id, named := seenLeaf.ID()
	if !named && !seenLeaf.IsNone() || leaf.IsDefault() {
		return lines
	}
	out := make([][]byte, len(lines))
	for i, line := range lines {
		out[i] = line
		if e, err := d.Entry(line); err == nil && !e.Aside && e.Parent == id {
			out[i] = tree.Reparent(d, line, leaf)
		}
	}
	return out
}

// branch stores a's lines on the head a.Branch, which the same record makes. If that
// is impossible it returns why.
func (s *Session) branch(ctx context.Context, a Append, why error) (core.Receipt, error) {
	if s.dialect().Linear() {
		return core.Receipt{}, why
	}
	seenLeaf, err := s.leafLastSeen(ctx, a, why)
	if err != nil {
		return core.Receipt{}, why
	}
	b := a
	b.Head, b.Writer, b.After, b.OnConflict, b.Branch, b.from = a.Branch, "", nil, "", "", &seenLeaf
	rec, err := s.enqueueAndWait(ctx, b)
	if errors.Is(err, errHeadExists) {
		return rec, fmt.Errorf("%w; head %q exists, choose another name for the branch", why, a.Branch)
	}
	rec.Head = a.Branch
	return rec, err
}

// checkNewHead returns errHeadExists if q makes a head that exists.
func (q *request) checkNewHead(st *core.State) error {
	if q.from != nil && st.Heads[q.Head] != nil {
		return errHeadExists
	}
	return nil
}

// errHeadExists means that the name of a branch is taken.
var errHeadExists = fmt.Errorf("a head with that name exists: %w", core.ErrConflict)
