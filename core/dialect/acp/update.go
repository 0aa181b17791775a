package acp

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
)

// The kinds of updates that this package reads.
const (
	userChunk    = "user_message_chunk"
	agentChunk   = "agent_message_chunk"
	thoughtChunk = "agent_thought_chunk"
	toolCall     = "tool_call"
	toolUpdate   = "tool_call_update"
	sessionInfo  = "session_info_update"
)

// ofAgent are the updates that describe the agent that sent them, which another one
// must not show.
var ofAgent = map[string]bool{"available_commands_update": true, "current_mode_update": true, "config_option_update": true}

// InConversation reports whether updates of a kind say something that another agent's
// session may show, too.
func InConversation(kind string) bool { return !ofAgent[kind] }

// IsChunk reports whether updates of a kind are parts of one message.
func IsChunk(kind string) bool {
	return kind == userChunk || kind == agentChunk || kind == thoughtChunk
}

// A message is what this package reads of a message of the protocol.
type message struct {
	Params struct {
		Prompt []json.RawMessage `json:"prompt"`
		Update json.RawMessage   `json:"update"`
	} `json:"params"`
}

// An update is what this package reads of an update.
type update struct {
	Kind      string          `json:"sessionUpdate"`
	Content   json.RawMessage `json:"content"` // a block of chunks, a list of tools
	Title     *string         `json:"title"`
	CallID    string          `json:"toolCallId"`
	ToolKind  string          `json:"kind"`
	Status    string          `json:"status"`
	RawInput  json.RawMessage `json:"rawInput"`
	RawOutput json.RawMessage `json:"rawOutput"`

	raw json.RawMessage
	at  string // the time of its line
	// place is where the call is among the items, if it is known: the item, and the block
	// counted from 1.
	place [2]int
}

func readUpdate(raw json.RawMessage) (u update, ok bool) {
	err := json.Unmarshal(raw, &u)
	u.raw = raw
	return u, err == nil && u.Kind != ""
}

// KindOf returns the kind of the update in a notification, empty if it has none.
func KindOf(notification []byte) string {
	var m message
	if json.Unmarshal(notification, &m) != nil {
		return ""
	}
	u, _ := readUpdate(m.Params.Update)
	return u.Kind
}

// updatesOf returns what a line says as updates. A prompt says chunks of the user.
func updatesOf(l *Line) (us []update) {
	for _, one := range l.Messages {
		var m message
		if json.Unmarshal(one, &m) != nil {
			continue
		}
		switch l.Type {
		case TypePrompt:
			for _, block := range m.Params.Prompt {
				us = append(us, update{Kind: userChunk, Content: block, raw: chunk(userChunk, block), at: l.Time})
			}
		case TypeUpdate:
			if u, ok := readUpdate(m.Params.Update); ok {
				u.at = l.Time
				us = append(us, u)
			}
		}
	}
	return us
}

func chunk(kind string, block []byte) json.RawMessage {
	b := append([]byte(`{"sessionUpdate":"`+kind+`","content":`), block...)
	return append(b, '}')
}

// Replay returns what an editor is shown of the entries of a path: updates in order,
// each the member update of a notification. Prompts are chunks of the user, unless the
// agent sent such chunks in the same turn. What describes the agent is left out.
func Replay(path []core.Entry) []json.RawMessage {
	shown := []json.RawMessage{}
	for _, u := range conversation(path) {
		shown = append(shown, u.raw)
	}
	return shown
}

func conversation(path []core.Entry) (shown []update) {
	var prompt []update // of the current turn
	at := 0             // where it is in shown
	for i := range path {
		l, err := ReadLine(path[i].Line)
		if err != nil {
			continue
		}
		us := updatesOf(&l)
		if l.Type == TypePrompt {
			prompt, at = us, len(shown)
			shown = append(shown, us...)
			continue
		}
		for _, u := range us {
			if u.Kind == userChunk && prompt != nil {
				shown = append(shown[:at], shown[at+len(prompt):]...)
				prompt = nil
			}
			if InConversation(u.Kind) {
				shown = append(shown, u)
			}
		}
	}
	return shown
}
