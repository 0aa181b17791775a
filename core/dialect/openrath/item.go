package openrath

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Read returns what e says in terms that all agents share: one message for a
// chunk, nothing for a trailer. A tool failed if its answer is an object whose
// ok is false. Arguments that are not JSON become a JSON string.
func (Dialect) Read(e core.Entry) []core.Item {
	c, ok := chunkOf(e)
	if !ok {
		return nil
	}
	it := core.Item{Kind: core.ItemMessage}
	switch c.kind {
	case KindSystem:
		it.Role, it.Blocks = core.RoleSystem, c.texts()
	case KindUser:
		it.Role, it.Blocks = core.RoleUser, c.texts()
	case KindAssistant:
		it.Role, it.Blocks = core.RoleAssistant, append(c.texts(), c.calls()...)
		it.Stop = core.StopEnd
		if len(c.calls()) > 0 {
			it.Stop = core.StopTools
		}
	case KindToolResult:
		it.Role, it.Blocks = core.RoleTool, []core.Block{c.result()}
	}
	return []core.Item{it}
}

// texts is the content as a block, or nil if there is none.
func (c Chunk) texts() []core.Block {
	v := c.member("content")
	if v.IsNullish() {
		return nil
	}
	s, ok := v.Text()
	if !ok {
		s = string(v)
	}
	return []core.Block{{Kind: core.BlockText, Text: s}}
}

func (c Chunk) calls() []core.Block {
	var calls []core.Block
	_ = jsjson.Each(c.member("tool_calls"), func(v jsjson.Value) {
		o, ok := jsonl.Nested(v)
		if !ok {
			return
		}
		f, _ := jsonl.Nested(o.Get("function"))
		b := core.Block{Kind: core.BlockCall, Args: arguments(f.Get("arguments"))}
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

func (c Chunk) result() core.Block {
	b := core.Block{Kind: core.BlockResult, Blocks: c.texts()}
	b.ID, _ = c.member("tool_call_id").Text()
	b.Name, _ = c.member("name").Text()
	if o, err := jsjson.ParseObject([]byte(c.Content())); err == nil {
		b.Failed = string(o.Get("ok")) == "false"
	}
	return b
}
