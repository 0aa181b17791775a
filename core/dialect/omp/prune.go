package omp

import (
	"bytes"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// dropDangling takes out of every answer the tool calls that no result among
// the messages belongs to: their results are on another branch, or never came.
// An answer that lost a call also loses its redacted thoughts and the
// signatures of the others, which hold for the whole alone; one that has
// nothing left goes.
func (c *conversation) dropDangling() error {
	answered := map[string]bool{}
	for i := range c.turns {
		if c.turns[i].role == "toolResult" {
			answered[keyOf(c.turns[i].obj.Get("toolCallId"))] = true
		}
	}
	for i := range c.turns {
		t := &c.turns[i]
		if t.role != "assistant" || !mayCall(t.raw) {
			continue
		}
		dangles := false
		for _, id := range t.calls() {
			dangles = dangles || !answered[id]
		}
		if dangles {
			if err := t.keepAnswered(answered); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayCall is a quick look for a tool call, plain or with escapes.
func mayCall(raw jsjson.Value) bool {
	return bytes.Contains(raw, []byte("toolCall")) || bytes.Contains(raw, []byte(`\u`))
}

// calls returns the keys of the tool calls in t.
func (t *turn) calls() []string {
	var ids []string
	t.eachBlock(func(b *jsjson.Object, _ jsjson.Value) {
		if b.Get("type").Is("toolCall") {
			ids = append(ids, keyOf(b.Get("id")))
		}
	})
	return ids
}

// keyOf distinguishes ids of any type.
func keyOf(id jsjson.Value) string {
	if s, ok := id.Text(); ok {
		return `"` + s
	}
	return string(id)
}

func (t *turn) keepAnswered(answered map[string]bool) error {
	content := []byte{'['}
	var failed error
	t.eachBlock(func(b *jsjson.Object, raw jsjson.Value) {
		kind := b.Get("type")
		if kind.Is("toolCall") && !answered[keyOf(b.Get("id"))] || kind.Is("redactedThinking") {
			return
		}
		if kind.Is("thinking") && b.Get("thinkingSignature").Truthy() {
			b.Set("thinkingSignature", nil)
			v, err := jsonl.Build(b)
			if err != nil {
				failed = err
				return
			}
			raw = v
		}
		if len(content) > 1 {
			content = append(content, ',')
		}
		content = append(content, raw...)
	})
	if failed != nil {
		return failed
	}
	if len(content) == 1 {
		t.gone = true
		return nil
	}
	t.obj.Set("content", append(content, ']'))
	raw, err := jsonl.Build(&t.obj)
	t.raw = raw
	return err
}

// dropFailed removes answers that were aborted or failed, with the results of
// their tool calls, unless the model's thinking follows.
func (c *conversation) dropFailed() {
	results := map[string][]int{} // places of the results of each call
	next := -1                    // the message that follows
	for i := len(c.turns) - 1; i >= 0; i-- {
		t := &c.turns[i]
		if t.gone {
			continue
		}
		if t.role == "toolResult" {
			id := keyOf(t.obj.Get("toolCallId"))
			results[id] = append(results[id], i)
		}
		if !t.failed() || next >= 0 && c.turns[next].isThought() {
			next = i
			continue
		}
		t.gone = true
		for _, id := range t.calls() {
			for _, r := range results[id] {
				c.turns[r].gone = true
			}
			delete(results, id)
		}
		for next >= 0 && next < len(c.turns) && c.turns[next].gone {
			next++
		}
		if next == len(c.turns) {
			next = -1
		}
	}
}

func (t *turn) failed() bool {
	stop := t.obj.Get("stopReason")
	return t.role == "assistant" && (stop.Is("aborted") || stop.Is("error"))
}

func (t *turn) isThought() bool {
	return t.role == "custom" && t.obj.Get("customType").Is("interrupted-thinking")
}
