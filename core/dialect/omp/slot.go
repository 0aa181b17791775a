package omp

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// slotSize is how many bytes a title slot has, with its newline: omp writes a
// new title over it in place.
const slotSize = 256

// A title is the name of a session, empty for none, and its source.
type title struct {
	text   string
	source string // "auto", "user", or empty
	at     string // when it was given
}

// readSlot reads e as a title slot, and reports false for any other line.
func readSlot(e core.Entry) (title, bool) {
	if e.Type != typeSlot {
		return title{}, false
	}
	o, err := jsonl.Object(e)
	if err != nil {
		return title{}, false
	}
	v, isNumber := o.Get("v").Number()
	text, hasTitle := o.Get("title").Text()
	at, hasTime := o.Get("updatedAt").Text()
	_, hasPad := o.Get("pad").Text()
	source, hasSource := o.Get("source").Text()
	if !isNumber || v != 1 || !hasTitle || !hasTime || !hasPad {
		return title{}, false
	}
	if o.Get("source") != nil && (!hasSource || !isSource(source)) {
		return title{}, false
	}
	return title{text, source, at}, true
}

func isSource(s string) bool { return s == "auto" || s == "user" }

// lastSlot returns the index of the title slot in es that counts, which is the
// last one, or -1 if there is none.
func lastSlot(es []core.Entry) int {
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].Aside {
			return i
		}
	}
	return -1
}

// titleOf returns the title of a session: that of the slot, or of the header in
// a file without a slot, unless the session was renamed since. renamed reports
// that; omp itself writes a new title into the slot immediately.
func titleOf(h core.Header, es []core.Entry) (t title, renamed bool) {
	slot := lastSlot(es)
	if slot >= 0 {
		t, _ = readSlot(es[slot])
	} else if o, err := jsonl.Object(core.Entry{Line: h.Line}); err == nil {
		t.text, _ = o.Get("title").Text()
		t.source, _ = o.Get("titleSource").Text()
		t.at = h.Time
	}
	since := date.Parse(t.at)
	for _, e := range es {
		if e.Type != typeRename {
			continue
		}
		given := date.Of(e)
		// omp writes a rename and its slot in the same millisecond, and the slot
		// counts; a rename in the millisecond of another came after it.
		written := slot >= 0 && !renamed
		if !(given > since || given == since && !written) {
			continue
		}
		o, err := jsonl.Object(e)
		if err != nil {
			continue
		}
		text, ok := o.Get("title").Text()
		if !ok {
			continue
		}
		source, _ := o.Get("source").Text()
		t, since, renamed = title{text, source, e.Time}, given, true
	}
	return t, renamed
}

// slotLine is t as a title slot, without the newline. A title that is too long
// is cut between two characters. Returns nil if the other members alone are too
// long.
func slotLine(t title) []byte {
	text := clean(t.text, slotSize)
	for {
		b := jsonl.AppendMember([]byte(`{"type":"title","v":1`), "title", text)
		if isSource(t.source) && t.text != "" {
			b = jsonl.AppendMember(b, "source", t.source)
		}
		b = append(jsonl.AppendMember(b, "updatedAt", t.at), `,"pad":"`...)
		if room := slotSize - 1 - len(b) - len(`"}`); room >= 0 {
			return append(append(b, bytes.Repeat([]byte(" "), room)...), `"}`...)
		}
		if text == "" {
			return nil
		}
		text = clean(text, len(text)-1)
	}
}

// clean returns at most n bytes of s, whole characters.
func clean(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Layout is the title slot, the header, the entries. Of several slots the last
// one counts, because each replaces the previous one. If the session was
// renamed without omp since, the slot is a new one with that name. A session
// without a slot gets none otherwise, because omp reads such a file, too.
func (Dialect) Layout(h core.Header, es []core.Entry) []core.Entry {
	lines := make([]core.Entry, 0, len(es)+2)
	slot := core.Entry{}
	if i := lastSlot(es); i >= 0 {
		slot = es[i]
	}
	if t, renamed := titleOf(h, es); renamed {
		if line := slotLine(t); line != nil {
			slot = core.Entry{Line: line, Type: typeSlot}
		}
	}
	if slot.Line != nil {
		lines = append(lines, slot)
	}
	return append(append(lines, core.Entry{Line: h.Line}), entriesOf(es)...)
}

// entriesOf returns es without title slots.
func entriesOf(es []core.Entry) []core.Entry {
	if len(es) > 0 && es[0].Aside {
		es = es[1:]
	}
	isSlot := func(e core.Entry) bool { return e.Aside }
	if !slices.ContainsFunc(es, isSlot) {
		return es
	}
	return slices.DeleteFunc(slices.Clone(es), isSlot)
}
