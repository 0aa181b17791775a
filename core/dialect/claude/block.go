package claude

import (
	"slices"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A block is one of a message's content.
type block struct {
	whole      jsjson.Value
	kind, text jsjson.Value
}

// textBlock makes a block of text.
func textBlock(s string) block {
	b := append(jsonl.AppendMember([]byte(`{"type":"text"`), "text", s), '}')
	return block{b, jsjson.Value(`"text"`), jsjson.AppendString(nil, s)}
}

// eachBlock calls f with each block of a content. A text is one block.
func eachBlock(content jsjson.Value, f func(block)) {
	if content.Kind() == '"' {
		f(block{slices.Concat([]byte(`{"type":"text","text":`), content, []byte("}")), jsjson.Value(`"text"`), content})
		return
	}
	_ = jsjson.Each(content, func(v jsjson.Value) {
		var m [2]jsjson.Value
		if v.Kind() == '{' && jsjson.Pick(v, []string{"type", "text"}, m[:]) == nil {
			f(block{v, m[0], m[1]})
		}
	})
}

// id is the id of a call, or of the call that a result is of.
func (b block) id() string {
	if b.kind.Is("tool_result") {
		return text(member(b.whole, "tool_use_id"))
	}
	return text(member(b.whole, "id"))
}

func (b block) isText() bool { return b.kind.Is("text") && b.text.Kind() == '"' }

// isBlank reports whether b is white space.
func (b block) isBlank() bool {
	return b.isText() && jsonl.Trim(text(b.text)) == ""
}

func (b block) isThinking() bool { return b.kind.Is("thinking") || b.kind.Is("redacted_thinking") }

// broken returns b, a text, with a line break at its end.
func (b block) broken() block {
	t := append(append([]byte{}, b.text[:len(b.text)-1]...), `\n"`...)
	whole := jsonl.WithText(b.whole, "text", "")
	s, _ := jsjson.Value(t).Text()
	if s2, _ := b.text.Text(); s == s2+"\n" {
		whole = jsonl.WithText(b.whole, "text", s)
	}
	return block{whole, b.kind, t}
}

// callSet is which calls and results a conversation has.
type callSet struct{ asked, answered map[string]bool }

// calls returns the calls of the nodes on way.
func (t *thread) calls(way []int) callSet {
	c := callSet{map[string]bool{}, map[string]bool{}}
	for _, i := range way {
		n := &t.nodes[i]
		if n.kind != "user" && n.kind != "assistant" {
			continue
		}
		for _, b := range n.blocks() {
			switch {
			case n.kind == "assistant" && b.kind.Is("tool_use"):
				c.asked[b.id()] = true
			case n.kind == "user" && b.kind.Is("tool_result"):
				c.answered[b.id()] = true
			}
		}
	}
	return c
}

// sends reports whether a block is sent: a call that has a result, a result that
// has a call, and everything else.
func (c *callSet) sends(b block) bool {
	switch {
	case b.kind.Is("tool_use"):
		return c.answered[b.id()]
	case b.kind.Is("tool_result"):
		return c.asked[b.id()]
	}
	return true
}
