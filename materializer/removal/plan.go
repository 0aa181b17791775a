package removal

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

const (
	// maxPlan limits the sessions in a plan.
	maxPlan = 10_000
	// maxRules limits the rules of a policy.
	maxRules = 100
)

// A Policy selects sessions for the trash, and says whether the trash is emptied.
type Policy struct {
	Rules []Rule `json:"rules,omitempty"`
	// EraseTrash erases sessions whose time in the trash is over.
	EraseTrash bool `json:"eraseTrash,omitempty"`
}

// A Rule applies to the sessions with its CWD, Dialect and Tag, or to all if these
// are empty. It selects a session if one of its limits does.
type Rule struct {
	Name      string `json:"name,omitempty"`
	CWD       string `json:"cwd,omitempty"`
	Dialect   string `json:"dialect,omitempty"`
	Tag       string `json:"tag,omitempty"`
	UnlessTag string `json:"unlessTag,omitempty"` // sessions with this tag stay

	OlderThan  time.Duration `json:"olderThan,omitempty"`  // not changed for longer than this
	LargerThan int64         `json:"largerThan,omitempty"` // bytes of its lines
	Keep       int           `json:"keep,omitempty"`       // not among this many that were changed last
	Per        string        `json:"per,omitempty"`        // the groups of Keep: "cwd" or "dialect"; empty for all sessions
}

// Values of Item.Do.
const (
	ToTrash = "delete"
	ToErase = "erase"
)

// An Item is a selected session.
type Item struct {
	Session core.SessionID `json:"session"`
	Seq     uint64         `json:"seq"` // of its last record when the plan was made
	Do      string         `json:"do"`  // ToTrash or ToErase
	Why     string         `json:"why"`
	Last    time.Time      `json:"last,omitzero"` // its last change
}

// A Plan is what a policy selects at one time. Its ID is a digest of the rest.
type Plan struct {
	ID     string    `json:"id"`
	Log    string    `json:"log"`
	Made   time.Time `json:"made"`
	Policy Policy    `json:"policy"`
	Items  []Item    `json:"items"`
	More   bool      `json:"more,omitempty"` // the policy selects more than the 10,000 sessions of a plan
}

// An Outcome is what happened to an item: done, or left alone and why.
type Outcome struct {
	Item
	Done bool   `json:"done"`
	Left string `json:"left,omitempty"`
}

// Check returns core.ErrInvalid if p selects nothing or is contradictory.
func (p *Policy) Check() error {
	bad := func(i int, what string) error {
		return fmt.Errorf("rule %d %s: %s: %w", i+1, p.Rules[i].Name, what, core.ErrInvalid)
	}
	if len(p.Rules) == 0 && !p.EraseTrash {
		return fmt.Errorf("the policy has no rules and does not empty the trash: %w", core.ErrInvalid)
	}
	if len(p.Rules) > maxRules {
		return fmt.Errorf("the policy has %d rules, the limit is %d: %w", len(p.Rules), maxRules, core.ErrInvalid)
	}
	for i, r := range p.Rules {
		switch {
		case r.OlderThan < 0 || r.LargerThan < 0 || r.Keep < 0:
			return bad(i, "a limit is negative")
		case r.OlderThan == 0 && r.LargerThan == 0 && r.Keep == 0:
			return bad(i, "it has no limit: set older_than, larger_than or keep")
		case r.Per != "" && r.Per != "cwd" && r.Per != "dialect":
			return bad(i, "per must be cwd or dialect")
		case r.Per != "" && r.Keep == 0:
			return bad(i, "per requires keep")
		}
	}
	return nil
}

// Plan returns what p selects now, the sessions first that were not changed for
// longest. Sessions that are held or claimed stay. The rows are read twice if a
// rule keeps some. They are not all in memory: only maxPlan selected sessions, and
// the times of the sessions that rules keep.
func (r *Remover) Plan(ctx context.Context, p Policy) (*Plan, error) {
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
	goes := oldest{most: maxPlan}
	for row, err := range r.Directory.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		it, ok := Item{}, false
		switch {
		case row.Erased || row.Held != nil:
		case !row.Deleted:
			it, ok = p.item(now, &row, kept)
		case p.EraseTrash:
			if it, ok, err = r.overdue(ctx, row.ID); err != nil {
				return nil, err
			}
		}
		if ok {
			goes.add(it)
		}
	}
	plan := &Plan{Log: r.Log.Name(), Made: now.UTC().Truncate(time.Second), Policy: p, Items: goes.sorted(), More: goes.more}
	plan.ID = plan.id()
	return plan, nil
}

