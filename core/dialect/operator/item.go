package operator

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Read returns what e says in terms that all agents share. A message with
// several results of tools makes as many items. Lines that Operator does not
// read make none.
func (Dialect) Read(e core.Entry) []core.Item {
	o, err := read(e)
	if err != nil {
		return nil
	}
	it := core.Item{}
	switch e.Type {
	case typeMessage:
		return readMessage(e, o.Get("message"))
	case typeThinking:
		it = core.Item{Kind: core.ItemLevel, Text: text(&o, "thinking_level")}
	case typeModel:
		it = core.Item{Kind: core.ItemModel, Provider: text(&o, "provider_id"), Model: text(&o, "model_id")}
	case typeCompaction:
		it = core.Item{Kind: core.ItemCompaction, Text: text(&o, "summary"), Target: text(&o, "first_kept_entry_id"), Tokens: listing.Count(o.Get("tokens_before"))}
		it.Details = value(o.Get("details"))
	case typeBranchSummary:
		it = core.Item{Kind: core.ItemBranch, Text: text(&o, "summary"), Target: text(&o, "from_id"), Details: value(o.Get("details"))}
		if it.Target == root {
			it.Target = ""
		}
	case typeLabel:
		it = core.Item{Kind: core.ItemLabel, Text: text(&o, "label"), Target: text(&o, "target_id")}
	case typeLeaf:
		it = core.Item{Kind: core.ItemLeaf, Target: text(&o, "target_id")}
	case typeCustom:
		it = core.Item{Kind: core.ItemCustom, Type: text(&o, "custom_type"), Details: value(o.Get("data"))}
	case typeCustomMessage:
		it = core.Item{
			Kind: core.ItemNote, Type: text(&o, "custom_type"), Blocks: readBlocks(o.Get("content")),
			Hidden: o.Get("display").Kind() == 'f', Details: value(o.Get("details")),
		}
	case typeInfo:
		it = core.Item{Kind: core.ItemName, Text: strip(text(&o, "name"))}
	case typeChannel:
		it = core.Item{Kind: core.ItemChannel, Text: text(&o, "name"), Details: channelIDs(&o)}
	default:
		return nil
	}
	it.Time = toISO(e.Time)
	return []core.Item{it}
}

// root is the from_id of a branch that begins before all entries.
const root = "root"

// channelIDs are the ids of a channel's entry, or nil if it has none.
func channelIDs(o *jsjson.Object) json.RawMessage {
	var ids jsjson.Object
	for _, name := range []string{"chat_id", "user_id"} {
		if v := o.Get(name); !v.IsNullish() {
			ids.Set(name, v)
		}
	}
	b, err := ids.Append(nil)
	if err != nil || string(b) == "{}" {
		return nil
	}
	return b
}

func readMessage(e core.Entry, v jsjson.Value) []core.Item {
	m, ok := jsonl.Nested(v)
	if !ok {
		return nil
	}
	it := core.Item{Kind: core.ItemMessage, Time: toISO(e.Time), Role: core.Role(text(&m, "role")), Blocks: readBlocks(m.Get("contents"))}
	switch it.Role {
	case core.RoleAssistant:
		it.Stop, it.Error, it.Usage = stops[text(&m, "stop_reason")], text(&m, "error"), readUsage(m.Get("usage"))
	case core.RoleTool:
		return splitResults(it)
	}
	return []core.Item{it}
}

// splitResults makes an item of each result of it. A picture after a result
// belongs to it. Other content is attributed to the user, who may have added
// it.
func splitResults(it core.Item) []core.Item {
	var its []core.Item
	var others []core.Block
	for _, b := range it.Blocks {
		if n := len(its); b.Kind == core.BlockImage && n > 0 {
			its[n-1].Blocks[0].Blocks = append(its[n-1].Blocks[0].Blocks, b)
			continue
		}
		if b.Kind != core.BlockResult {
			others = append(others, b)
			continue
		}
		one := it
		one.Blocks = []core.Block{b}
		its = append(its, one)
	}
	if len(others) > 0 {
		it.Role, it.Blocks = core.RoleUser, others
		its = append(its, it)
	}
	return its
}

