package pi

import (
	"slices"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/talk"
)

// Read returns what e says in terms that all agents share. A command that the
// user ran reads as the user telling of it. Usage entries, edits of the context
// and lines of unknown types say nothing to others.
func (Dialect) Read(e core.Entry) []core.Item {
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
		return []core.Item{{Kind: core.ItemModel, Time: e.Time, Provider: text("provider"), Model: text("modelId")}}
	case "session_info":
		return []core.Item{{Kind: core.ItemName, Time: e.Time, Text: jsonl.Trim(text("name"))}}
	}
	return talk.Read(e, &o)
}

// levels are the thinking levels that pi has, from the least to the most.
var levels = []string{"off", "minimal", "low", "medium", "high", "xhigh"}

// Write makes a line that says it. What pi has no entries for, a mode or a
// channel, it cannot say; nor where a session stands, which is its last line.
func (Dialect) Write(it core.Item) (line []byte, lost []string) {
	switch it.Kind {
	case core.ItemModel:
		if it.For != "" {
			lost = append(lost, "the role that a model is for")
		}
		b := jsonl.AppendMember([]byte(`{"type":"model_change"`), "provider", it.Provider)
		return append(jsonl.AppendMember(b, "modelId", it.Model), '}'), lost
	case core.ItemLevel:
		level := it.Text
		if !slices.Contains(levels, level) {
			lost = append(lost, "thinking level "+strconv.Quote(level))
			level = levels[len(levels)-1]
		}
		return append(jsonl.AppendMember([]byte(`{"type":"thinking_level_change"`), "thinkingLevel", level), '}'), lost
	case core.ItemName:
		return Dialect{}.NewName(it.Text), nil
	}
	return talk.Write(it)
}
