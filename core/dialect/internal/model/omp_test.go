package model_test

import (
	"slices"

	"github.com/sesslog/sesslog/core/dialect/omp"
)

var ompModel = &model{
	dialect: omp.Dialect{},
	header:  `{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:03:00.000Z","cwd":"/"}`,
	kinds: []string{
		"message", "message", "message", "message", "message", "message", "compaction", "compaction", "reset_boundary", "label", "label",
		"branch_summary", "custom_message", "custom_message", "thinking_level_change", "model_change", "mode_change", "service_tier_change",
		"ttsr_injection", "session_init", "credential_pin", "custom", "wormhole", "context_edit", "title_change",
	},
	line:    isoLine,
	fill:    fillOmp,
	leaf:    lastEntry,
	context: ompContext,
	name:    ompName,
}

func fillOmp(c *chooser, e *entry) {
	switch e.kind {
	case "message":
		e.m["message"] = ompSays(c, e.id)
	case "compaction":
		e.m["summary"], e.m["tokensBefore"] = "sum of "+e.id, 7.0
		if !c.oneIn(6) {
			e.m["firstKeptEntryId"] = target(c)
		}
	case "label":
		e.m["targetId"] = target(c)
		if !c.oneIn(4) {
			e.m["label"] = c.of("one", "two", "")
		}
	case "branch_summary":
		e.m["fromId"], e.m["summary"] = target(c), c.of("left", "")
	case "custom_message":
		e.m["customType"], e.m["content"], e.m["display"] = c.of("x", "interrupted-thinking", "prewalk-plan", "vibe-mode-context"), "said", c.oneIn(2)
		e.m["attribution"] = c.of("user", "agent")
	case "thinking_level_change":
		e.m["thinkingLevel"], e.m["configured"] = c.of("low", "high"), c.of("auto", "low")
		if c.oneIn(4) {
			e.m["thinkingLevel"], e.m["configured"] = nil, nil
		}
	case "model_change":
		e.m["model"] = c.of("p/q", "p/r")
		if c.oneIn(3) {
			e.m["role"] = c.of("smol", "default")
		}
		if c.oneIn(4) { // as pi has it
			e.m = map[string]any{"provider": "p", "modelId": "q"}
		}
	case "mode_change":
		e.m["mode"] = c.of("plan", "none")
		if c.oneIn(2) {
			e.m["data"] = map[string]any{"k": 1.0}
		}
	case "service_tier_change":
		e.m["serviceTier"] = map[string]any{c.of("openai", "google"): c.of("priority", "flex")}
		if c.oneIn(3) {
			e.m["serviceTier"] = nil
		}
	case "ttsr_injection":
		e.m["injectedRules"] = []any{c.of("a", "b", "c"), c.of("a", "b", "c")}
	case "context_edit": // pi's
		e.m["targetId"], e.m["replacement"] = target(c), nil
	case "title_change":
		e.m["title"], e.m["source"] = c.of("one", "two", ""), "user"
	}
}

// ompSays is a message: a question, an answer that calls tools or failed, or a
// tool's result.
func ompSays(c *chooser, id string) map[string]any {
	switch c.below(3) {
	case 0:
		return map[string]any{"role": "user", "content": id}
	case 1:
		return map[string]any{"role": "toolResult", "toolCallId": "call of " + target(c), "content": []any{textBlock(id)}}
	}
	content := []any{}
	if !c.oneIn(3) {
		content = append(content, textBlock(id))
	}
	if c.oneIn(3) {
		content = append(content, map[string]any{"type": "thinking", "thinking": "hm", "thinkingSignature": "s"})
	}
	if c.oneIn(3) {
		content = append(content, map[string]any{"type": "redactedThinking", "data": "d"})
	}
	if c.oneIn(2) {
		content = append(content, map[string]any{"type": "toolCall", "id": "call of " + id, "name": "ls"})
	}
	stop := c.of("stop", "stop", "aborted", "error")
	if stop == "error" || len(content) == 0 { // an error without words is another matter
		content = append(content, textBlock("so"))
	}
	m := map[string]any{"role": "assistant", "content": content, "provider": c.of("p1", "p2"), "model": "m1", "stopReason": stop}
	if c.oneIn(15) {
		m["retryRecovery"] = map[string]any{}
	}
	return m
}

// ompName is the last title given, on any branch.
func ompName(es, _ []entry) string {
	name := ""
	for _, e := range es {
		if e.kind == "title_change" {
			name = e.text("title")
		}
	}
	return name
}

