package talk

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/item"
)

// Read returns the items of an entry whose type pi and omp share. Types that
// only one of them has are read by its own package.
func Read(e core.Entry, o *jsjson.Object) []item.Item {
	switch e.Type {
	case "message":
		return readMessage(e, o)
	case "thinking_level_change":
		level, _ := o.Get("thinkingLevel").Text()
		if level == "" {
			level = "off"
		}
		return one(e, item.Item{Kind: item.Level, Text: level})
	case "compaction":
		return one(e, item.Item{
			Kind: item.Compaction, Text: text(o, "summary"), Target: text(o, "firstKeptEntryId"),
			Tokens: listing.Count(o.Get("tokensBefore")), Details: details(o.Get("details")),
			ByExtension: byExtension(o), Own: ownOfSummary(o, "a compaction"),
		})
	case "branch_summary":
		from := text(o, "fromId")
		if from == root {
			from = ""
		}
		return one(e, item.Item{
			Kind: item.Branch, Text: text(o, "summary"), Target: from, Details: details(o.Get("details")),
			ByExtension: byExtension(o), Own: ownOfSummary(o, "a branch's summary"),
		})
	case "label":
		return one(e, item.Item{Kind: item.Label, Target: text(o, "targetId"), Text: text(o, "label")})
	case "custom":
		return one(e, item.Item{Kind: item.Custom, Type: text(o, "customType"), Details: details(o.Get("data"))})
	case "custom_message":
		return one(e, note(o))
	}
	return nil
}

// byExtension reports whether an extension wrote the summary o: pi and omp have different
// members for it.
func byExtension(o *jsjson.Object) bool {
	return o.Get("fromHook").Truthy() || o.Get("fromExtension").Truthy()
}

// ownOfSummary names the members of the summary o that only pi or omp has.
func ownOfSummary(o *jsjson.Object, what string) (own []string) {
	for _, name := range []string{
		"shortSummary", "tokensAfter", "method", "providerReplayThroughEntryId", "preserveData", "warning", // of omp
		"usage", "systemMessage", // of pi
	} {
		if !o.Get(name).IsNullish() {
			own = append(own, name+" of "+what)
		}
	}
	return own
}

// root is the fromId of a branch that begins before all entries.
const root = "root"

// Time is when e was made in the format of items, or empty if its time is not a
// date.
func Time(e core.Entry) string { return date.ISO(date.Parse(e.Time)) }

func one(e core.Entry, it item.Item) []item.Item {
	it.Time = Time(e)
	return []item.Item{it}
}

// note reads an extension's message, an entry or a message of the role custom.
func note(o *jsjson.Object) item.Item {
	return item.Item{
		Kind: item.Note, Type: text(o, "customType"), Blocks: blocks(o.Get("content")),
		Hidden: o.Get("display").Kind() == 'f', Details: details(o.Get("details")),
	}
}

func readMessage(e core.Entry, o *jsjson.Object) []item.Item {
	m, ok := jsonl.Nested(o.Get("message"))
	if !ok {
		return nil
	}
	it := item.Item{Kind: item.Message}
	switch role := text(&m, "role"); role {
	case "user":
		it.Role, it.Blocks = item.RoleUser, blocks(m.Get("content"))
	case "system", "developer":
		it.Role, it.Blocks = item.RoleSystem, blocks(m.Get("content"))
		if len(it.Blocks) == 1 && it.Blocks[0].Text == "" {
			return nil // what pi puts beside the text is its own
		}
	case "assistant":
		readAnswer(&it, &m)
	case "toolResult":
		it.Role = item.RoleTool
		it.Blocks = []item.Block{{
			Kind: item.BlockResult, ID: text(&m, "toolCallId"), Name: text(&m, "toolName"),
			Blocks: blocks(m.Get("content")), Failed: m.Get("isError").Kind() == 't', Details: details(m.Get("details")),
		}}
	case "custom", "hookMessage":
		it = note(&m)
	case "bashExecution":
		if m.Get("excludeFromContext").Truthy() {
			return nil
		}
		it.Role, it.Blocks = item.RoleUser, texts(shellText(&m))
	default:
		return nil
	}
	return one(e, it)
}

func readAnswer(it *item.Item, m *jsjson.Object) {
	it.Role, it.Blocks = item.RoleAssistant, blocks(m.Get("content"))
	it.API, it.Provider, it.Model = text(m, "api"), text(m, "provider"), text(m, "model")
	it.Stop, it.Error = stops[text(m, "stopReason")], text(m, "errorMessage")
	u, ok := jsonl.Nested(m.Get("usage"))
	if !ok {
		return
	}
	it.Usage = &item.Usage{
		Input: listing.Count(u.Get("input")), Output: listing.Count(u.Get("output")),
		CacheRead: listing.Count(u.Get("cacheRead")), CacheWrite: listing.Count(u.Get("cacheWrite")),
	}
	if cost, ok := jsonl.Nested(u.Get("cost")); ok {
		it.Usage.Cost = number(cost.Get("total"))
	}
}

var stops = map[string]item.Stop{
	"stop": item.StopEnd, "length": item.StopLength, "toolUse": item.StopTools,
	"error": item.StopError, "aborted": item.StopAborted,
}

// shellText describes a command that the user ran, as a user would.
func shellText(m *jsjson.Object) string {
	s := "Ran `" + text(m, "command") + "`\n"
	if out := text(m, "output"); out != "" {
		s += "```\n" + out + "\n```"
	}
	return s
}

func texts(s string) []item.Block { return []item.Block{{Kind: item.BlockText, Text: s}} }

// blocks reads the content of a message: a text, or a list of blocks. Blocks of
// kinds that no other agent has are left out.
func blocks(content jsjson.Value) []item.Block {
	if s, ok := jsonl.Text(content); ok {
		return texts(s)
	}
	var bs []item.Block
	_ = jsjson.Each(content, func(item jsjson.Value) {
		if o, ok := jsonl.Nested(item); ok {
			if b, ok := block(&o); ok {
				bs = append(bs, b)
			}
		}
	})
	return bs
}

func block(o *jsjson.Object) (item.Block, bool) {
	switch text(o, "type") {
	case "text":
		return item.Block{Kind: item.BlockText, Text: text(o, "text"), Signature: text(o, "textSignature")}, true
	case "thinking":
		if o.Get("redacted").Truthy() {
			return item.Block{Kind: item.BlockThinking, Hidden: true, Signature: text(o, "thinkingSignature")}, true
		}
		return item.Block{Kind: item.BlockThinking, Text: text(o, "thinking"), Signature: text(o, "thinkingSignature")}, true
	case "redactedThinking":
		return item.Block{Kind: item.BlockThinking, Hidden: true, Signature: text(o, "data")}, true
	case "image":
		return item.Block{Kind: item.BlockImage, MIME: text(o, "mimeType"), Data: text(o, "data")}, true
	case "toolCall":
		return item.Block{
			Kind: item.BlockCall, ID: text(o, "id"), Name: text(o, "name"),
			Args: details(o.Get("arguments")), Signature: text(o, "thoughtSignature"),
		}, true
	}
	return item.Block{}, false
}

func text(o *jsjson.Object, name string) string {
	s, _ := jsonl.Text(o.Get(name))
	return s
}

// details returns v, or nil if it is null or undefined.
func details(v jsjson.Value) json.RawMessage {
	if v.IsNullish() {
		return nil
	}
	return json.RawMessage(v)
}
