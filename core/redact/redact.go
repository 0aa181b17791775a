package redact

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/jsonline"
)

// Line returns line, an entry of any dialect, with its content replaced by
// text. The structure of the entry stays: ids and links, types, roles, times,
// models, numbers, names of tools and of members. Every other string becomes
// text. Images and sounds become blocks of text. Thoughts and whatever a
// provider has sealed are removed. Lists and objects of unknown shape, such as
// the arguments of a call, become empty. Returns ErrInvalid if line is not a
// JSON object.
func Line(line []byte, text string) ([]byte, error) {
	quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\uFFFD"))
	if err != nil {
		return nil, fmt.Errorf("text: %v: %w", err, core.ErrInvalid)
	}
	b := &redactor{text: quoted}
	return b.object(nil, line, 0)
}

type redactor struct {
	text []byte // as a JSON string
	of   format // of the line
}

// maxKept is the maximum length of a string below the top of a line that stays:
// such strings are names, not content.
const maxKept = 128

// kept are the members whose strings stay, in addition to those that IsLink
// accepts.
var kept = map[string]bool{
	"type": true, "record_type": true, "kind": true, "role": true, "status": true,
	"api": true, "provider": true, "model": true, "stopReason": true, "stop_reason": true,
	"thinkingLevel": true, "thinking_level": true, "mode": true, "level": true,
	"customType": true, "custom_type": true, "toolName": true, "tool_name": true,
	"parent": true, "child": true, "target": true, "version": true,
}

// shaped are the members whose lists and objects have a shape that agents rely
// on. Others are emptied.
var shaped = map[string]bool{
	"message": true, "content": true, "contents": true, "usage": true, "cost": true, "function": true,
	"tool_calls": true, "decision": true, "state": true, "chunk": true, "payload": true, "payloads": true,
}

// A format has further members that lines of an agent rely on.
type format struct{ kept, shaped map[string]bool }

// events are those of opencode: the state of a session, of a message or of one of its
// parts.
var events = format{
	kept: map[string]bool{"agent": true, "directory": true, "tool": true},
	shaped: map[string]bool{
		"data": true, "info": true, "part": true, "messages": true, "parts": true, "state": true, "model": true,
		"time": true, "tokens": true, "cache": true,
	},
}

// calls are messages of the Agent Client Protocol.
var calls = format{
	kept:   map[string]bool{"jsonrpc": true, "method": true, "sessionUpdate": true},
	shaped: map[string]bool{"messages": true, "params": true, "prompt": true, "update": true, "result": true},
}

// formatOf returns the format of a line of that type.
func formatOf(kind string, hasMessages bool) format {
	switch {
	case kind == "messages" || strings.HasPrefix(kind, "message.") || strings.HasPrefix(kind, "session."):
		return events
	case hasMessages && (kind == "prompt" || kind == "update" || kind == "answer"):
		return calls
	}
	return format{}
}

// IsLink reports whether a member called name is an id or a time.
func IsLink(name string) bool {
	low := strings.ToLower(name)
	return low == "id" || strings.HasSuffix(low, "uuid") || strings.HasSuffix(low, "_id") || strings.HasSuffix(name, "Id") ||
		strings.HasSuffix(low, "timestamp") || strings.HasSuffix(low, "_at") || low == "time" || low == "date"
}

// IsSeal reports whether a member called name is sealed by a provider.
func IsSeal(name string) bool {
	low := strings.ToLower(name)
	return strings.HasSuffix(low, "signature") || strings.HasPrefix(low, "encrypted")
}

// object appends obj, blanked, to b. depth is 0 for the line itself.
func (k *redactor) object(b, obj []byte, depth int) ([]byte, error) {
	kind, hasMessages := "", false
	if err := jsonline.Members(obj, func(name string, v jsontext.Value) {
		if name == "type" {
			kind, _ = jsonline.Text(v)
		}
		hasMessages = hasMessages || name == "messages"
	}); err != nil {
		return nil, err
	}
	if depth == 0 {
		k.of = formatOf(kind, hasMessages)
	}
	b = append(b, '{')
	empty := len(b)
	var failed error
	err := jsonline.Members(obj, func(name string, v jsontext.Value) {
		if IsSeal(name) || failed != nil {
			return
		}
		if len(b) > empty {
			b = append(b, ',')
		}
		if isEnvelope(kind) && depth == 0 {
			b, failed = k.wrapped(b, kind, name, v)
			return
		}
		b, _ = jsontext.AppendQuote(b, name)
		b = append(b, ':')
		b, failed = k.member(b, kind, name, v, depth)
	})
	if err == nil {
		err = failed
	}
	return append(b, '}'), err
}

func (k *redactor) member(b []byte, kind, name string, v jsontext.Value, depth int) ([]byte, error) {
	switch v.Kind() {
	case '"':
		stays := IsLink(name) || kept[name] || k.of.kept[name] || strings.HasSuffix(name, "ID") && k.of.kept != nil || name == "name" && isCall(kind) && depth > 0
		switch {
		case stays && (depth == 0 || len(v) <= maxKept):
			return append(b, v...), nil
		case name == "arguments": // of a call: an object, in quotes
			return append(b, `"{}"`...), nil
		}
		return append(b, k.text...), nil
	case '{':
		if !k.isShaped(name) {
			return append(b, "{}"...), nil
		}
		return k.object(b, v, depth+1)
	case '[':
		if !k.isShaped(name) {
			return append(b, "[]"...), nil
		}
		return k.list(b, v, depth+1)
	}
	return append(b, v...), nil
}

func (k *redactor) isShaped(name string) bool { return shaped[name] || k.of.shaped[name] }

// isCall reports whether an object of that type names a tool. Those of OpenRath
// have no type.
func isCall(kind string) bool {
	switch kind {
	case "", "function", "toolCall", "tool_call", "tool_result", "toolResult":
		return true
	}
	return false
}

// list appends a list of blocks. One that would be empty gets a block of text.
func (k *redactor) list(b, v []byte, depth int) ([]byte, error) {
	b = append(b, '[')
	empty := len(b)
	some, said := false, false
	err := jsonline.Elements(v, func(v jsontext.Value) (err error) {
		some = true
		block := []byte(nil)
		switch {
		case v.Kind() == '{' && isThought(v):
			return nil
		case v.Kind() == '{' && isMedia(v):
			block = k.block()
		case v.Kind() == '{':
			block, err = k.object(nil, v, depth)
		case v.Kind() == '"' || v.Kind() == '[':
			block = k.text
		default:
			block = v
		}
		if err != nil || said && bytes.Equal(block, k.block()) {
			return err
		}
		said = said || bytes.Equal(block, k.block())
		if len(b) > empty {
			b = append(b, ',')
		}
		b = append(b, block...)
		return nil
	})
	if some && len(b) == empty {
		b = append(b, k.block()...)
	}
	return append(b, ']'), err
}

func (k *redactor) block() []byte {
	return append(append([]byte(`{"type":"text","text":`), k.text...), '}')
}

func typeOf(v jsontext.Value) (kind string) {
	_ = jsonline.Members(v, func(name string, v jsontext.Value) {
		if name == "type" {
			kind, _ = jsonline.Text(v)
		}
	})
	return kind
}

func isThought(v jsontext.Value) bool {
	kind := typeOf(v)
	return kind == "thinking" || kind == "redacted_thinking" || kind == "redactedThinking" || kind == "reasoning"
}

func isMedia(v jsontext.Value) bool {
	kind := typeOf(v)
	return kind == "image" || kind == "audio"
}