var stops = map[string]core.Stop{
	"stop": core.StopEnd, "length": core.StopLength, "tool_calls": core.StopTools,
	"content_filter": core.StopFilter, "abort": core.StopAborted, "error": core.StopError,
}

func readUsage(v jsjson.Value) *core.Usage {
	o, ok := jsonl.Nested(v)
	if !ok {
		return nil
	}
	u := &core.Usage{
		Input: listing.Count(o.Get("input_tokens")), Output: listing.Count(o.Get("output_tokens")),
		CacheRead: listing.Count(o.Get("cache_read_tokens")), CacheWrite: listing.Count(o.Get("cache_write_tokens")),
	}
	if cost, ok := jsonl.Nested(o.Get("cost")); ok {
		if f, ok := cost.Get("total").Number(); ok && !math.IsInf(f, 0) {
			u.Cost = f
		}
	}
	return u
}

func readBlocks(contents jsjson.Value) []core.Block {
	var bs []core.Block
	_ = jsjson.Each(contents, func(item jsjson.Value) {
		if o, ok := jsonl.Nested(item); ok {
			bs = append(bs, readBlock(&o)...)
		}
	})
	return bs
}

func readBlock(o *jsjson.Object) []core.Block {
	kind, _ := blockType(o).Text()
	switch kind {
	case "text":
		return []core.Block{{Kind: core.BlockText, Text: text(o, "content")}}
	case "thinking":
		return []core.Block{{Kind: core.BlockThinking, Text: text(o, "content"), Signature: text(o, "signature")}}
	case "image":
		return readMedia(core.BlockImage, o.Get("images"))
	case "audio":
		return readMedia(core.BlockAudio, o.Get("audio"))
	case "tool_call":
		return []core.Block{{Kind: core.BlockCall, ID: text(o, "id"), Name: text(o, "name"), Args: value(o.Get("args")), Details: value(o.Get("metadata"))}}
	case "tool_result":
		return []core.Block{readResult(o)}
	}
	return nil
}

// readResult reads a tool's result, whose content is a text or a list of
// blocks.
func readResult(o *jsjson.Object) core.Block {
	b := core.Block{Kind: core.BlockResult, ID: text(o, "id"), Failed: o.Get("is_error").Kind() == 't', Details: value(o.Get("metadata"))}
	content := o.Get("content")
	if s, ok := content.Text(); ok {
		b.Blocks = []core.Block{{Kind: core.BlockText, Text: s}}
		return b
	}
	if content.Kind() == '[' {
		b.Blocks = readBlocks(content)
	}
	return b
}

// readMedia reads the pictures or sounds of one block: texts in base64, with
// or without "data:image/png;base64," in front.
func readMedia(kind core.BlockKind, list jsjson.Value) []core.Block {
	var bs []core.Block
	_ = jsjson.Each(list, func(item jsjson.Value) {
		s, ok := item.Text()
		if !ok {
			return
		}
		b := core.Block{Kind: kind, Data: s}
		if mime, data, ok := strings.Cut(strings.TrimPrefix(s, "data:"), ";base64,"); ok {
			b.MIME, b.Data = mime, data
		} else if kind == core.BlockImage {
			b.MIME = pictureType(s)
		}
		bs = append(bs, b)
	})
	return bs
}

// pictureType is the MIME type of a picture in base64, determined by its first
// bytes, or empty if it is not one of the types that models accept.
func pictureType(data string) string {
	for _, t := range [][2]string{
		{"iVBORw0KGgo", "image/png"}, {"/9j/", "image/jpeg"}, {"R0lGOD", "image/gif"}, {"UklGR", "image/webp"},
	} {
		if strings.HasPrefix(data, t[0]) {
			return t[1]
		}
	}
	return ""
}

func text(o *jsjson.Object, name string) string {
	s, _ := o.Get(name).Text()
	return s
}

// value returns v, or nil if it is null or undefined.
func value(v jsjson.Value) json.RawMessage {
	if v.IsNullish() {
		return nil
	}
	return json.RawMessage(v)
}
