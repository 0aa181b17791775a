package operator

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Context returns what Operator's build_session_context returns at leaf: the
// messages, the thinking level, the model and its provider. Usable turns that
// into what Operator sends to a model.
//
// Without a compaction, all messages of the path are included. With one, its
// summary comes first, then what it kept, which is everything from its first
// kept entry to itself, then what follows it. Only the last compaction counts,
// and the summaries of earlier ones are left out. If the first kept entry is
// not on the path before the compaction, it kept nothing.
func (d Dialect) Context(es []core.Entry, leaf core.Leaf) (json.RawMessage, error) {
	path, err := d.Path(es, leaf)
	if err != nil {
		return nil, err
	}
	c := conversation{text: append(make([]byte, 0, sizeOf(path)), `{"messages":[`...)}
	steps, last := readPath(path)
	c.messages(steps, last)
	built := c.settings(steps)
	if d.Request {
		return Usable(built)
	}
	return built, nil
}

// sizeOf is about how long the messages of es will be.
func sizeOf(es []core.Entry) int {
	n := 128
	for i := range es {
		n += len(es[i].Line)
	}
	return n
}

// A step is an entry on a path and its members.
type step struct {
	core.Entry
	jsjson.Object
}

// readPath returns the entries of path that Operator reads, and the index of
// the last compaction among them, or -1 if there is none.
func readPath(path []core.Entry) (steps []step, last int) {
	steps, last = make([]step, 0, len(path)), -1
	for _, e := range path {
		o, err := read(e)
		if err != nil {
			continue
		}
		if e.Type == typeCompaction {
			last = len(steps)
		}
		steps = append(steps, step{e, o})
	}
	return steps, last
}

// A conversation is a context in the making.
type conversation struct {
	text []byte
	some bool // there is a message
}

// messages adds the messages of the steps. last is the index of the compaction
// that counts.
func (c *conversation) messages(steps []step, last int) {
	if last >= 0 {
		first, _ := steps[last].Get("first_kept_entry_id").Text()
		c.compactionSummary(&steps[last])
		kept := 0
		for kept < last && steps[kept].ID != first {
			kept++
		}
		for i := kept; i < last; i++ {
			c.message(&steps[i])
		}
		steps = steps[last+1:]
	}
	for i := range steps {
		c.message(&steps[i])
	}
}

// message adds the message that s makes, if it makes one.
func (c *conversation) message(s *step) {
	switch s.Type {
	case typeMessage:
		c.next()
		c.text = append(c.text, s.Get("message")...)
	case typeCustomMessage:
		c.begin("custom")
		c.member("custom_type", s.Get("custom_type"))
		c.member("timestamp", s.Get("timestamp"))
		c.member("contents", s.Get("content"))
		c.member("details", s.Get("details"))
		c.text = append(c.text, '}')
	case typeBranchSummary:
		c.begin("branch_summary")
		c.member("summary", s.Get("summary"))
		c.member("from_id", s.Get("from_id"))
		c.member("timestamp", s.Get("timestamp"))
		c.text = append(c.text, '}')
	}
}

func (c *conversation) compactionSummary(s *step) {
	c.begin("compaction_summary")
	c.member("summary", s.Get("summary"))
	c.member("tokens_before", s.Get("tokens_before"))
	c.member("timestamp", s.Get("timestamp"))
	c.text = append(c.text, '}')
}

func (c *conversation) next() {
	if c.some {
		c.text = append(c.text, ',')
	}
	c.some = true
}

func (c *conversation) begin(role string) {
	c.next()
	c.text = append(append(append(c.text, `{"role":"`...), role...), '"')
}

// member adds a member, or null if the entry has none.
func (c *conversation) member(name string, v jsjson.Value) {
	if v == nil {
		v = null
	}
	c.text = append(append(append(c.text, `,"`...), name...), `":`...)
	c.text = append(c.text, v...)
}

var null = jsjson.Value("null")

// settings ends the context with the settings at the end of steps, including
// those from before a compaction: the last thinking level, "off" if there is
// none, and the last model, null if there is none.
func (c *conversation) settings(steps []step) json.RawMessage {
	level, model, provider := jsjson.Value(`"off"`), null, null
	for i := range steps {
		switch steps[i].Type {
		case typeThinking:
			level = steps[i].Get("thinking_level")
		case typeModel:
			model, provider = steps[i].Get("model_id"), steps[i].Get("provider_id")
		}
	}
	c.text = append(c.text, ']')
	c.member("thinking_level", level)
	c.member("model_id", model)
	c.member("provider_id", provider)
	return valid(append(c.text, '}'))
}
