package nova

import (
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/jsonline"
)

// Limits on the values of a change, in bytes. A state points to content and
// does not hold it.
const (
	maxText = 16 << 10 // of a decision, a rationale, a plan
	maxName = 4 << 10  // of a path, a name, a tag
	maxTags = 1000
)

// Each of the functions below returns the line of a change, without id and
// time, for Dialect.Fill. Fold takes all of them.

// NewState returns the line that makes s the session's state.
func NewState(s State) ([]byte, error) {
	dict := s.Dict()
	if _, err := ReadDict(dict); err != nil {
		return nil, err
	}
	w := begin(typeState)
	w.key("state")
	w.b = append(w.b, dict...)
	return w.end(), nil
}

// NewTask returns the line of a task that was run: it adds turns turns, none if
// that is negative, and one task. A decision that the task made may come with
// it; without a timestamp it gets the time of the line. A state that the task
// leaves over l is compressed when the task is stored.
func NewTask(turns int64, made *Decision, l Limits) ([]byte, error) {
	w := begin(typeTask)
	w.number("turns", min(max(0, turns), most))
	if l != DefaultLimits {
		w.limits(l)
	}
	if made != nil {
		if err := checkDecision(*made); err != nil {
			return nil, err
		}
		w.key("decision")
		w.decision(*made)
	}
	return w.end(), nil
}

// NewDecision returns the line of a decision.
func NewDecision(d Decision) ([]byte, error) {
	if err := checkDecision(d); err != nil {
		return nil, err
	}
	w := begin(typeDecision)
	w.key("decision")
	w.decision(d)
	return w.end(), nil
}

// NewArtifact returns the line that sets the path of the artifact called name.
// It replaces an earlier path. The path is not checked.
func NewArtifact(name, path string) ([]byte, error) {
	if err := check("name", name, maxName); err != nil {
		return nil, err
	}
	if err := check("path", path, maxName); err != nil {
		return nil, err
	}
	w := begin(typeArtifact)
	w.text("name", name)
	w.text("path", path)
	return w.end(), nil
}

// NewTokens returns the line that adds n used tokens, none if n is negative.
func NewTokens(n int64) []byte {
	w := begin(typeTokens)
	w.number("count", min(max(0, n), most))
	return w.end()
}

// NewCompress returns the line that drops what exceeds l.
func NewCompress(l Limits) []byte {
	w := begin(typeCompress)
	w.limits(l)
	return w.end()
}

func (w *writer) limits(l Limits) {
	w.number("max_decisions", int64(max(0, l.Decisions)))
	w.number("max_tokens", min(l.Tokens, most))
}

// NewUpdate returns the line of an update by people. updates is a JSON object
// with any of current_plan, agent_name (text, null for none), model (text) and
// tags (list of texts); plan_summary is another name for current_plan. Returns
// a core.ErrInvalid that names the member if it cannot be set.
func NewUpdate(updates []byte) ([]byte, error) {
	u, err := readUpdate(updates)
	if err != nil {
		return nil, err
	}
	if u.empty() {
		return nil, fmt.Errorf("nothing to update, there are: %s: %w", settable, core.ErrInvalid)
	}
	w := begin(typeUpdate)
	u.write(w)
	return w.end(), nil
}

// NewName returns the line that names the session. An empty name clears.
func (Dialect) NewName(name string) []byte {
	w := begin(typeName)
	w.text("name", name)
	return w.end()
}

// NewLabel returns the line that labels another line, or clears its label if
// label is empty.
func (Dialect) NewLabel(target, label string) []byte {
	w := begin(typeLabel)
	w.text("target", target)
	w.text("label", label)
	return w.end()
}

// update is what people set; nil is what they did not.
type update struct {
	plan, agent, model *string
	tags               *[]string
}

const settable = "current_plan (or plan_summary), agent_name, model, tags"

func (u *update) empty() bool {
	return u.plan == nil && u.agent == nil && u.model == nil && u.tags == nil
}

// write writes u with the names that a state has.
func (u *update) write(w *writer) {
	for _, m := range []struct {
		name string
		text *string
	}{{"current_plan", u.plan}, {"agent_name", u.agent}, {"model", u.model}} {
		if m.text != nil {
			w.text(m.name, *m.text)
		}
	}
	if u.tags != nil {
		w.key("tags")
		w.texts(*u.tags)
	}
}

func (u *update) apply(s *State) {
	if u.plan != nil {
		s.CurrentPlan = *u.plan
	}
	if u.agent != nil {
		s.AgentName = *u.agent
	}
	if u.model != nil {
		s.Model = *u.model
	}
	if u.tags != nil {
		s.Tags = *u.tags
	}
}

func readUpdate(src []byte) (update, error) {
	var u update
	o, err := jsjson.ParseObject(src)
	if err != nil {
		return u, fmt.Errorf("updates: %v: %w", err, core.ErrInvalid)
	}
	r := reader{o: &o}
	err = jsonline.Members(src, func(name string, _ jsontext.Value) {
		switch name {
		case "current_plan", "plan_summary":
			u.plan = r.set(name, maxText)
		case "agent_name":
			u.agent = r.set(name, maxName)
		case "model":
			u.model = r.set(name, maxName)
			if *u.model == "" {
				r.fail(name, "is empty")
			}
		case "tags":
			u.tags = r.setTags(name)
		default:
			r.fail(jsonl.Clip(name, 40), "cannot be updated, there are: "+settable)
		}
	})
	if err == nil {
		err = r.err
	}
	return u, err
}

// set reads a text that people set; null is the empty one.
func (r *reader) set(name string, longest int) *string {
	s := r.text(name, "")
	if r.err == nil {
		r.err = check(name, s, longest)
	}
	return &s
}

func (r *reader) setTags(name string) *[]string {
	tags := r.texts(name)
	if len(tags) > maxTags {
		r.fail(name, fmt.Sprintf("has %d items, %d are allowed", len(tags), maxTags))
	}
	for _, tag := range tags {
		if r.err == nil {
			r.err = check(name, tag, maxName)
		}
	}
	return &tags
}

func checkDecision(d Decision) error {
	if err := check("decision", d.Decision, maxText); err != nil {
		return err
	}
	if err := check("rationale", d.Rationale, maxText); err != nil {
		return err
	}
	if err := check("timestamp", d.Timestamp, 64); err != nil {
		return err
	}
	return checkExtra(d.Extra)
}

func check(what, s string, longest int) error {
	if len(s) > longest {
		return fmt.Errorf("%s is %d bytes long, %d are allowed; a state points at content, it does not hold it: %w", what, len(s), longest, core.ErrInvalid)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s is not valid UTF-8: %w", what, core.ErrInvalid)
	}
	return nil
}

// members reads the line of an entry.
func members(e core.Entry) (*reader, bool) {
	o, err := jsjson.ParseObject(e.Line)
	return &reader{o: &o}, err == nil
}

// updates reads the members that an update sets.
func (r *reader) updates() (update, error) {
	o := *r.o
	for _, name := range []string{"type", "id", "timestamp"} {
		o.Delete(name)
	}
	src, err := jsonl.Build(&o)
	if err != nil {
		return update{}, err
	}
	return readUpdate(src)
}
