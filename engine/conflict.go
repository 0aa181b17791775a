package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// rebaseTries is how often lines are put behind a head that goes on moving.
const maxRebases = 20

// ready fills in what an append needs to be tried in several ways.
func (s *Session) withBranch(a Append) (Append, error) {
	a.Head = headOr(a.Head)
	if _, err := session.ParseOnConflict(string(a.OnConflict)); err != nil {
		return a, err
	}
	if a.OnConflict != session.Branch {
		if a.Branch != "" {
			return a, fmt.Errorf("head %.64q is for a branch, which was not asked for: %w", a.Branch, core.ErrInvalid)
		}
		return a, nil
	}
	if a.ID == nil { // the branch is called after the ids
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
		return a, fmt.Errorf("the branch of head %q is to be called the same: %w", a.Head, core.ErrInvalid)
	}
	return a, core.CheckHead(a.Branch)
}

// branchName is what the branch of an append is called: on every try the same,
// through whatever node.
func (s *Session) branchName(a Append) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s", s.id, a.Head)
	for i := range a.Lines {
		fmt.Fprintf(h, "\x00%s", s.idOf(a, i))
	}
	return a.Head[:min(len(a.Head), 40)] + "-" + hex.EncodeToString(h.Sum(nil)[:6])
}

// idOf is the id that the line at i has or gets; of a line that gets none, the
// line.
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

// cameFirst reports whether err is about another writer.
func isConflict(err error) bool {
	_, fenced := errors.AsType[*core.FencedError](err)
	_, moved := errors.AsType[*core.ConflictError](err)
	return fenced || moved
}

// landed is the head that stored lines are on: the one asked for, or its branch
// where an earlier try had to make that.
func (s *Session) headOf(a Append, rec Receipt) string {
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

// leadsTo reports whether the entry called id is on the way to where head
// stands.
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

// rebase puts a's lines behind where the head stands by now. It returns why,
// where that cannot be.
func (s *Session) rebase(ctx context.Context, a Append, why error) (Receipt, error) {
	if errors.Is(why, core.ErrFenced) {
		return Receipt{}, why
	}
	seenLeaf, err := s.leafLastSeen(ctx, a, why)
	if err != nil {
		return Receipt{}, why
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
		var rec Receipt
		if rec, why = s.enqueueAndWait(ctx, b); !errors.Is(why, core.ErrConflict) || !isConflict(why) {
			rec.Head = a.Head
			return rec, why
		}
	}
	return Receipt{}, why
}

// rebased returns lines whose parent seenLeaf is leaf instead.
func withParent(d core.Dialect, lines [][]byte, seenLeaf, leaf core.Leaf) [][]byte {
	id, named := seenLeaf.ID()
	if !named && !seenLeaf.IsNone() || leaf.IsDefault() {
		return lines
	}
	out := make([][]byte, len(lines))
	for i, line := range lines {
		out[i] = line
		if e, err := d.Entry(line); err == nil && !e.Aside && e.Parent == id {
			out[i] = core.Reparent(d, line, leaf)
		}
	}
	return out
}

// branchOff puts a's lines on the head a.Branch, made by the same record. It
// returns why, where that cannot be.
func (s *Session) branch(ctx context.Context, a Append, why error) (Receipt, error) {
	if s.dialect().Linear() {
		return Receipt{}, why
	}
	seenLeaf, err := s.leafLastSeen(ctx, a, why)
	if err != nil {
		return Receipt{}, why
	}
	b := a
	b.Head, b.Writer, b.After, b.OnConflict, b.Branch, b.from = a.Branch, "", nil, "", "", &seenLeaf
	rec, err := s.enqueueAndWait(ctx, b)
	if errors.Is(err, errHeadExists) {
		return rec, fmt.Errorf("%w; branch to another head, %q is there already", why, a.Branch)
	}
	rec.Head = a.Branch
	return rec, err
}

// notThere returns errTaken where q makes a head that is there.
func (q *request) checkNewHead(st *core.State) error {
	if q.from != nil && st.Heads[q.Head] != nil {
		return errHeadExists
	}
	return nil
}

// errTaken is a branch whose name is another's.
var errHeadExists = fmt.Errorf("a head of that name is there: %w", core.ErrConflict)
