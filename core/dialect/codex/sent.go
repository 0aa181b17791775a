package codex

import (
	"strings"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A sent is one item of the input of a model.
type sent struct {
	raw    jsjson.Value
	kind   string // its type
	role   string // of a message
	id     string
	callID string
}

// sentKinds are the types of items that Codex sends to a model. It keeps others
// in the file only.
var sentKinds = map[string]bool{
	"message": true, "reasoning": true, "agent_message": true, "additional_tools": true,
	"function_call": true, "function_call_output": true,
	"custom_tool_call": true, "custom_tool_call_output": true,
	"local_shell_call": true, "tool_search_call": true, "tool_search_output": true,
	"web_search_call": true, "image_generation_call": true, "configuration_update": true,
	"compaction": true, "compaction_summary": true, "context_compaction": true,
}

// ownMember is the member of an item that Codex keeps in the file only.
const ownMember = "internal_chat_message_metadata_passthrough"

var itemMembers = [...]string{"type", "role", "id", "call_id", ownMember}

// readItem reads an item as it is sent. It reports false if Codex does not send
// such an item.
func readItem(payload jsjson.Value) (sent, bool) {
	var v [len(itemMembers)]jsjson.Value
	if payload.Kind() != '{' || jsjson.Pick(payload, itemMembers[:], v[:]) != nil {
		return sent{}, false
	}
	it := sent{raw: payload}
	it.kind, _ = v[0].Text()
	it.role, _ = v[1].Text()
	it.id, _ = v[2].Text()
	it.callID, _ = v[3].Text()
	if v[4] != nil {
		it.raw = jsonl.Without(payload, ownMember)
	}
	return it, sentKinds[it.kind] && !(it.kind == "message" && it.role == "system")
}

// itemsOf folds the lines of path into the items that they leave: those of the
// last compaction, and those after it.
func itemsOf(path []rolloutLine) []sent {
	at := lastCompaction(path)
	var items []sent
	for _, l := range path[max(at, 0):] {
		switch l.Type {
		case typeItem, typeItems:
			items = append(items, sentBy(l)...)
		case typeCompacted:
			items = compacted(items, payloadOf(l))
		case typeEvent:
			if p := payloadOf(l); member(p, "type").Is("thread_rolled_back") {
				n, _ := count(member(p, "num_turns"))
				items = rollBack(items, n)
			}
		}
	}
	return items
}

// sentBy returns the items that a line holds.
func sentBy(l rolloutLine) []sent {
	var items []sent
	hold := func(v jsjson.Value) {
		if it, ok := readItem(v); ok {
			items = append(items, it)
		}
	}
	switch {
	case l.Type == typeItem:
		hold(payloadOf(l))
	case l.Type == typeItems && l.made:
		_ = jsjson.Each(member(l.bytes, "payloads"), hold)
	}
	return items
}

// payloadOf returns the payload of a line, or nil if it has none.
func payloadOf(l rolloutLine) jsjson.Value {
	r, _ := readRecord(l.bytes)
	return r.payload
}

// contextMarks begin the texts that Codex itself writes for a model about the
// host and its settings, as a message of the user or of a developer.
var contextMarks = []string{
	"<environment_context>", "<permissions instructions>", "<tools>", "<skills_instructions>", "<collaboration_mode>",
	"<multi_agent_mode>", "<multi_agent_role>", "<model_switch>", "# AGENTS.md instructions", "<plugins_instructions>",
	"<apps_instructions>", "<user_instructions>", "<INSTRUCTIONS>",
}

// isContext reports whether a text is about the host, and not part of the
// conversation.
func isContext(text string) bool {
	text = jsonl.Trim(text)
	for _, mark := range contextMarks {
		if strings.HasPrefix(text, mark) {
			return true
		}
	}
	return false
}

// isUser reports whether it is a message that a user wrote.
func (it *sent) isUser() bool {
	return it.kind == "message" && it.role == "user" && !it.isAbout()
}

// isAbout reports whether it is a message that Codex wrote about the host: each
// of its texts is.
func (it *sent) isAbout() bool {
	if it.kind != "message" || it.role != "user" && it.role != "developer" {
		return false
	}
	some, all := false, true
	_ = jsjson.Each(member(it.raw, "content"), func(block jsjson.Value) {
		some = true
		text, ok := member(block, "text").Text()
		all = all && ok && isContext(text)
	})
	return some && all
}
