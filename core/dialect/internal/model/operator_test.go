package model_test

import (
	"strings"

	"github.com/sesslog/sesslog/core/dialect/operator"
)

var operatorModel = &model{
	dialect: operator.Dialect{},
	header:  `{"type":"session","version":3,"id":"s","timestamp":1000.5,"cwd":"/"}`,
	kinds: []string{
		"message", "message", "message", "message", "message", "compaction", "compaction", "label", "label", "leaf", "leaf", "branch_summary",
		"custom_message", "thinking_level_change", "model_change", "session_info", "custom", "channel", "wormhole",
	},
	line: func(e entry) map[string]any {
		l := map[string]any{"timestamp": 1000.25 + float64(e.at)}
		if e.parent != "" {
			l["parent_id"] = e.parent
		}
		return l
	},
	fill:      fillOperator,
	leaf:      operatorLeaf,
	context:   operatorContext,
	name:      operatorName,
	rootsTime: true,
}

func fillOperator(c *chooser, e *entry) {
	switch e.kind {
	case "message":
		e.m["message"] = map[string]any{
			"role": c.of("user", "assistant", "tool"), "id": "m-" + e.id, "timestamp": 1.5,
			"contents": []any{map[string]any{"type": "text", "content": e.id}},
		}
	case "compaction":
		e.m["summary"], e.m["tokens_before"], e.m["first_kept_entry_id"] = "sum of "+e.id, 7.0, target(c)
	case "label":
		e.m["target_id"] = target(c)
		if !c.oneIn(4) {
			e.m["label"] = c.of("one", "two", "")
		}
	case "leaf":
		if !c.oneIn(6) {
			e.m["target_id"] = target(c)
		}
	case "branch_summary":
		e.m["from_id"], e.m["summary"] = c.of("root", "e00"), c.of("left", "")
	case "custom_message":
		e.m["custom_type"], e.m["content"], e.m["display"] = "x", []any{map[string]any{"type": "text", "content": "said"}}, c.oneIn(2)
	case "thinking_level_change":
		e.m["thinking_level"] = c.of("low", "high", "max")
	case "model_change":
		e.m["model_id"], e.m["provider_id"] = c.of("m1", "m2"), "p1"
	case "session_info":
		if !c.oneIn(4) {
			e.m["name"] = c.of("a name", "  another ", " ")
		}
	case "custom":
		e.m["custom_type"] = "x"
	case "channel":
		e.m["name"] = "chat"
	case "wormhole":
		e.unread = true
	}
}

// operatorLeaf is the last entry that Operator can read, or what it points at,
// where that is there.
func operatorLeaf(es []entry) string {
	ids := map[string]bool{}
	last := entry{}
	for _, e := range es {
		ids[e.id] = true
		if !e.unread || last.id == "" || last.unread {
			last = e
		}
	}
	switch {
	case last.kind != "leaf":
		return last.id
	case ids[last.text("target_id")]:
		return last.text("target_id")
	}
	return ""
}

// operatorName is the last name on the branch that is none of blanks.
func operatorName(_, path []entry) string {
	name := ""
	for _, e := range path {
		if s := strings.TrimSpace(e.text("name")); e.kind == "session_info" && s != "" {
			name = s
		}
	}
	return name
}

func operatorContext(path []entry) map[string]any {
	out := map[string]any{"thinking_level": "off", "model_id": nil, "provider_id": nil}
	last := -1
	for i, e := range path {
		switch e.kind {
		case "thinking_level_change":
			out["thinking_level"] = e.m["thinking_level"]
		case "model_change":
			out["model_id"], out["provider_id"] = e.m["model_id"], e.m["provider_id"]
		case "compaction":
			last = i
		}
	}
	messages := []any{}
	if last >= 0 {
		messages = append(messages, map[string]any{"role": "compaction_summary", "summary": path[last].m["summary"], "tokens_before": 7.0, "timestamp": 1000.25 + float64(path[last].at)})
	}
	kept := last < 0
	for i, e := range path {
		kept = kept || i < last && !e.unread && e.id == path[last].m["first_kept_entry_id"] || i > last
		if m := operatorMessage(e); m != nil && kept {
			messages = append(messages, m)
		}
	}
	out["messages"] = messages
	return out
}

// operatorMessage is what an entry adds to a context, or nil.
func operatorMessage(e entry) map[string]any {
	at := 1000.25 + float64(e.at)
	switch e.kind {
	case "message":
		return e.message()
	case "custom_message":
		return map[string]any{"role": "custom", "custom_type": "x", "timestamp": at, "contents": e.m["content"], "details": nil}
	case "branch_summary":
		return map[string]any{"role": "branch_summary", "summary": e.m["summary"], "from_id": e.m["from_id"], "timestamp": at}
	}
	return nil
}
