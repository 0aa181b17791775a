package nova

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/item"
)

// The types of notes that Read makes.
const (
	noteState    = "nova.state"
	noteDecision = "nova.decision"
	notePlan     = "nova.plan"
)

// Read returns what e says in terms that all agents share: a state is a note
// with what Nova tells its model, a decision and a plan are notes, a model is a
// model. Counters and pointers have no counterpart.
func (Dialect) Read(e core.Entry) []item.Item {
	r, ok := members(e)
	if !ok {
		return nil
	}
	var its []item.Item
	switch e.Type {
	case typeState:
		if _, s, err := readState(e); err == nil {
			its = append(its, note(noteState, s.Text(), s.Dict()))
		}
	case typeTask, typeDecision:
		if d, ok := decisionOf(e, r); ok {
			its = append(its, note(noteDecision, d.text(), d.dict()))
		}
	case typeUpdate:
		its = readUpdates(r)
	case typeName:
		its = append(its, item.Item{Kind: item.Name, Text: r.text("name", "")})
	case typeLabel:
		its = append(its, item.Item{Kind: item.Label, Target: r.text("target", ""), Text: r.text("label", "")})
	}
	for i := range its {
		its[i].Time = toISO(e.Time)
	}
	return its
}

func readUpdates(r *reader) []item.Item {
	u, err := r.updates()
	if err != nil {
		return nil
	}
	var its []item.Item
	if u.plan != nil && *u.plan != "" {
		its = append(its, note(notePlan, "Plan: "+*u.plan, nil))
	}
	if u.model != nil {
		its = append(its, item.Item{Kind: item.Model, Model: *u.model})
	}
	return its
}

func note(kind, text string, details json.RawMessage) item.Item {
	return item.Item{Kind: item.Note, Type: kind, Blocks: []item.Block{{Kind: item.BlockText, Text: text}}, Details: details}
}

func (d Decision) text() string {
	if d.Rationale == "" {
		return "Decision: " + d.Decision
	}
	return "Decision: " + d.Decision + "\nRationale: " + d.Rationale
}

func (d Decision) dict() json.RawMessage {
	var w writer
	w.decision(d)
	return w.b
}

// Write makes a change that says it: a summary becomes the plan, a note that
// Read made of a decision becomes that decision. Nova keeps pointers, not
// content, so it has no place for messages, other notes and data of extensions.
func (d Dialect) Write(it item.Item) (line []byte, lost []string) {
	switch it.Kind {
	case item.Model:
		return writeModel(it)
	case item.Compaction, item.Branch:
		return writePlan(it)
	case item.Name:
		return d.NewName(it.Text), []string{"the name, which Nova's file has no place for"}
	case item.Label:
		return d.NewLabel(it.Target, it.Text), []string{"labels, which Nova's file has no place for"}
	case item.Note:
		return writeNote(it)
	}
	return nil, nil
}

func writeModel(it item.Item) ([]byte, []string) {
	if it.Model == "" || it.For != "" {
		return nil, nil
	}
	line, err := NewUpdate(member("model", it.Model))
	if err != nil {
		return nil, nil
	}
	if it.Provider != "" {
		return line, []string{"a model's provider"}
	}
	return line, nil
}

func writePlan(it item.Item) ([]byte, []string) {
	plan := clipText(it.Text)
	if plan == "" {
		return nil, nil
	}
	line, err := NewUpdate(member("current_plan", plan))
	if err != nil {
		return nil, nil
	}
	lost := it.LostOfSummary()
	if plan != it.Text {
		lost = append(lost, "the end of a summary")
	}
	if it.Target != "" {
		lost = append(lost, "which entries a summary is of")
	}
	if it.Details != nil {
		lost = append(lost, "details of a summary")
	}
	return line, lost
}

// writeNote writes a decision that Read made a note of.
func writeNote(it item.Item) ([]byte, []string) {
	if it.Type != noteDecision || it.Details == nil {
		return nil, nil
	}
	w := begin(typeDecision)
	w.key("decision")
	w.b = append(w.b, it.Details...)
	line := w.end()
	if _, ok := decisionLine(line); !ok {
		return nil, nil
	}
	return line, nil
}

func decisionLine(line []byte) (Decision, bool) {
	e, err := Dialect{}.Entry(line)
	if err != nil {
		return Decision{}, false
	}
	r, ok := members(e)
	if !ok {
		return Decision{}, false
	}
	return decisionOf(e, r)
}

func member(name, value string) []byte {
	b := append(jsjson.AppendString([]byte{'{'}, name), ':')
	return append(jsjson.AppendString(b, value), '}')
}

// clipText is as much of s as a plan may be long, between characters.
func clipText(s string) string {
	if len(s) <= maxText {
		return s
	}
	at := maxText
	for at > 0 && s[at]&0xC0 == 0x80 {
		at--
	}
	return s[:at]
}
