package claude

import (
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A block is one of a message's content.
type block struct {
	whole      jsjson.Value // nil if it has only a type and a text
	kind, text jsjson.Value
	call       jsjson.Value // its id, also of the call that a result is of
}

// plainBlock makes a block of a text, which is JSON.
func plainBlock(text jsjson.Value) block { return block{kind: jsjson.Value(`"text"`), text: text} }

// textBlock makes a block of text.
func textBlock(s string) block { return plainBlock(jsjson.AppendString(nil, s)) }

// append appends the block as JSON.
func (b *block) append(out []byte) []byte {
	if b.whole != nil {
		return append(out, b.whole...)
	}
	return append(append(append(out, `{"type":"text","text":`...), b.text...), '}')
}

var blockMembers = [...]string{"type", "text", "id", "tool_use_id"}

// eachBlock calls f with each block of a content. A text is one block.
func eachBlock(content jsjson.Value, f func(block)) {
	if content.Kind() == '"' {
		f(plainBlock(content))
		return
	}
	jsjson.EachAgain(content, func(v jsjson.Value) {
		if v.Kind() == '{' {
			var m [len(blockMembers)]jsjson.Value
			jsjson.PickAgain(v, blockMembers[:], m[:])
			b := block{v, m[0], m[1], m[2]}
			if b.kind.Is("tool_result") {
				b.call = m[3]
			}
			f(b)
		}
	})
}

// id is the id of a call, or of the call that a result is of.
func (b block) id() string { return text(b.call) }

func (b block) isText() bool { return b.kind.Is("text") && b.text.Kind() == '"' }

// isBlank reports whether b is white space.
func (b block) isBlank() bool {
	return b.isText() && jsonl.Trim(text(b.text)) == ""
}

func (b block) isThinking() bool { return b.kind.Is("thinking") || b.kind.Is("redacted_thinking") }

// broken returns b, a text, with a line break at its end.
func (b block) broken() block {
	t := append(append([]byte{}, b.text[:len(b.text)-1]...), `\n"`...)
	if b.whole == nil {
		return plainBlock(t)
	}
	whole := jsonl.WithText(b.whole, "text", "")
	s, _ := jsjson.Value(t).Text()
	if s2, _ := b.text.Text(); s == s2+"\n" {
		whole = jsonl.WithText(b.whole, "text", s)
	}
	return block{whole: whole, kind: b.kind, text: t}
}

// callSet is which calls and results a conversation has, by the id of the call.
type callSet map[string]callState

type callState struct{ asked, answered bool }

// at returns the state of the call whose id is v.
func (c callSet) at(v jsjson.Value) callState {
	if id, ok := v.Plain(); ok {
		return c[string(id)] // without an allocation
	}
	return c[text(v)]
}

// calls returns the calls of the nodes on way.
func (t *thread) calls(way []int) callSet {
	c := callSet{}
	for _, i := range way {
		n := &t.nodes[i]
		if n.kind != "user" && n.kind != "assistant" {
			continue
		}
		for _, b := range n.blocks() {
			switch {
			case n.kind == "assistant" && b.kind.Is("tool_use"):
				s := c.at(b.call)
				s.asked = true
				c[b.id()] = s
			case n.kind == "user" && b.kind.Is("tool_result"):
				s := c.at(b.call)
				s.answered = true
				c[b.id()] = s
			}
		}
	}
	return c
}

// sends reports whether a block is sent: a call that has a result, a result that
// has a call, and everything else.
func (c callSet) sends(b block) bool {
	switch {
	case b.kind.Is("tool_use"):
		return c.at(b.call).answered
	case b.kind.Is("tool_result"):
		return c.at(b.call).asked
	}
	return true
}
