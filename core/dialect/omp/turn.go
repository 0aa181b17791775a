package omp

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A turn is a message on its way into the context.
type turn struct {
	raw  jsjson.Value
	obj  jsjson.Object // without members if raw is not an object
	role string
	gone bool
}

func newTurn(raw jsjson.Value) turn {
	t := turn{raw: raw}
	if o, ok := jsonl.Nested(raw); ok {
		t.obj = o
		t.role, _ = o.Get("role").Text()
	}
	return t
}

// A conversation is the messages of a context in the making.
type conversation struct{ turns []turn }

func (c *conversation) add(raw jsjson.Value) { c.turns = append(c.turns, newTurn(raw)) }

// addAll adds the messages of es.
func (c *conversation) addAll(es []core.Entry) error {
	for _, e := range es {
		if err := c.addEntry(e); err != nil {
			return err
		}
	}
	return nil
}

// addEntry adds the messages of e, which are none for most types.
func (c *conversation) addEntry(e core.Entry) error {
	switch e.Type {
	case "message", "custom_message", "branch_summary":
	default:
		return nil
	}
	o, err := jsonl.Object(e)
	if err != nil {
		return err
	}
	switch e.Type {
	case "message":
		if m := o.Get("message"); !m.IsNullish() {
			if t := newTurn(m); !t.isDiscarded() {
				c.turns = append(c.turns, t)
			}
		}
		return nil
	case "custom_message":
		if k := o.Get("customType"); k.Is("prewalk-plan") || k.Is("vibe-mode-context") {
			return nil
		}
		m, err := customMessage(&o)
		if m != nil && err == nil {
			c.add(m)
		}
		return err
	}
	if !o.Get("summary").Truthy() {
		return nil
	}
	m, err := branchSummary(&o)
	if err == nil {
		c.add(m)
	}
	return err
}

// isDiscarded reports whether t is an answer that another one made up for, or
// that failed before there was any of it.
func (t *turn) isDiscarded() bool {
	if t.role != "assistant" {
		return false
	}
	return t.obj.Get("retryRecovery").Truthy() || t.obj.Get("stopReason").Is("error") && !t.saysSomething()
}

// saysSomething reports whether a block of t has something in it. A block of an
// unknown type does.
func (t *turn) saysSomething() bool {
	says := false
	t.eachBlock(func(b *jsjson.Object, _ jsjson.Value) {
		switch kind, _ := b.Get("type").Text(); kind {
		case "text":
			says = says || hasText(b.Get("text"))
		case "thinking":
			says = says || hasText(b.Get("thinking")) || hasText(b.Get("thinkingSignature"))
		case "redactedThinking":
			says = says || hasText(b.Get("data"))
		case "fallback":
		default:
			says = true
		}
	})
	return says
}

// eachBlock calls f with each item of the content, raw and as an object, which
// has no members if the item is not an object.
func (t *turn) eachBlock(f func(b *jsjson.Object, raw jsjson.Value)) {
	content := t.obj.Get("content")
	if content.Kind() != '[' {
		return
	}
	_ = jsjson.Each(content, func(raw jsjson.Value) {
		b, _ := jsonl.Nested(raw)
		f(&b, raw)
	})
}

func hasText(v jsjson.Value) bool {
	s, _ := v.Text()
	return jsonl.Trim(s) != ""
}

// customMessage is the message of a custom_message entry, or nil if its content
// is neither text nor blocks.
func customMessage(e *jsjson.Object) (jsjson.Value, error) {
	content := e.Get("content")
	if k := content.Kind(); k != '"' && k != '[' {
		return nil, nil
	}
	kind := e.Get("customType")
	if s, _ := kind.Text(); s == "" {
		kind = jsjson.Value(`"custom-message"`)
	}
	display := e.Get("display")
	if k := display.Kind(); k != 't' && k != 'f' {
		display = jsjson.Value("false")
	}
	attribution := e.Get("attribution")
	if attribution != nil && !attribution.Is("user") {
		attribution = jsjson.Value(`"agent"`)
	}
	return custom(kind, content, display, e.Get("details"), attribution, e.Get("timestamp"))
}

func custom(kind, content, display, details, attribution, timestamp jsjson.Value) (jsjson.Value, error) {
	var m jsjson.Object
	m.Set("role", jsjson.Value(`"custom"`))
	m.Set("customType", kind)
	m.Set("content", content)
	m.Set("display", display)
	m.Set("details", details)
	m.Set("attribution", attribution)
	m.Set("timestamp", date.Millis(timestamp))
	return jsonl.Build(&m)
}

func branchSummary(e *jsjson.Object) (jsjson.Value, error) {
	var m jsjson.Object
	m.Set("role", jsjson.Value(`"branchSummary"`))
	m.Set("summary", e.Get("summary"))
	m.Set("fromId", e.Get("fromId"))
	m.Set("timestamp", date.Millis(e.Get("timestamp")))
	return jsonl.Build(&m)
}
