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
	"github.com/sesslog/sesslog/materializer"
)

const (
	// MaxPlan is how many sessions a plan names at most.
	MaxPlan = 10_000
	// maxRules is how many rules a policy has at most.
	maxRules = 100
)

// A Policy says which sessions go to the trash, and whether the trash is
// emptied.
type Policy struct {
	Rules []Rule `json:"rules,omitempty"`
	// EraseTrash has sessions erased whose time in the trash is over.
	EraseTrash bool `json:"eraseTrash,omitempty"`
}

// A Rule is about the sessions that CWD, Dialect and Tag name, all where they are
// empty. Of those a session goes for which one of the limits says so.
type Rule struct {
	Name      string `json:"name,omitempty"`
	CWD       string `json:"cwd,omitempty"`
	Dialect   string `json:"dialect,omitempty"`
	Tag       string `json:"tag,omitempty"`
	UnlessTag string `json:"unlessTag,omitempty"` // sessions with this tag stay

	OlderThan  time.Duration `json:"olderThan,omitempty"`  // not changed for longer than this
	LargerThan int64         `json:"largerThan,omitempty"` // bytes of its lines
	Keep       int           `json:"keep,omitempty"`       // not among so many that were changed last
	Per        string        `json:"per,omitempty"`        // of which Keep counts: "cwd" or "dialect"; empty for all
}

// What is done to a session of a plan.
const (
	ToTrash = "delete"
	ToErase = "erase"
)

// An Item is a session that goes.
type Item struct {
	Session core.SessionID `json:"session"`
	Seq     uint64         `json:"seq"` // of its last record when the plan was made
	Do      string         `json:"do"`  // ToTrash or ToErase
	Why     string         `json:"why"`
	Last    time.Time      `json:"last,omitzero"` // its last change
}

// A Plan is what a policy comes to at one time. Its ID is made of the rest.
type Plan struct {
	ID     string    `json:"id"`
	Log    string    `json:"log"`
	Made   time.Time `json:"made"`
	Policy Policy    `json:"policy"`
	Items  []Item    `json:"items"`
	More   bool      `json:"more,omitempty"` // there would be more than MaxPlan
}

// An Outcome is what became of an item: done, or left alone, and why.
type Outcome struct {
	Item
	Done bool   `json:"done"`
	Left string `json:"left,omitempty"`
}

// Check returns core.ErrInvalid where p asks for nothing, or for what cannot be
// meant.
func (p *Policy) Check() error {
	bad := func(i int, what string) error {
		return fmt.Errorf("rule %d %s: %s: %w", i+1, p.Rules[i].Name, what, core.ErrInvalid)
	}
	if len(p.Rules) == 0 && !p.EraseTrash {
		return fmt.Errorf("the policy has no rules, and leaves the trash alone: %w", core.ErrInvalid)
	}
	if len(p.Rules) > maxRules {
		return fmt.Errorf("the policy has %d rules, %d are allowed: %w", len(p.Rules), maxRules, core.ErrInvalid)
	}
	for i, r := range p.Rules {
		switch {
		case r.OlderThan < 0 || r.LargerThan < 0 || r.Keep < 0:
			return bad(i, "a limit is below 0")
		case r.OlderThan == 0 && r.LargerThan == 0 && r.Keep == 0:
			return bad(i, "it has no limit: say older_than, larger_than or keep")
		case r.Per != "" && r.Per != "cwd" && r.Per != "dialect":
			return bad(i, "per is cwd or dialect")
		case r.Per != "" && r.Keep == 0:
			return bad(i, "per is for keep, which is not there")
		}
	}
	return nil
}

// Plan returns what p comes to now, the sessions first that were not changed for
// longest. A session that is held, or that a writer has claimed, stays.
func (r *Remover) Plan(ctx context.Context, p Policy) (*Plan, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := r.Materializer.CatchUp(ctx); err != nil {
		return nil, err
	}
	plan := &Plan{Log: r.Log.Name(), Made: r.now().UTC().Truncate(time.Second), Policy: p, Items: []Item{}}
	rows, err := r.Directory.Rows(ctx)
	if err != nil {
		return nil, err
	}
	var live []materializer.Row
	for _, row := range rows {
		switch {
		case row.Erased || row.Held != nil:
		case !row.Deleted:
			live = append(live, row)
		case p.EraseTrash:
			it, ok, err := r.overdue(ctx, row.ID)
			if err != nil {
				return nil, err
			}
			if ok {
				plan.Items = append(plan.Items, it)
			}
		}
	}
	goes := map[core.SessionID]bool{}
	for i := range p.Rules {
		for _, it := range p.Rules[i].items(r.now(), live, fmt.Sprintf("rule %d", i+1)) {
			if !goes[it.Session] {
				goes[it.Session] = true
				plan.Items = append(plan.Items, it)
			}
		}
	}
	slices.SortFunc(plan.Items, func(a, b Item) int {
		return cmp.Or(a.Last.Compare(b.Last), cmp.Compare(a.Session, b.Session))
	})
	if len(plan.Items) > MaxPlan {
		plan.Items, plan.More = plan.Items[:MaxPlan], true
	}
	plan.ID = plan.id()
	return plan, nil
}

