package report

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
)

const (
	// MaxPlan limits the sessions in a plan.
	MaxPlan = 10_000
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
	Last    time.Time      `json:"last,omitzero"` // when it was modified, or moved to the trash
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

// Digest returns the ID that the plan must have: a digest of the rest.
func (p *Plan) Digest() string {
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
	case p.ID != p.Digest():
		return fmt.Errorf("plan %q was changed since it was made: %w", p.ID, core.ErrInvalid)
	case p.Log != log:
		return fmt.Errorf("plan %s is of log %q, this is %q: %w", p.ID, p.Log, log, core.ErrInvalid)
	case len(p.Items) > MaxPlan:
		return fmt.Errorf("plan %s has %d sessions, the limit is %d: %w", p.ID, len(p.Items), MaxPlan, core.ErrInvalid)
	}
	return nil
}
