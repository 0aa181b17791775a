package claude

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/talk"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/item"
)

// Read returns what a line of the main file says. The usage of an answer is in
// Summary: the lines of one answer share it. A summary of a compaction replaces
// what came before it.
func (Dialect) Read(e core.Entry) []item.Item {
	line := mainLine(e)
	if line == nil {
		return nil
	}
	n := parseNode(line)
	var items []item.Item
	switch n.kind {
	case "custom-title":
		items = []item.Item{{Kind: item.Name, Text: text(member(line, "customTitle"))}}
	case "assistant":
		items = n.answer()
	case "user":
		items = n.said()
	}
	for i := range items {
		items[i].Time = talk.Time(e)
	}
	return items
}

// said returns what a line of the user says: the results of calls, each for
// itself, and the rest.
func (n *node) said() []item.Item {
	if member(n.line, "isCompactSummary").Truthy() {
		var all string
		for _, b := range n.blocks() {
			all += text(b.text)
		}
		return []item.Item{{Kind: item.Compaction, Text: all}}
	}
	var items []item.Item
	var rest []item.Block
	for _, b := range n.blocks() {
		if !b.kind.Is("tool_result") {
			rest = appendBlock(rest, b)
			continue
		}
		result := item.Block{
			Kind: item.BlockResult, ID: b.id(), Blocks: innerBlocks(b.whole), Failed: member(b.whole, "is_error").Truthy(),
		}
		items = append(items, item.Item{Kind: item.Message, Role: item.RoleTool, Blocks: []item.Block{result}})
	}
	if len(rest) > 0 {
		items = append(items, item.Item{Kind: item.Message, Role: item.RoleUser, Blocks: rest})
	}
	return items
}

// answer returns what a line of a model says.
func (n *node) answer() []item.Item {
	it := item.Item{
		Kind: item.Message, Role: item.RoleAssistant, API: "anthropic-messages", Provider: "anthropic",
		Model: text(member(n.message, "model")), Stop: stops[text(member(n.message, "stop_reason"))],
	}
	for _, b := range n.blocks() {
		it.Blocks = appendBlock(it.Blocks, b)
	}
	if n.apiError {
		for _, b := range it.Blocks {
			it.Error += b.Text
		}
		it.Stop, it.Blocks = item.StopError, nil
	}
	return []item.Item{it}
}

var stops = map[string]item.Stop{
	"end_turn": item.StopEnd, "stop_sequence": item.StopEnd, "max_tokens": item.StopLength,
	"tool_use": item.StopTools, "refusal": item.StopFilter,
}

// innerBlocks returns what a result holds.
func innerBlocks(result jsjson.Value) []item.Block {
	var all []item.Block
	eachBlock(member(result, "content"), func(b block) { all = appendBlock(all, b) })
	return all
}

// appendBlock appends b, unless no other agent has blocks of its kind.
func appendBlock(all []item.Block, b block) []item.Block {
	get := func(name string) string { return text(member(b.whole, name)) }
	switch text(b.kind) {
	case "text":
		return append(all, item.Block{Kind: item.BlockText, Text: text(b.text)})
	case "thinking":
		return append(all, item.Block{Kind: item.BlockThinking, Text: get("thinking"), Signature: get("signature")})
	case "redacted_thinking":
		return append(all, item.Block{Kind: item.BlockThinking, Hidden: true, Signature: get("data")})
	case "image":
		source := member(b.whole, "source")
		return append(all, item.Block{Kind: item.BlockImage, MIME: text(member(source, "media_type")), Data: text(member(source, "data"))})
	case "tool_use":
		return append(all, item.Block{Kind: item.BlockCall, ID: b.id(), Name: get("name"), Args: json.RawMessage(member(b.whole, "input"))})
	}
	return all
}
