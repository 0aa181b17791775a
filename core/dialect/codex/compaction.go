package codex

import (
	"slices"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// lastCompaction returns the index of the last compaction in path that has the
// items to continue from, or -1 if there is none. If turns were dropped after
// it, it is -1 as well: they may reach back beyond the compaction.
func lastCompaction(path []rolloutLine) int {
	for i, l := range slices.Backward(path) {
		switch {
		case l.Type == typeCompacted && member(payloadOf(l), "replacement_history").Kind() == '[':
			return i
		case l.Type == typeEvent && member(payloadOf(l), "type").Is("thread_rolled_back"):
			return -1
		}
	}
	return -1
}

// compacted returns the items after a compaction of items. A compaction of an
// older version names no items: the texts of the users stay, and a summary
// follows them.
func compacted(items []sent, compaction jsjson.Value) []sent {
	var kept []sent
	if list := member(compaction, "replacement_history"); list.Kind() == '[' {
		_ = jsjson.Each(list, func(v jsjson.Value) {
			if it, ok := readItem(v); ok {
				kept = append(kept, it)
			}
		})
		return kept
	}
	for i := range items {
		if items[i].isUser() {
			kept = append(kept, items[i])
		}
	}
	if it, ok := readItem(userText(memberText(compaction, "message"))); ok {
		kept = append(kept, it)
	}
	return kept
}

// userText makes a message of the user.
func userText(text string) jsjson.Value {
	b := jsonl.AppendMember([]byte(`{"type":"message","role":"user","content":[{"type":"input_text"`), "text", text)
	return append(b, `}]}`...)
}

// rollBack returns items without the last n turns. A turn begins with what a
// user wrote, and with what Codex wrote about the host before that.
func rollBack(items []sent, n int64) []sent {
	if n <= 0 {
		return items
	}
	first, cut := -1, -1
	for i := range slices.Backward(items) {
		if !items[i].isUser() {
			continue
		}
		first = i
		if n--; n == 0 {
			cut = i
		}
	}
	if cut < 0 {
		cut = first
	}
	if cut < 0 {
		return items
	}
	for cut > first && items[cut-1].isAbout() {
		cut--
	}
	return items[:cut]
}
