package pi

import (
	"slices"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/talk"
	"github.com/sesslog/sesslog/core/item"
)

// Read returns what e says in terms that all agents share. A command that the
// user ran is read as a message of the user about it. Usage entries, edits of
// the context and lines of unknown types have no counterpart.
func (Dialect) Read(e core.Entry) []item.Item {
	o, err := jsonl.Object(e)
	if err != nil {
		return nil
	}
	text := func(name string) string {
		s, _ := jsonl.Text(o.Get(name))
		return s
	}
	switch e.Type {
	case "model_change":
		return []item.Item{{Kind: item.Model, Time: talk.Time(e), Provider: text("provider"), Model: text("modelId")}}
	case "session_info":
		return []item.Item{{Kind: item.Name, Time: talk.Time(e), Text: jsonl.Trim(text("name"))}}
	}
	return talk.Read(e, &o)
}

// levels are the thinking levels that pi has, from the least to the most.
var levels = []string{"off", "minimal", "low", "medium", "high", "xhigh"}

// Write makes a line that says it. pi has no entries for a mode or a channel,
// nor for the position of a session, which is its last line.
func (Dialect) Write(it item.Item) (line []byte, lost []string) {
	switch it.Kind {
	case item.Model:
		if it.For != "" { // as a change of the model it would change the session's own
			return nil, []string{"the model for the role " + strconv.Quote(jsonl.Clip(it.For, 40))}
		}
		b := jsonl.AppendMember([]byte(`{"type":"model_change"`), "provider", it.Provider)
		return append(jsonl.AppendMember(b, "modelId", it.Model), '}'), nil
	case item.Level:
		level := it.Text
		if !slices.Contains(levels, level) {
			lost = append(lost, item.LostLevel(level, levels))
			if level != "max" { // no word for how much
				return nil, lost
			}
			level = levels[len(levels)-1]
		}
		return append(jsonl.AppendMember([]byte(`{"type":"thinking_level_change"`), "thinkingLevel", level), '}'), lost
	case item.Name:
		return Dialect{}.NewName(it.Text), nil
	}
	return talk.Write(it, talk.Agent{Hidden: hidden, ByExtension: "fromHook"})
}

// hidden is a thought that the provider hid, which pi keeps as one without words.
func hidden(b []byte, seal string) []byte {
	b = append(b, `{"type":"thinking","thinking":"[Reasoning redacted]"`...)
	return append(jsonl.AppendMember(b, "thinkingSignature", seal), `,"redacted":true}`...)
}
