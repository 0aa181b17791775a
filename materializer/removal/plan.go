package removal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/session/catalog"
)

// Plan returns what p selects now, the sessions first that were not modified for
// longest. Sessions that are held or claimed stay. The rows are read twice if a
// rule keeps some. They are not all in memory: only report.MaxPlan selected sessions, and
// the times of the sessions that rules keep.
func (r *Remover) Plan(ctx context.Context, p report.Policy) (*report.Plan, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := r.Materializer.CatchUp(ctx); err != nil {
		return nil, err
	}
	now := r.now()
	kept, err := r.kept(ctx, p.Rules)
	if err != nil {
		return nil, err
	}
	goes := oldest{most: report.MaxPlan}
	for row, err := range r.Directory.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		it, ok := report.Item{}, false
		switch {
		case row.Erased || row.Held != nil:
		case !row.Deleted:
			it, ok = itemOf(&p, now, &row, kept)
		case p.EraseTrash:
			if it, ok, err = r.overdue(ctx, row.ID); err != nil {
				return nil, err
			}
		}
		if ok {
			goes.add(it)
		}
	}
	plan := &report.Plan{Log: r.Log.Name(), Made: now.UTC().Truncate(time.Second), Policy: p, Items: goes.sorted(), More: goes.more}
	plan.ID = plan.Digest()
	return plan, nil
}

// kept returns the sessions that each rule keeps.
func (r *Remover) kept(ctx context.Context, rules []report.Rule) ([]latest, error) {
	kept := make([]latest, len(rules))
	if !slices.ContainsFunc(rules, func(l report.Rule) bool { return l.Keep > 0 }) {
		return kept, nil
	}
	for row, err := range r.Directory.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		if row.Erased || row.Held != nil || row.Deleted {
			continue
		}
		for i := range rules {
			if l := &rules[i]; l.Keep > 0 && takes(l, &row) {
				kept[i].add(group(l, &row), l.Keep, standingOf(&row))
			}
		}
	}
	return kept, nil
}

// itemOf returns what p does with a live session, according to the first rule that
// selects it. kept are the sessions that each rule keeps.
func itemOf(p *report.Policy, now time.Time, row *catalog.Row, kept []latest) (report.Item, bool) {
	if row.Holder != nil {
		return report.Item{}, false
	}
	for i := range p.Rules {
		l := &p.Rules[i]
		if !takes(l, row) {
			continue
		}
		isKept := l.Keep == 0 || kept[i].has(group(l, row), l.Keep, standingOf(row))
		if why := why(l, now, row, isKept); why != "" {
			called := cmp.Or(l.Name, fmt.Sprintf("rule %d", i+1))
			return report.Item{Session: row.ID, Seq: row.Seq, Do: report.ToTrash, Why: called + ": " + why, Last: modified(row)}, true
		}
	}
	return report.Item{}, false
}

// overdue reports whether a session's time in the trash is over.
func (r *Remover) overdue(ctx context.Context, id core.SessionID) (it report.Item, ok bool, err error) {
	s, err := r.Cache.Get(ctx, id)
	if errors.Is(err, core.ErrUnavailable) {
		return it, false, err
	}
	if err != nil {
		return it, false, nil // erased since, or damaged, which a plan does not handle
	}
	_ = s.View(func(st *core.State) error {
		if st.Deleted == nil || st.Erased != nil {
			return nil
		}
		due := st.Deleted.Time.Add(r.Window)
		ok = !r.now().Before(due)
		it = report.Item{
			Session: id, Seq: st.Seq, Do: report.ToErase, Last: st.Deleted.Time,
			Why: "its time in the trash is over since " + due.UTC().Format(time.RFC3339),
		}
		return nil
	})
	return it, ok, nil
}

func takes(l *report.Rule, row *catalog.Row) bool {
	return (l.CWD == "" || row.CWD == l.CWD) && (l.Dialect == "" || row.Dialect == l.Dialect) &&
		(l.Tag == "" || slices.Contains(row.Tags, l.Tag)) && (l.UnlessTag == "" || !slices.Contains(row.Tags, l.UnlessTag))
}

func group(l *report.Rule, row *catalog.Row) string {
	switch l.Per {
	case "cwd":
		return row.CWD
	case "dialect":
		return row.Dialect
	}
	return ""
}

// why returns why the rule selects row, empty if it does not. OlderThan does not
// select a row if it is unknown when it was modified. isKept means that the session is among
// those that Keep keeps.
func why(l *report.Rule, now time.Time, row *catalog.Row, isKept bool) string {
	last := modified(row)
	switch {
	case l.OlderThan > 0 && !last.IsZero() && now.Sub(last) > l.OlderThan:
		return "not modified since " + last.UTC().Format("2006-01-02 15:04")
	case l.LargerThan > 0 && row.Size > l.LargerThan:
		return fmt.Sprintf("%d bytes, more than %d", row.Size, l.LargerThan)
	case !isKept:
		return fmt.Sprintf("more than the %d that are kept", l.Keep)
	}
	return ""
}

// modified returns when a session was modified last, zero if unknown.
func modified(row *catalog.Row) time.Time {
	for _, text := range []string{row.Modified, row.Created} {
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			return t
		}
	}
	return time.Time{}
}

// Trash moves the session of an item to the trash. It returns core.ErrConflict if
// the session has changed since the plan was made, or is claimed.
func (r *Remover) Trash(ctx context.Context, it report.Item, n core.Notice) error {
	s, err := r.Cache.Get(ctx, it.Session)
	if err != nil {
		return err
	}
	return s.DeleteIf(ctx, n, func(st *core.State) error {
		if h := st.Heads[core.MainHead]; h != nil && h.Claim != nil {
			return fmt.Errorf("a writer has claimed it: %w", core.ErrConflict)
		}
		return unchanged(st, it)
	})
}

// Unchanged returns core.ErrConflict if the session of an item has changed since
// the plan was made.
func (r *Remover) Unchanged(ctx context.Context, it report.Item) error {
	s, err := r.Cache.Fresh(ctx, it.Session)
	if err != nil {
		return err
	}
	return s.View(func(st *core.State) error { return unchanged(st, it) })
}

// unchanged returns core.ErrConflict if st has records other than checkpoints after
// the item's.
func unchanged(st *core.State, it report.Item) error {
	if st.Seq == it.Seq || st.Tail == 0 && st.Checkpointed == it.Seq {
		return nil
	}
	return fmt.Errorf("it has changed since the plan was made: %w", core.ErrConflict)
}
