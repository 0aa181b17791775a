package model_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core/dialect/pi"
)

var piModel = &model{
	dialect: pi.Dialect{},
	header:  `{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:00.000Z","cwd":"/"}`,
	kinds: []string{
		"message", "message", "message", "message", "message", "compaction", "compaction", "context_edit", "context_edit", "label", "label",
		"branch_summary", "custom_message", "thinking_level_change", "model_change", "session_info", "usage", "custom", "wormhole", "reset_boundary",
	},
	line:    isoLine,
	fill:    fillPi,
	leaf:    lastEntry,
	context: piContext,
	name:    piName,
}

// isoLine is what pi and omp write of every entry.
func isoLine(e entry) map[string]any {
	l := map[string]any{"parentId": nil, "timestamp": fmt.Sprintf("2026-01-02T03:04:%02d.000Z", e.at)}
	if e.parent != "" {
		l["parentId"] = e.parent
	}
	return l
}

// stamp is an entry's time in a context.
func stamp(e entry) float64 { return 1767323040000 + 1000*float64(e.at) }

func lastEntry(es []entry) string {
	if len(es) == 0 {
		return ""
	}
	return es[len(es)-1].id
}

func fillPi(c *chooser, e *entry) {
	switch e.kind {
	case "message":
		m := map[string]any{"role": c.of("user", "assistant", "toolResult", "system"), "content": []any{textBlock(e.id)}}
		if c.oneIn(5) {
			m["content"] = e.id
		}
		if c.oneIn(9) {
			m["content"] = nil
		}
		if m["role"] == "assistant" {
			m["provider"], m["model"] = c.of("p1", "p2"), c.of("m1", "m2")
		}
		e.m["message"] = m
	case "compaction":
		e.m["summary"], e.m["tokensBefore"] = "sum of "+e.id, 7.0
		if !c.oneIn(6) {
			e.m["firstKeptEntryId"] = target(c)
		}
		if c.oneIn(5) {
			e.m["systemMessage"] = map[string]any{"role": "system", "content": "sys of " + e.id}
		}
	case "context_edit":
		e.m["targetId"], e.m["replacement"] = target(c), map[string]any{"content": "new " + e.id}
		switch c.below(3) {
		case 1:
			e.m["replacement"] = nil
		case 2:
			e.m["replacement"] = map[string]any{"content": []any{textBlock("new " + e.id)}}
		}
	case "label":
		e.m["targetId"] = target(c)
		if !c.oneIn(4) {
			e.m["label"] = c.of("one", "two", "")
		}
	case "branch_summary":
		e.m["fromId"], e.m["summary"] = target(c), c.of("left", "")
	case "custom_message":
		e.m["customType"], e.m["content"], e.m["display"] = "x", c.of("said", "told"), c.oneIn(2)
		if c.oneIn(3) {
			e.m["details"] = map[string]any{"k": 1.0}
		}
	case "thinking_level_change":
		e.m["thinkingLevel"] = c.of("low", "high")
	case "model_change":
		e.m["provider"], e.m["modelId"] = c.of("p3", "p4"), "m3"
	case "session_info":
		e.m["name"] = c.of("a name", "  another ", "", " ")
	}
}

func textBlock(s string) map[string]any { return map[string]any{"type": "text", "text": s} }

// piName is the last name in the file, on any branch.
func piName(es, _ []entry) string {
	name := ""
	for _, e := range es {
		if e.kind == "session_info" {
			name = strings.TrimSpace(e.text("name"))
		}
	}
	return name
}

func piContext(path []entry) map[string]any {
	out := map[string]any{"thinkingLevel": "off", "model": nil}
	last := -1
	for i, e := range path {
		switch e.kind {
		case "thinking_level_change":
			out["thinkingLevel"] = e.m["thinkingLevel"]
		case "model_change":
			out["model"] = map[string]any{"provider": e.m["provider"], "modelId": e.m["modelId"]}
		case "message":
			if m := e.message(); m["role"] == "assistant" {
				out["model"] = map[string]any{"provider": m["provider"], "modelId": m["model"]}
			}
		case "compaction":
			last = i
		}
	}
	// What a message is, in the order in which the model is to see it.
	type said struct {
		by  entry
		old bool // kept from before the compaction
	}
	var chosen []said
	if last >= 0 {
		chosen = append(chosen, said{by: path[last]})
		kept := false
		for _, e := range path[:last] {
			kept = kept || e.id == path[last].m["firstKeptEntryId"]
			if kept {
				chosen = append(chosen, said{e, true})
			}
		}
	}
	for _, e := range path[last+1:] {
		chosen = append(chosen, said{by: e})
	}
	edits := map[string]entry{}
	for _, s := range chosen {
		if s.by.kind == "context_edit" {
			edits[s.by.text("targetId")] = s.by
		}
	}
	messages := []any{}
	for i, s := range chosen {
		var ms []map[string]any
		if s.by.kind == "compaction" && i == 0 && last >= 0 {
			if m, ok := s.by.m["systemMessage"].(map[string]any); ok {
				ms = append(ms, m)
			}
			ms = append(ms, map[string]any{"role": "compactionSummary", "summary": s.by.m["summary"], "tokensBefore": 7.0, "timestamp": stamp(s.by)})
		} else if m := piMessage(s.by); m != nil && !(s.old && m["role"] == "system") {
			ms = append(ms, m)
		}
		for _, m := range ms {
			if m = piEdited(m, edits, s.by.id); m != nil {
				messages = append(messages, m)
			}
		}
	}
	out["messages"] = messages
	return out
}

// piMessage is what an entry adds to a context, or nil.
func piMessage(e entry) map[string]any {
	switch e.kind {
	case "message":
		m := map[string]any{}
		for k, v := range e.message() {
			m[k] = v
		}
		if m["content"] == nil {
			m["content"] = []any{}
			if m["role"] == "system" {
				m["content"] = ""
			}
		}
		return m
	case "custom_message":
		m := map[string]any{"role": "custom", "timestamp": stamp(e)}
		for k, v := range e.m {
			m[k] = v
		}
		return m
	case "branch_summary":
		if e.text("summary") != "" {
			return map[string]any{"role": "branchSummary", "summary": e.m["summary"], "fromId": e.m["fromId"], "timestamp": stamp(e)}
		}
	}
	return nil
}

// piEdited is m as the last edit of its entry leaves it, or nil.
func piEdited(m map[string]any, edits map[string]entry, id string) map[string]any {
	edit, ok := edits[id]
	if !ok {
		return m
	}
	r, ok := edit.m["replacement"].(map[string]any)
	if !ok {
		return nil
	}
	role, _ := m["role"].(string)
	if !slices.Contains([]string{"user", "assistant", "toolResult", "custom"}, role) {
		return m
	}
	m["content"] = r["content"]
	if s, ok := r["content"].(string); ok && (role == "assistant" || role == "toolResult") {
		m["content"] = []any{textBlock(s)}
	}
	return m
}
