package openrath

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/item"
)

// Read returns what e says in terms that all agents share: one message for a
// chunk, nothing for a trailer. A tool failed if its answer is an object whose
// ok is false. Arguments that are not JSON become a JSON string.
func (Dialect) Read(e core.Entry) []item.Item {
	c, ok := chunkOf(e)
	if !ok {
		return nil
	}
	it := item.Item{Kind: item.Message}
	switch c.kind {
	case KindSystem:
		it.Role, it.Blocks = item.RoleSystem, c.texts()
	case KindUser:
		it.Role, it.Blocks = item.RoleUser, c.texts()
	case KindAssistant:
		it.Role, it.Blocks = item.RoleAssistant, append(c.texts(), c.calls()...)
		it.Stop = item.StopEnd
		if len(c.calls()) > 0 {
			it.Stop = item.StopTools
		}
	case KindToolResult:
		it.Role, it.Blocks = item.RoleTool, []item.Block{c.result()}
	}
	return []item.Item{it}
}

// texts is the content as a block, or nil if there is none.
func (c Chunk) texts() []item.Block {
	v := c.member("content")
	if v.IsNullish() {
		return nil
	}
	s, ok := v.Text()
	if !ok {
		s = string(v)
	}
	return []item.Block{{Kind: item.BlockText, Text: s}}
}

func (c Chunk) calls() []item.Block {
	var calls []item.Block
	_ = jsjson.Each(c.member("tool_calls"), func(v jsjson.Value) {
		o, ok := jsonl.Nested(v)
		if !ok {
			return
		}
		f, _ := jsonl.Nested(o.Get("function"))
		b := item.Block{Kind: item.BlockCall, Args: arguments(f.Get("arguments"))}
		b.ID, _ = o.Get("id").Text()
		b.Name, _ = f.Get("name").Text()
		calls = append(calls, b)
	})
	return calls
}

func arguments(v jsjson.Value) json.RawMessage {
	s, ok := v.Text()
	switch {
	case ok && s == "" || v == nil:
		return json.RawMessage("{}")
	case ok && json.Valid([]byte(s)):
		return json.RawMessage(s)
	}
	return rawOf(v)
}

func (c Chunk) result() item.Block {
	b := item.Block{Kind: item.BlockResult, Blocks: c.texts()}
	b.ID, _ = c.member("tool_call_id").Text()
	b.Name, _ = c.member("name").Text()
	if o, err := jsjson.ParseObject([]byte(c.Content())); err == nil {
		b.Failed = string(o.Get("ok")) == "false"
	}
	return b
}
