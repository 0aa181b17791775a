package nova

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/esjson"
)

// Read returns a decision and a plan as notes, so that an agent of another
// kind that goes on with the session knows them; of a whole state the text of
// its context. Counters and pointers say nothing to another agent.
func (Dialect) Read(e core.Entry) []core.Item {
	switch e.Type {
	case typeName:
		return []core.Item{{Kind: core.ItemName, Time: isoTime(e.Time), Text: memberText(e, "name")}}
	case typeLabel:
		return []core.Item{{Kind: core.ItemLabel, Time: isoTime(e.Time), Target: memberText(e, "target"), Text: memberText(e, "label")}}
	}
	if _, known := membersOf[e.Type]; !known {
		return nil
	}
	c, err := readChange(e.Line)
	if err != nil {
		return nil
	}
	switch {
	case c.whole != nil:
		return []core.Item{{Kind: core.ItemModel, Time: isoTime(e.Time), Model: c.whole.Model}, note(e, c.whole.Text())}
	case c.decision != nil:
		text := "Decision: " + c.decision.Decision
		if c.decision.Rationale != "" {
			text += "\nRationale: " + c.decision.Rationale
		}
		return []core.Item{note(e, text)}
	case c.kind == typeUpdate:
		var s State
		s = c.apply(s)
		var items []core.Item
		if s.Model != "" {
			items = append(items, core.Item{Kind: core.ItemModel, Time: isoTime(e.Time), Model: s.Model})
		}
		if s.CurrentPlan != "" {
			items = append(items, note(e, "Plan: "+s.CurrentPlan))
		}
		return items
	}
	return nil
}

func note(e core.Entry, text string) core.Item {
	return core.Item{Kind: core.ItemNote, Time: isoTime(e.Time), Type: "nova." + e.Type, Blocks: []core.Block{{Kind: core.BlockText, Text: text}}}
}

// Write makes lines of a name, a label and a model. Everything else is lost:
// Nova keeps pointers and decisions, no messages.
func (d Dialect) Write(it core.Item) (line []byte, lost []string) {
	switch it.Kind {
	case core.ItemName:
		return d.NewName(it.Text), nil
	case core.ItemLabel:
		return d.NewLabel(it.Target, it.Text), nil
	case core.ItemModel:
		if it.For != "" || it.Model == "" {
			return nil, []string{"the model of a role: Nova has one model"}
		}
		var b builder
		b.member("model", esjson.AppendString(nil, it.Model))
		if line, err := Update(b.object()); err == nil {
			return line, nil
		}
	}
	return nil, []string{string(it.Kind) + ": Nova keeps pointers and decisions, not content"}
}