// kept returns the sessions that each rule keeps.
func (r *Remover) kept(ctx context.Context, rules []Rule) ([]latest, error) {
	kept := make([]latest, len(rules))
	if !slices.ContainsFunc(rules, func(l Rule) bool { return l.Keep > 0 }) {
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
			if l := &rules[i]; l.Keep > 0 && l.takes(&row) {
				kept[i].add(l.group(&row), l.Keep, standingOf(&row))
			}
		}
	}
	return kept, nil
}

// item returns what p does with a live session, according to the first rule that
// selects it. kept are the sessions that each rule keeps.
func (p *Policy) item(now time.Time, row *catalog.Row, kept []latest) (Item, bool) {
	if row.Holder != nil {
		return Item{}, false
	}
	for i := range p.Rules {
		l := &p.Rules[i]
		if !l.takes(row) {
			continue
		}
		isKept := l.Keep == 0 || kept[i].has(l.group(row), l.Keep, standingOf(row))
		if why := l.why(now, row, isKept); why != "" {
			called := cmp.Or(l.Name, fmt.Sprintf("rule %d", i+1))
			return Item{Session: row.ID, Seq: row.Seq, Do: ToTrash, Why: called + ": " + why, Last: changed(row)}, true
		}
	}
	return Item{}, false
}

// overdue reports whether a session's time in the trash is over.
func (r *Remover) overdue(ctx context.Context, id core.SessionID) (it Item, ok bool, err error) {
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
		it = Item{
			Session: id, Seq: st.Seq, Do: ToErase, Last: st.Deleted.Time,
			Why: "its time in the trash is over since " + due.UTC().Format(time.RFC3339),
		}
		return nil
	})
	return it, ok, nil
}

func (l *Rule) takes(row *catalog.Row) bool {
	return (l.CWD == "" || row.CWD == l.CWD) && (l.Dialect == "" || row.Dialect == l.Dialect) &&
		(l.Tag == "" || slices.Contains(row.Tags, l.Tag)) && (l.UnlessTag == "" || !slices.Contains(row.Tags, l.UnlessTag))
}

func (l *Rule) group(row *catalog.Row) string {
	switch l.Per {
	case "cwd":
		return row.CWD
	case "dialect":
		return row.Dialect
	}
	return ""
}

// why returns why the rule selects row, empty if it does not. OlderThan does not
// select a row whose last change is unknown. isKept means that the session is among
// those that Keep keeps.
func (l *Rule) why(now time.Time, row *catalog.Row, isKept bool) string {
	last := changed(row)
	switch {
	case l.OlderThan > 0 && !last.IsZero() && now.Sub(last) > l.OlderThan:
		return fmt.Sprintf("not changed for %s, longer than %s", now.Sub(last).Truncate(time.Second), l.OlderThan)
	case l.LargerThan > 0 && row.Size > l.LargerThan:
		return fmt.Sprintf("%d bytes, more than %d", row.Size, l.LargerThan)
	case !isKept:
		return fmt.Sprintf("more than the %d that are kept", l.Keep)
	}
	return ""
}

// changed returns a session's last change, zero if unknown.
func changed(row *catalog.Row) time.Time {
	for _, text := range []string{row.Modified, row.Created} {
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			return t
		}
	}
	return time.Time{}
}

// id returns the digest of the plan.
func (p *Plan) id() string {
	whole := *p
	whole.ID = ""
	b, err := json.Marshal(whole)
	if err != nil {
		return "" // strings and numbers always marshal
	}
	sum := core.DigestOf(b)
	return hex.EncodeToString(sum[:8])
}

// Check returns core.ErrInvalid if p was changed since it was made, or is of
// another log.
func (p *Plan) Check(log string) error {
	switch {
	case p.ID != p.id():
		return fmt.Errorf("plan %q was changed since it was made: %w", p.ID, core.ErrInvalid)
	case p.Log != log:
		return fmt.Errorf("plan %s is of log %q, this is %q: %w", p.ID, p.Log, log, core.ErrInvalid)
	case len(p.Items) > maxPlan:
		return fmt.Errorf("plan %s has %d sessions, the limit is %d: %w", p.ID, len(p.Items), maxPlan, core.ErrInvalid)
	}
	return nil
}

// Trash moves the session of an item to the trash. It returns core.ErrConflict if
// the session has changed since the plan was made, or is claimed.
func (r *Remover) Trash(ctx context.Context, it Item, n core.Notice) error {
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
func (r *Remover) Unchanged(ctx context.Context, it Item) error {
	s, err := r.Cache.Fresh(ctx, it.Session)
	if err != nil {
		return err
	}
	return s.View(func(st *core.State) error { return unchanged(st, it) })
}

// unchanged returns core.ErrConflict if st has records other than checkpoints after
// the item's.
func unchanged(st *core.State, it Item) error {
	if st.Seq == it.Seq || st.Tail == 0 && st.Checkpointed == it.Seq {
		return nil
	}
	return fmt.Errorf("it has changed since the plan was made: %w", core.ErrConflict)
}
