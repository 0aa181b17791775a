package nova

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

const (
	maxState     = 1 << 20 // bytes of a state's document
	maxArtifacts = 10_000
)

// kinds are the types of lines that a session takes, for people.
const kinds = "state, task, decision, artifact, tokens, update, compress, forked, name, label"

// Check refuses lines that are not a change of a session, or that hold content:
// a state has pointers and short texts.
func (d Dialect) Check(line []byte) error {
	e, err := d.Entry(line)
	if err != nil {
		return err
	}
	r, ok := members(e)
	if !ok {
		return fmt.Errorf("it is not an object: %w", core.ErrInvalid)
	}
	switch e.Type {
	case typeBegin:
		r.required("session_id")
	case typeState:
		return checkState(e)
	case typeName:
		err = check("name", r.text("name", ""), maxName)
	case typeLabel:
		if err = check("target", r.text("target", ""), maxName); err == nil {
			err = check("label", r.text("label", ""), maxName)
		}
	case typeTask, typeDecision, typeArtifact, typeTokens, typeUpdate, typeCompress, typeForked:
		err = checkChange(e, r)
	default:
		return fmt.Errorf("type %q is not a change of a Nova session, which has: %s; it points at content and does not hold it: %w", jsonl.Clip(e.Type, 40), kinds, core.ErrInvalid)
	}
	if err == nil {
		err = r.err
	}
	if err != nil {
		return err
	}
	return r.checkRest(e)
}

func checkChange(e core.Entry, r *reader) error {
	var f folding
	if e.Type == typeUpdate {
		_, err := r.updates()
		return err
	}
	if !f.change(e, r) {
		r.fail(e.Type, "lacks a member that it requires")
		return r.err
	}
	for _, made := range f.Decisions {
		if err := checkDecision(made); err != nil {
			return err
		}
	}
	for name, path := range f.Artifacts {
		if err := checkArtifact(name, path); err != nil {
			return err
		}
	}
	switch e.Type {
	case typeForked:
		return CheckID(r.text("child", ""))
	case typeTask:
		r.limits()
	case typeCompress:
		if r.get("max_decisions") == nil || r.get("max_tokens") == nil {
			return fmt.Errorf("compress has no max_decisions or no max_tokens: it would drop everything: %w", core.ErrInvalid)
		}
	}
	return nil
}

// checkRest refuses large members that no change has.
func (r *reader) checkRest(e core.Entry) error {
	r.known = append(r.known, "type", "id", "timestamp")
	if e.Type == typeUpdate { // it refuses members that it does not know
		return nil
	}
	return checkExtra(r.rest(e.Line))
}

func checkExtra(extra []byte) error {
	if len(extra) > maxName {
		return fmt.Errorf("unknown members have %d bytes, %d are allowed; a state points at content, it does not hold it: %w", len(extra), maxName, core.ErrInvalid)
	}
	return nil
}

func checkArtifact(name, path string) error {
	if err := check("name", name, maxName); err != nil {
		return err
	}
	return check("path", path, maxName)
}

func checkState(e core.Entry) error {
	doc, s, err := readState(e)
	switch {
	case err != nil:
		return err
	case len(doc) > maxState:
		return fmt.Errorf("a state of %d bytes, %d are allowed; it points at content, it does not hold it: %w", len(doc), maxState, core.ErrInvalid)
	case len(s.Tags) > maxTags || len(s.Artifacts) > maxArtifacts:
		return fmt.Errorf("a state of %d tags and %d artifacts, %d and %d are allowed: %w", len(s.Tags), len(s.Artifacts), maxTags, maxArtifacts, core.ErrInvalid)
	}
	if err := check("current_plan", s.CurrentPlan, maxText); err != nil {
		return err
	}
	for _, name := range append([]string{s.Model, s.AgentName}, s.Tags...) {
		if err := check("a name", name, maxName); err != nil {
			return err
		}
	}
	for _, made := range s.Decisions {
		if err := checkDecision(made); err != nil {
			return err
		}
	}
	for name, path := range s.Artifacts {
		if err := checkArtifact(name, path); err != nil {
			return err
		}
	}
	if err := checkExtra(s.Metrics.Extra); err != nil {
		return err
	}
	return checkExtra(s.Extra)
}

// changeMembers are the members of each change, besides type, id and timestamp.
var changeMembers = map[string][]string{
	typeTask:     {"turns", "decision", "max_decisions", "max_tokens"},
	typeDecision: {"decision"},
	typeArtifact: {"name", "path"},
	typeTokens:   {"count"},
	typeCompress: {"max_decisions", "max_tokens"},
	typeForked:   {"child"},
	typeName:     {"name"},
	typeLabel:    {"target", "label"},
}

// checkMembers refuses members that a change does not have: they would have no
// effect.
func checkMembers(e core.Entry) error {
	known, ok := changeMembers[e.Type]
	r, isObject := members(e)
	if !ok || !isObject {
		return nil
	}
	r.known = append(append(r.known, "type", "id", "timestamp"), known...)
	if extra := r.rest(e.Line); len(extra) > 0 {
		return fmt.Errorf("%s has unknown members: %s; it points at content, it does not hold it: %w", e.Type, jsonl.Clip(string(extra), 100), core.ErrInvalid)
	}
	return nil
}

// Admit refuses the state and the beginning of another session, which would
// replace all that this one has, labels of lines that do not exist, and changes with
// unknown members.
func (Dialect) Admit(s core.Admission, e core.Entry) error {
	if err := checkMembers(e); err != nil {
		return err
	}
	id := ""
	switch e.Type {
	case typeLabel:
		r, _ := members(e)
		if target := r.text("target", ""); !s.Has(target) {
			return fmt.Errorf("it labels entry %q, which does not exist before it: %w", jsonl.Clip(target, 64), core.ErrInvalid)
		}
		return nil
	case typeState:
		_, state, err := readState(e)
		if err != nil {
			return err
		}
		id = state.SessionID
	case typeBegin:
		r, _ := members(e)
		id = r.text("session_id", "")
	default:
		return nil
	}
	if id != s.Header.ID {
		return fmt.Errorf("it belongs to session %q, not to %q: %w", jsonl.Clip(id, 64), jsonl.Clip(s.Header.ID, 64), core.ErrInvalid)
	}
	return nil
}
