package nova

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/esjson"
)

// Each function here makes the line of one change, without id and time, for
// Fill or an append. A line that they return is one that Fill takes.

// AddDecision adds a decision and its reason; only the newest 10 stay. at is
// when it was made, ISO 8601, empty for the time of the line.
func AddDecision(decision, rationale, at string) ([]byte, error) {
	b := begin(typeDecision)
	b.text("decision", decision)
	b.text("rationale", rationale)
	b.optional("at", at)
	return b.checked()
}

// AddArtifact says where an artifact is, a path or a ref on one line. The same
// name again replaces.
func AddArtifact(name, path string) ([]byte, error) {
	b := begin(typeArtifact)
	b.text("name", name)
	b.text("path", path)
	return b.checked()
}

// AddTokens counts tokens. A number below 0 counts nothing.
func AddTokens(n int64) ([]byte, error) {
	b := begin(typeTokens)
	b.number("added", n)
	return b.checked()
}

// AddTurns counts turns, and one task whatever n is. A number below 0 counts
// no turns.
func AddTurns(n int64) ([]byte, error) {
	b := begin(typeTurns)
	b.number("added", n)
	return b.checked()
}

// Task is one run of a task: the decision, where there is one, a turn, and the
// compression that is due by then, in this order.
func Task(d *Decision, l Limits) ([]byte, error) {
	b := begin(typeTask)
	if d != nil {
		b.text("decision", d.Decision)
		b.text("rationale", d.Rationale)
		b.optional("at", d.Timestamp)
	}
	b.limits(l)
	return b.checked()
}

// Compress keeps the last decisions and drops the artifacts where there are
// too many tokens. With onlyDue it does nothing to a state that is not due.
func Compress(l Limits, onlyDue bool) ([]byte, error) {
	b := begin(typeCompress)
	b.limits(l)
	if onlyDue {
		b.member("only_due", []byte("true"))
	}
	return b.checked()
}

// Fork counts a fork that was taken of the session. child is its session_id.
func Fork(child string) ([]byte, error) {
	b := begin(typeFork)
	b.text("child", child)
	return b.checked()
}

// Update sets fields: updates is an object of current_plan (plan_summary is
// the same), agent_name, model and tags. null takes away a plan, an agent and
// the tags. core.ErrInvalid names a field that cannot be set.
func Update(updates []byte) ([]byte, error) {
	v := jsontext.Value(slices.Clone(updates))
	if err := v.Compact(); err != nil || v.Kind() != '{' {
		return nil, fmt.Errorf("updates are one JSON object: %w", core.ErrInvalid)
	}
	b := begin(typeUpdate)
	b.member("updates", v)
	return b.checked()
}

// Whole replaces the state by s, whose session_id must be the session's own to
// count.
func Whole(s State) ([]byte, error) {
	if err := CheckID(s.SessionID); err != nil {
		return nil, err
	}
	b := begin(typeState)
	b.member("state", s.JSON())
	return b.checked()
}

func begin(kind string) *builder {
	b := &builder{}
	b.text("type", kind)
	return b
}

func (o *builder) limits(l Limits) {
	o.number("max_decisions", int64(l.Decisions))
	o.number("max_tokens", l.Tokens)
}

// checked returns the line, or why it is none.
func (o *builder) checked() ([]byte, error) {
	line := o.object()
	_, err := readChange(line)
	return line, err
}

// A change is a line read. Which fields count is up to its type.
type change struct {
	kind      string
	decision  *Decision
	artifact  Artifact
	added     int64
	limits    Limits
	onlyDue   bool
	child     string
	updates   []func(*State)
	whole     *State
	text      []byte // of the whole state, as its file had it
	timestamp string // of the line
}

// readChange reads a line of a type that is a change, and checks it. A line of
// another type is a change of nothing.
func readChange(line []byte) (change, error) {
	c := change{limits: DefaultLimits()}
	var d Decision
	var decided bool
	var bad error
	keep := func(err error) {
		if bad == nil {
			bad = err
		}
	}
	kind := ""
	err := core.Members(line, func(name string, v jsontext.Value) {
		if name == "type" {
			kind, _ = esjson.Value(v).Text()
		}
	})
	if err != nil {
		return c, err
	}
	c.kind = kind
	err = core.Members(line, func(name string, v jsontext.Value) {
		r := field{name: name, value: v}
		switch {
		case name == "timestamp":
			c.timestamp, _ = esjson.Value(v).Text()
		case !c.has(name):
		case name == "decision":
			d.Decision, decided = r.text(), true
		case name == "rationale":
			d.Rationale, decided = r.text(), true
		case name == "at":
			d.Timestamp = r.optional()
		case name == "name":
			c.artifact.Name = r.text()
		case name == "path":
			c.artifact.Path = r.text()
		case name == "added":
			c.added = r.integer()
		case name == "max_decisions":
			c.limits.Decisions = int(min(r.count(), 1<<30))
		case name == "max_tokens":
			c.limits.Tokens = r.count()
		case name == "only_due":
			c.onlyDue = r.bool()
		case name == "child":
			c.child = r.text()
		case name == "updates":
			c.updates = r.updates()
		case name == "state":
			c.readWhole(&r, v)
		case name == "text":
			c.readWhole(&r, []byte(r.text()))
		}
		keep(r.err)
	})
	if decided {
		c.decision = &d
	}
	keep(c.check())
	if err == nil {
		err = bad
	}
	return c, err
}