// overdue reports whether a session's time in the trash is over.
func (r *Remover) overdue(ctx context.Context, id core.SessionID) (it Item, ok bool, err error) {
	s, err := r.Cache.Get(ctx, id)
	if errors.Is(err, core.ErrUnavailable) {
		return it, false, err
	}
	if err != nil {
		return it, false, nil // erased since, or damaged: that is not for a plan to tell
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

// items are the sessions that go by rule l.
func (l *Rule) items(now time.Time, rows []materializer.Row, called string) []Item {
	if l.Name != "" {
		called = l.Name
	}
	groups := map[string][]materializer.Row{}
	for _, row := range rows {
		if l.takes(&row) {
			groups[l.group(&row)] = append(groups[l.group(&row)], row)
		}
	}
	var items []Item
	for _, group := range groups {
		slices.SortFunc(group, func(a, b materializer.Row) int { // the latest first
			return cmp.Or(changed(&b).Compare(changed(&a)), cmp.Compare(a.ID, b.ID))
		})
		for i := range group {
			row := &group[i]
			if why := l.why(now, row, i); why != "" && row.Holder == nil {
				items = append(items, Item{Session: row.ID, Seq: row.Seq, Do: ToTrash, Why: called + ": " + why, Last: changed(row)})
			}
		}
	}
	return items
}

func (l *Rule) takes(row *materializer.Row) bool {
	return (l.CWD == "" || row.CWD == l.CWD) && (l.Dialect == "" || row.Dialect == l.Dialect) &&
		(l.Tag == "" || slices.Contains(row.Tags, l.Tag)) && (l.UnlessTag == "" || !slices.Contains(row.Tags, l.UnlessTag))
}

func (l *Rule) group(row *materializer.Row) string {
	switch l.Per {
	case "cwd":
		return row.CWD
	case "dialect":
		return row.Dialect
	}
	return ""
}

// why is why row goes, which is the nth of its group; empty where it stays. One
// whose last change is not known is not too old.
func (l *Rule) why(now time.Time, row *materializer.Row, n int) string {
	last := changed(row)
	switch {
	case l.OlderThan > 0 && !last.IsZero() && now.Sub(last) > l.OlderThan:
		return fmt.Sprintf("not changed for %s, longer than %s", now.Sub(last).Truncate(time.Second), l.OlderThan)
	case l.LargerThan > 0 && row.Size > l.LargerThan:
		return fmt.Sprintf("%d bytes, more than %d", row.Size, l.LargerThan)
	case l.Keep > 0 && n >= l.Keep:
		return fmt.Sprintf("more than the %d that are kept", l.Keep)
	}
	return ""
}

// changed is a session's last change, zero where it is not known.
func changed(row *materializer.Row) time.Time {
	for _, text := range []string{row.Modified, row.Created} {
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			return t
		}
	}
	return time.Time{}
}

// id is made of all that the plan says.
func (p *Plan) id() string {
	whole := *p
	whole.ID = ""
	b, err := json.Marshal(whole)
	if err != nil {
		return "" // it is made of strings and numbers
	}
	sum := core.DigestOf(b)
	return hex.EncodeToString(sum[:8])
}

// Check returns core.ErrInvalid where p is not as it was made, or of another log.
func (p *Plan) Check(log string) error {
	switch {
	case p.ID != p.id():
		return fmt.Errorf("plan %q was changed since it was made: %w", p.ID, core.ErrInvalid)
	case p.Log != log:
		return fmt.Errorf("plan %s is of log %q, this is %q: %w", p.ID, p.Log, log, core.ErrInvalid)
	case len(p.Items) > MaxPlan:
		return fmt.Errorf("plan %s names %d sessions, %d are allowed: %w", p.ID, len(p.Items), MaxPlan, core.ErrInvalid)
	}
	return nil
}

// Trash puts the session of an item in the trash, unless it has changed since
// the plan was made, or a writer has claimed it: that is core.ErrConflict.
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

// Unchanged returns core.ErrConflict where the session of an item has changed
// since the plan was made.
func (r *Remover) Unchanged(ctx context.Context, it Item) error {
	s, err := r.Cache.Fresh(ctx, it.Session)
	if err != nil {
		return err
	}
	return s.View(func(st *core.State) error { return unchanged(st, it) })
}

// unchanged takes a session behind which there is nothing but checkpoints.
func unchanged(st *core.State, it Item) error {
	if st.Seq == it.Seq || st.Tail == 0 && st.Checkpointed == it.Seq {
		return nil
	}
	return fmt.Errorf("it has changed since the plan was made: %w", core.ErrConflict)
}