func ompContext(path []entry) map[string]any {
	out := ompSettings(path)
	compacted, reset := -1, -1
	for i, e := range path {
		switch e.kind {
		case "compaction":
			compacted = i
		case "reset_boundary":
			reset = i
		}
	}
	var ms []map[string]any
	from := 0
	switch {
	case reset > compacted:
		from = reset + 1
	case compacted >= 0:
		k := path[compacted]
		ms = append(ms, map[string]any{"role": "compactionSummary", "summary": k.m["summary"], "tokensBefore": 7.0, "timestamp": stamp(k)})
		kept := false
		for _, e := range path[:compacted] {
			if kept = kept || e.id == k.m["firstKeptEntryId"]; kept {
				ms = append(ms, ompMessages(e)...)
			}
		}
		from = compacted + 1
	}
	for _, e := range path[from:] {
		ms = append(ms, ompMessages(e)...)
	}
	messages := []any{}
	for _, m := range ompAnswered(ompUncalled(ms)) {
		messages = append(messages, m)
	}
	out["messages"] = messages
	return out
}

func ompSettings(path []entry) map[string]any {
	models, rules, chosen := map[string]any{}, []any{}, false
	out := map[string]any{"thinkingLevel": "off", "models": models, "mode": "none"}
	for _, e := range path {
		switch e.kind {
		case "thinking_level_change":
			out["thinkingLevel"], out["configuredThinkingLevel"] = e.m["thinkingLevel"], e.m["configured"]
			if e.m["thinkingLevel"] == nil {
				out["thinkingLevel"] = "off"
				delete(out, "configuredThinkingLevel")
			}
		case "model_change":
			if e.m["model"] == nil {
				continue
			}
			role := e.text("role")
			if role == "" {
				role = "default"
			}
			models[role] = e.m["model"]
			chosen = chosen || role == "default"
		case "message":
			if m := e.message(); m["role"] == "assistant" && !chosen {
				models["default"] = m["provider"].(string) + "/" + m["model"].(string)
			}
		case "service_tier_change":
			out["serviceTier"] = e.m["serviceTier"]
			if e.m["serviceTier"] == nil {
				delete(out, "serviceTier")
			}
		case "ttsr_injection":
			for _, r := range e.m["injectedRules"].([]any) {
				if !slices.Contains(rules, r) {
					rules = append(rules, r)
				}
			}
		case "mode_change":
			out["mode"] = e.m["mode"]
			delete(out, "modeData")
			if d, ok := e.m["data"]; ok {
				out["modeData"] = d
			}
		}
	}
	out["injectedTtsrRules"] = rules
	return out
}

// ompMessages is what an entry adds to a context: one message, or none.
func ompMessages(e entry) []map[string]any {
	m := map[string]any{}
	switch e.kind {
	case "message":
		for k, v := range e.message() {
			m[k] = v
		}
		if m["retryRecovery"] != nil {
			return nil
		}
	case "custom_message":
		if e.text("customType") == "prewalk-plan" || e.text("customType") == "vibe-mode-context" {
			return nil
		}
		for k, v := range e.m {
			m[k] = v
		}
		m["role"], m["timestamp"] = "custom", stamp(e)
	case "branch_summary":
		if e.text("summary") == "" {
			return nil
		}
		m = map[string]any{"role": "branchSummary", "summary": e.m["summary"], "fromId": e.m["fromId"], "timestamp": stamp(e)}
	default:
		return nil
	}
	return []map[string]any{m}
}

// ompUncalled takes out calls that have no result anywhere; with them go redacted
// thoughts and the seals on others, and a turn in which nothing is left.
func ompUncalled(ms []map[string]any) (out []map[string]any) {
	results := map[any]bool{}
	for _, m := range ms {
		if m["role"] == "toolResult" {
			results[m["toolCallId"]] = true
		}
	}
	for _, m := range ms {
		blocks, _ := m["content"].([]any)
		dangles := func(b any) bool {
			return b.(map[string]any)["type"] == "toolCall" && !results[b.(map[string]any)["id"]]
		}
		if m["role"] != "assistant" || !slices.ContainsFunc(blocks, dangles) {
			out = append(out, m)
			continue
		}
		left := []any{}
		for _, b := range blocks {
			switch b := b.(map[string]any); {
			case dangles(b), b["type"] == "redactedThinking":
			case b["type"] == "thinking":
				left = append(left, map[string]any{"type": "thinking", "thinking": b["thinking"]})
			default:
				left = append(left, b)
			}
		}
		if len(left) > 0 {
			m["content"] = left
			out = append(out, m)
		}
	}
	return out
}

// ompAnswered takes out turns that failed, with the results of their calls, unless an
// interrupted thought follows. The last turn goes first: what it leaves is
// what follows the one before.
func ompAnswered(ms []map[string]any) (out []map[string]any) {
	for _, m := range slices.Backward(ms) {
		failed := m["role"] == "assistant" && (m["stopReason"] == "aborted" || m["stopReason"] == "error")
		if !failed || len(out) > 0 && out[0]["customType"] == "interrupted-thinking" {
			out = append([]map[string]any{m}, out...)
			continue
		}
		for _, b := range m["content"].([]any) {
			if b := b.(map[string]any); b["type"] == "toolCall" {
				out = slices.DeleteFunc(out, func(m map[string]any) bool { return m["role"] == "toolResult" && m["toolCallId"] == b["id"] })
			}
		}
	}
	return out
}
