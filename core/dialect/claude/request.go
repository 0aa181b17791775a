package claude

import (
	"encoding/json"
	"slices"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A request collects messages as the agent sends them: the lines of one answer
// in one message, neighboring lines of the user in one, with what attachments
// say after it.
type request struct {
	calls    callSet
	messages []message
	notes    []string // of attachments, for after the next message of the user
}

type message struct {
	role   string
	id     string // of an answer
	blocks []block
	plain  bool         // one line of the user, whose content is a text
	before jsjson.Value // a text that is a message of the user before this one
	shown  int          // number of blocks that end with pictures that attachments show
	note   string
}

// add adds what a line says.
func (b *request) add(n *node) {
	switch n.kind {
	case "user":
		b.addUser(n)
	case "assistant":
		if !n.apiError {
			b.addAssistant(n)
		}
	case "system":
		if content := member(n.line, "content"); content.Kind() == '"' && member(n.line, "subtype").Is("local_command") {
			b.user(plainBlock(content))
		}
	case "attachment":
		b.addAttachment(attachment{member(n.line, "attachment")})
	}
}

func (b *request) addUser(n *node) {
	blocks := b.sent(n)
	if len(blocks) == 0 {
		return
	}
	b.user(blocks...)
	last := &b.messages[len(b.messages)-1]
	last.plain = last.plain && n.content.Kind() == '"'
}

// user adds blocks to the message of the user that is last, or makes one.
func (b *request) user(blocks ...block) {
	if i := len(b.messages) - 1; i >= 0 && b.messages[i].role == "user" {
		m := &b.messages[i]
		last := len(m.blocks) - 1
		m.blocks = append(m.blocks, blocks...) // which copies those of a node
		if m.blocks[last].isText() && blocks[0].isText() {
			m.blocks[last] = m.blocks[last].broken()
		}
		m.plain = false
		return
	}
	b.messages = append(b.messages, message{role: "user", blocks: blocks, plain: true})
}

func rank(b block) int {
	if b.kind.Is("tool_result") {
		return 0
	}
	return 1
}

func (b *request) addAssistant(n *node) {
	b.assistant(n.msgID, b.sent(n)...)
}

// sent returns the blocks of n that are sent. The caller may append to them.
func (b *request) sent(n *node) []block {
	unsent := func(x block) bool { return !b.calls.sends(x) }
	all := n.blocks()
	if slices.ContainsFunc(all, unsent) {
		all = slices.DeleteFunc(slices.Clone(all), unsent)
	}
	return slices.Clip(all)
}

// assistant adds blocks to the answer with that id if only results of calls follow it,
// or makes one.
func (b *request) assistant(id string, blocks ...block) {
	if len(blocks) == 0 {
		return
	}
	if m := b.open(id); m != nil {
		m.blocks = append(m.blocks, blocks...)
		return
	}
	b.flush()
	b.messages = append(b.messages, message{role: "assistant", id: id, blocks: blocks})
}

// open returns the answer with that id if only results of calls follow it: the agent
// runs a call before the model has written the next one. It is nil if there is none.
func (b *request) open(id string) *message {
	if id == "" || len(b.notes) > 0 {
		return nil
	}
	for i := len(b.messages) - 1; i >= 0; i-- {
		m := &b.messages[i]
		if m.role == "assistant" && m.id == id {
			return m
		}
		if m.role != "user" || len(m.blocks) == 0 || !m.blocks[0].kind.Is("tool_result") {
			return nil
		}
	}
	return nil
}

// flush adds the message of the pending attachments.
func (b *request) flush() {
	if len(b.notes) == 0 {
		return
	}
	note := b.notes[0]
	for _, s := range b.notes[1:] {
		note += "\n\n" + s
	}
	b.messages = append(b.messages, message{role: "system", note: note})
	b.notes = nil
}

// isEmpty reports whether an answer says nothing and is not sent.
func (m *message) isEmpty() bool {
	silent := func(b block) bool { return b.isBlank() || b.isThinking() }
	return m.role == "assistant" && !slices.ContainsFunc(m.blocks, func(b block) bool { return !silent(b) })
}

// merged returns the messages without empty answers. Messages of the user that
// become neighbors are joined.
func (b *request) merged() []message {
	all := b.messages
	b.messages = all[:0] // no longer than what was read of all
	for _, m := range all {
		switch {
		case m.isEmpty():
		case m.role == "user" && len(b.messages) > 0 && b.messages[len(b.messages)-1].role == "user":
			if m.before != nil {
				b.user(plainBlock(m.before))
			}
			b.user(m.blocks...)
		default:
			b.messages = append(b.messages, m)
		}
	}
	return b.messages
}

// json returns the messages. The first is not a plain text, because the agent
// puts what it reads from the host before it; nor is the last if it is the
// user's, because the next prompt becomes part of it. Pending notes follow that
// prompt and are left out.
func (b *request) json() json.RawMessage {
	all := b.merged()
	size := 0
	for i := range all {
		size += all[i].size()
	}
	out := append(make([]byte, 0, size+len(`{"messages":[]}`)), `{"messages":[`...)
	for i := range all {
		m := &all[i]
		if i > 0 {
			out = append(out, ',')
		} else {
			m.plain = false
		}
		if i == len(all)-1 && m.role == "user" {
			m.plain = false
			if last := len(m.blocks) - 1; m.blocks[last].isText() {
				m.blocks[last] = m.blocks[last].broken()
			}
		}
		out = m.append(out)
	}
	return append(out, "]}"...)
}

// size is about how long the message is.
func (m *message) size() int {
	n := len(`{"role":"assistant","content":[]},`) + len(m.note) + len(m.before)
	for i := range m.blocks {
		b := &m.blocks[i]
		n += len(b.whole) + 1
		if b.whole == nil {
			n += len(b.text) + len(`{"type":"text","text":}`)
		}
	}
	return n
}

func (m *message) append(out []byte) []byte {
	if m.before != nil {
		out = append(append(append(out, `{"role":"user","content":`...), m.before...), "},"...)
	}
	out = append(append(append(out, `{"role":"`...), m.role...), `","content":`...)
	switch {
	case m.role == "system":
		out = jsjson.AppendString(out, m.note)
	case m.plain && len(m.blocks) == 1:
		out = append(out, m.blocks[0].text...)
	default:
		if m.role == "user" { // the results of calls come first
			slices.SortStableFunc(m.blocks, func(x, y block) int { return rank(x) - rank(y) })
		}
		out = append(out, '[')
		for i := range m.blocks {
			if i > 0 {
				out = append(out, ',')
			}
			out = m.blocks[i].append(out)
		}
		out = append(out, ']')
	}
	return append(out, '}')
}
