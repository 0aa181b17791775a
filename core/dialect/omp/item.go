package omp

import (
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/talk"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/item"
)

// Read returns what e says in terms that all agents share. Boundaries, tiers,
// injected rules and the like have no counterpart.
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
		provider, model, found := strings.Cut(text("model"), "/")
		if !found {
			provider, model = "", text("model")
		}
		role := text("role")
		if role == "default" {
			role = ""
		}
		return []item.Item{{Kind: item.Model, Time: talk.Time(e), Provider: provider, Model: model, For: role}}
	case typeRename:
		return []item.Item{{Kind: item.Name, Time: talk.Time(e), Text: text("title")}}
	case "mode_change":
		it := item.Item{Kind: item.Mode, Time: talk.Time(e), Text: text("mode")}
		if data := o.Get("data"); !data.IsNullish() {
			it.Details = []byte(data)
		}
		return []item.Item{it}
	}
	return talk.Read(e, &o)
}

// levels are the thinking levels that omp has, from the least to the most.
var levels = []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}

// Write makes a line that says it. omp has no entries for a channel, nor for
// the position of a session, which is its last line.
func (d Dialect) Write(it item.Item) (line []byte, lost []string) {
	switch it.Kind {
	case item.Model:
		model := it.Model
		if it.Provider != "" {
			model = it.Provider + "/" + model
		}
		b := jsonl.AppendMember([]byte(`{"type":"model_change"`), "model", model)
		if it.For != "" {
			b = jsonl.AppendMember(b, "role", it.For)
		}
		return append(b, `,"resolvedModelIsFallback":false}`...), nil
	case item.Level:
		if !slices.Contains(levels, it.Text) {
			return nil, []string{item.LostLevel(it.Text, levels)}
		}
		b := jsonl.AppendMember([]byte(`{"type":"thinking_level_change"`), "thinkingLevel", it.Text)
		return append(jsonl.AppendMember(b, "configured", it.Text), '}'), nil
	case item.Name:
		return d.NewName(it.Text), nil
	case item.Mode:
		b := jsonl.AppendMember([]byte(`{"type":"mode_change"`), "mode", it.Text)
		if data, err := jsjson.Append(nil, jsjson.Value(it.Details)); err == nil && it.Details != nil {
			b = append(append(b, `,"data":`...), data...)
		}
		return append(b, '}'), nil
	case item.Note:
		line, lost = talk.Write(it, agent)
		return append(jsonl.AppendMember(line[:len(line)-1], "attribution", "agent"), '}'), lost
	}
	return talk.Write(it, agent)
}

var agent = talk.Agent{Hidden: hidden, ByExtension: "fromExtension"}

// hidden is a thought that the provider hid.
func hidden(b []byte, seal string) []byte {
	return append(jsonl.AppendMember(append(b, `{"type":"redactedThinking"`...), "data", seal), '}')
}