// has reports whether lines of c's type have a member called name.
func (c *change) has(name string) bool {
	return slices.Contains(membersOf[c.kind], name)
}

var membersOf = map[string][]string{
	typeState:    {"state", "text"},
	typeDecision: {"decision", "rationale", "at"},
	typeArtifact: {"name", "path"},
	typeTokens:   {"added"},
	typeTurns:    {"added"},
	typeTask:     {"decision", "rationale", "at", "max_decisions", "max_tokens"},
	typeUpdate:   {"updates"},
	typeCompress: {"max_decisions", "max_tokens", "only_due"},
	typeFork:     {"child"},
}

func (c *change) readWhole(r *field, text []byte) {
	if r.err != nil {
		return
	}
	s, err := Parse(text)
	if err != nil {
		r.err = err
		return
	}
	c.whole, c.text = &s, slices.Clone(text)
}

func (c *change) check() error {
	switch {
	case c.kind == typeDecision && c.decision == nil:
		return fmt.Errorf("a decision says nothing: %w", core.ErrInvalid)
	case c.kind == typeState && c.whole == nil:
		return fmt.Errorf("a state entry holds no state: %w", core.ErrInvalid)
	case c.kind == typeUpdate && len(c.updates) == 0:
		return fmt.Errorf("an update sets nothing; fields are: current_plan, agent_name, model, tags: %w", core.ErrInvalid)
	case c.kind == typeArtifact && c.artifact.Name == "":
		return fmt.Errorf("an artifact has no name: %w", core.ErrInvalid)
	case c.kind == typeArtifact && (len(c.artifact.Path) > maxPath || strings.ContainsAny(c.artifact.Path, "\r\n")):
		return fmt.Errorf("artifact %q: a path is one line of at most %d bytes; Nova keeps paths, not content: %w", clip(c.artifact.Name), maxPath, core.ErrInvalid)
	case c.kind == typeFork:
		return CheckID(c.child)
	case c.decision != nil:
		return checkTexts(text{"decision", c.decision.Decision}, text{"rationale", c.decision.Rationale})
	}
	return checkTexts(text{"name", c.artifact.Name})
}

// Bounds of what a change may say. Nova's state is small by design.
const (
	maxPath = 4 << 10
	maxText = 64 << 10
	maxTags = 1000
)

type text struct{ name, value string }

// checkTexts refuses what is too long to be a pointer or a summary.
func checkTexts(ts ...text) error {
	for _, t := range ts {
		if len(t.value) > maxText {
			return fmt.Errorf("%s has %d bytes, %d are allowed; Nova keeps pointers, not content: %w", t.name, len(t.value), maxText, core.ErrInvalid)
		}
	}
	return nil
}

func (r *field) integer() int64 {
	n, err := strconv.ParseInt(string(r.value), 10, 64)
	if err != nil {
		r.fail("whole number")
	}
	return n
}

// updates reads what an update sets.
func (r *field) updates() (set []func(*State)) {
	r.members(func(m *field, name string) {
		switch name {
		case "current_plan", "plan_summary":
			v := m.bounded(m.optional())
			set = append(set, func(s *State) { s.CurrentPlan = v })
		case "agent_name":
			v := m.bounded(m.optional())
			set = append(set, func(s *State) { s.AgentName = v })
		case "model":
			v := m.bounded(m.text())
			if v == "" {
				m.fail("model's name")
			}
			set = append(set, func(s *State) { s.Model = v })
		case "tags":
			var tags []string
			if m.value.Kind() != 'n' {
				tags = unique(m.texts())
			}
			m.bounded(longest(tags))
			if len(tags) > maxTags {
				m.fail(fmt.Sprintf("list of at most %d tags", maxTags))
			}
			set = append(set, func(s *State) { s.Tags = slices.Clone(tags) })
		default:
			m.err = fmt.Errorf("field %q cannot be set; there are: current_plan, agent_name, model, tags: %w", clip(name), core.ErrInvalid)
		}
	})
	return set
}

func (r *field) bounded(s string) string {
	if err := checkTexts(text{r.name, s}); err != nil && r.err == nil {
		r.err = err
	}
	return s
}

func clip(s string) string { return s[:min(len(s), 64)] }
