package operator

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/item"
)

// Read returns what e says in terms that all agents share. A message with
// several results of tools makes as many items. Lines that Operator does not
// read make none.
func (Dialect) Read(e core.Entry) []item.Item {
	o, err := read(e)
	if err != nil {
		return nil
	}
	it := item.Item{}
	switch e.Type {
	case typeMessage:
		return readMessage(e, o.Get("message"))
	case typeThinking:
		it = item.Item{Kind: item.Level, Text: text(&o, "thinking_level")}
	case typeModel:
		it = item.Item{Kind: item.Model, Provider: text(&o, "provider_id"), Model: text(&o, "model_id")}
	case typeCompaction:
		it = item.Item{Kind: item.Compaction, Text: text(&o, "summary"), Target: text(&o, "first_kept_entry_id"), Tokens: listing.Count(o.Get("tokens_before"))}
		it.Details, it.ByExtension = value(o.Get("details")), isTrue(o.Get("from_hook"))
	case typeBranchSummary:
		it = item.Item{Kind: item.Branch, Text: text(&o, "summary"), Target: text(&o, "from_id"), Details: value(o.Get("details")), ByExtension: isTrue(o.Get("from_hook"))}
		if it.Target == root {
			it.Target = ""
		}
	case typeLabel:
		it = item.Item{Kind: item.Label, Text: text(&o, "label"), Target: text(&o, "target_id")}
	case typeLeaf:
		it = item.Item{Kind: item.Leaf, Target: text(&o, "target_id")}
	case typeCustom:
		it = item.Item{Kind: item.Custom, Type: text(&o, "custom_type"), Details: value(o.Get("data"))}
	case typeCustomMessage:
		it = item.Item{
			Kind: item.Note, Type: text(&o, "custom_type"), Blocks: readBlocks(o.Get("content")),
			Hidden: o.Get("display").Kind() == 'f', Details: value(o.Get("details")),
		}
	case typeInfo:
		it = item.Item{Kind: item.Name, Text: strip(text(&o, "name"))}
	case typeChannel:
		it = item.Item{Kind: item.Channel, Text: text(&o, "name"), Details: channelIDs(&o)}
	default:
		return nil
	}
	it.Time = toISO(e.Time)
	return []item.Item{it}
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

func readMessage(e core.Entry, v jsjson.Value) []item.Item {
	m, ok := jsonl.Nested(v)
	if !ok {
		return nil
	}
	it := item.Item{Kind: item.Message, Time: toISO(e.Time), Role: item.Role(text(&m, "role")), Blocks: readBlocks(m.Get("contents"))}
	switch it.Role {
	case item.RoleAssistant:
		it.Stop, it.Error, it.Usage = stops[text(&m, "stop_reason")], text(&m, "error"), readUsage(m.Get("usage"))
	case item.RoleTool:
		return splitResults(it)
	}
	return []item.Item{it}
}

// splitResults makes an item of each result of it. A picture after a result
// belongs to it. Other content is attributed to the user, who may have added
// it.
func splitResults(it item.Item) []item.Item {
	var its []item.Item
	var others []item.Block
	for _, b := range it.Blocks {
		if n := len(its); b.Kind == item.BlockImage && n > 0 {
			its[n-1].Blocks[0].Blocks = append(its[n-1].Blocks[0].Blocks, b)
			continue
		}
		if b.Kind != item.BlockResult {
			others = append(others, b)
			continue
		}
		one := it
		one.Blocks = []item.Block{b}
		its = append(its, one)
	}
	if len(others) > 0 {
		it.Role, it.Blocks = item.RoleUser, others
		its = append(its, it)
	}
	return its
}

var stops = map[string]item.Stop{
	"stop": item.StopEnd, "length": item.StopLength, "tool_calls": item.StopTools,
	"content_filter": item.StopFilter, "abort": item.StopAborted, "error": item.StopError,
}

func readUsage(v jsjson.Value) *item.Usage {
	o, ok := jsonl.Nested(v)
	if !ok {
		return nil
	}
	u := &item.Usage{
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

func readBlocks(contents jsjson.Value) []item.Block {
	var bs []item.Block
	_ = jsjson.Each(contents, func(item jsjson.Value) {
		if o, ok := jsonl.Nested(item); ok {
			bs = append(bs, readBlock(&o)...)
		}
	})
	return bs
}

func readBlock(o *jsjson.Object) []item.Block {
	kind, _ := blockType(o).Text()
	switch kind {
	case "text":
		return []item.Block{{Kind: item.BlockText, Text: text(o, "content")}}
	case "thinking":
		return []item.Block{{Kind: item.BlockThinking, Text: text(o, "content"), Signature: text(o, "signature")}}
	case "image":
		return readMedia(item.BlockImage, o.Get("images"))
	case "audio":
		return readMedia(item.BlockAudio, o.Get("audio"))
	case "tool_call":
		return []item.Block{{Kind: item.BlockCall, ID: text(o, "id"), Name: text(o, "name"), Args: value(o.Get("args")), Details: value(o.Get("metadata"))}}
	case "tool_result":
		return []item.Block{readResult(o)}
	}
	return nil
}

// readResult reads a tool's result, whose content is a text or a list of
// blocks.
func readResult(o *jsjson.Object) item.Block {
	b := item.Block{Kind: item.BlockResult, ID: text(o, "id"), Failed: o.Get("is_error").Kind() == 't', Details: value(o.Get("metadata"))}
	content := o.Get("content")
	if s, ok := content.Text(); ok {
		b.Blocks = []item.Block{{Kind: item.BlockText, Text: s}}
		return b
	}
	if content.Kind() == '[' {
		b.Blocks = readBlocks(content)
	}
	return b
}

// readMedia reads the pictures or sounds of one block: texts in base64, with
// or without "data:image/png;base64," in front.
func readMedia(kind item.BlockKind, list jsjson.Value) []item.Block {
	var bs []item.Block
	_ = jsjson.Each(list, func(v jsjson.Value) {
		s, ok := v.Text()
		if !ok {
			return
		}
		b := item.Block{Kind: kind, Data: s}
		if mime, data, ok := strings.Cut(strings.TrimPrefix(s, "data:"), ";base64,"); ok {
			b.MIME, b.Data = mime, data
		} else if kind == item.BlockImage {
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
