package nova

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsonl"
)

// Leaf is the last entry.
func (Dialect) Leaf(es []core.Entry) core.Leaf {
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].ID != "" {
			return core.LeafAt(es[i].ID)
		}
	}
	return core.NoLeaf
}

// Path is the chain up to leaf. core.ErrNotFound when leaf names an entry that
// is not there.
func (Dialect) Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	id, ok := leaf.ID()
	if leaf.IsNone() {
		return nil, nil
	}
	if !ok {
		return es, nil
	}
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].ID == id {
			return es[: i+1 : i+1], nil
		}
	}
	return nil, fmt.Errorf("entry %q: %w", clip(id), core.ErrNotFound)
}

// Tree is the chain, each entry below the one before it.
func (Dialect) Tree(es []core.Entry) []core.TreeNode {
	labels := labelsOf(es)
	nodes := make([]core.TreeNode, 0, len(es))
	for _, e := range es {
		n := core.TreeNode{ID: e.ID, Type: e.Type, Depth: len(nodes)}
		if l, ok := labels[e.ID]; ok {
			n.Label, n.LabelTimestamp = &l.text, &l.time
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// Text is what Nova tells a model of the session: lines of its id, model and
// turns, the plan and the latest decision where there are any.
func (s State) Text() string {
	lines := []string{"Session ID: " + s.SessionID, "Model: " + s.Model, "Turns: " + strconv.FormatInt(s.TurnCount, 10)}
	if s.CurrentPlan != "" {
		lines = append(lines, "Plan: "+s.CurrentPlan)
	}
	if n := len(s.Decisions); n > 0 {
		lines = append(lines, "Recent decision: "+s.Decisions[n-1].Decision)
	}
	return strings.Join(lines, "\n")
}

// Context is what run_task gives, read at leaf: session_id,
// resume_from_session, context (the text), state and model. The id is empty
// for a session that was made with a header alone.
func (d Dialect) Context(es []core.Entry, leaf core.Leaf) (json.RawMessage, error) {
	path, err := d.Path(es, leaf)
	if err != nil {
		return nil, err
	}
	s := Fold(core.Header{ID: idOf(es)}, path)
	return s.Context(), nil
}

// Context is the object that run_task returns.
func (s State) Context() json.RawMessage {
	var b builder
	b.text("session_id", s.SessionID)
	b.text("resume_from_session", s.SessionID)
	b.text("context", s.Text())
	b.member("state", s.JSON())
	b.text("model", s.Model)
	return b.object()
}

// idOf is the session's id as its first entry has it.
func idOf(es []core.Entry) string {
	for _, e := range es {
		if e.Type == typeCreated {
			return memberText(e, "session_id")
		}
	}
	return ""
}

// Info describes the session; its own is the state as to_dict has it.
// core.ErrNotFound when leaf names an entry that is not there.
func (d Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (core.Info, error) {
	path, err := d.Path(es, leaf)
	if err != nil {
		return core.Info{}, err
	}
	header := jsontext.Value(slices.Clone(h.Line))
	if err := header.Compact(); err != nil {
		return core.Info{}, fmt.Errorf("the header: %v: %w", err, core.ErrInvalid)
	}
	info := core.Info{
		Header: json.RawMessage(header), Version: json.RawMessage("1"), SessionID: h.ID, CWD: h.CWD,
		EntryCount: len(es), Types: map[string]int{}, Labels: map[string]string{}, Own: Fold(h, path).JSON(),
	}
	if id, ok := d.Leaf(path).ID(); ok {
		info.LeafID = &id
	}
	if n := nameOf(es); n != "" {
		info.Name = &n
	}
	for _, e := range es {
		info.Types[e.Type]++
	}
	for id, l := range labelsOf(es) {
		info.Labels[id] = l.text
	}
	return info, nil
}

// firstLength is how many characters of a plan are shown.
const firstLength = 200

// Summary is named as the session is, else after its agent. First is the plan,
// else the latest decision. Messages are turns. Nova does not tell tokens read
// from tokens written: Usage has them all as Input.
func (Dialect) Summary(h core.Header, es []core.Entry) core.Summary {
	s := Fold(h, es)
	first := s.CurrentPlan
	if n := len(s.Decisions); first == "" && n > 0 {
		first = s.Decisions[n-1].Decision
	}
	if r := []rune(first); len(r) > firstLength {
		first = string(r[:firstLength])
	}
	return core.Summary{
		Name: cmp.Or(nameOf(es), s.AgentName), First: first, Messages: int(s.TurnCount), Tags: slices.Clone(s.Tags),
		Created: isoTime(s.CreatedAt), Modified: isoTime(s.LastUpdated), Usage: core.Usage{Input: s.TokensUsed},
	}
}

func nameOf(es []core.Entry) string {
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].Type == typeName {
			return memberText(es[i], "name")
		}
	}
	return ""
}

type label struct{ text, time string }

func labelsOf(es []core.Entry) map[string]label {
	ls := map[string]label{}
	for _, e := range es {
		if e.Type != typeLabel {
			continue
		}
		target, text := memberText(e, "target"), memberText(e, "label")
		if delete(ls, target); text != "" {
			ls[target] = label{text, e.Time}
		}
	}
	return ls
}

func memberText(e core.Entry, name string) string {
	o, err := jsonl.Object(e)
	if err != nil {
		return ""
	}
	s, _ := o.Get(name).Text()
	return s
}
