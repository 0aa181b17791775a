package codex

import (
	"bytes"
	"slices"

	"github.com/sesslog/sesslog/core/dialect/internal/dataurl"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/item"
)

// typeItems is the type of an entry that was made in the log and holds several
// items. In a file each is a line.
const typeItems = "response_items"

// Write makes a line that says it. A note becomes a message of the user, a
// summary a compaction. A thought is not written: providers accept only their
// own, sealed. Returns nil for changes of model, level, mode and channel, for
// leaves, branches and an extension's data, which a rollout cannot represent.
func (d Dialect) Write(it item.Item) (line []byte, lost []string) {
	w := &writer{}
	switch it.Kind {
	case item.Message:
		w.message(&it)
	case item.Note:
		w.said("user", "input_text", it.Blocks)
	case item.Branch:
		w.said("user", "input_text", []item.Block{{Kind: item.BlockText, Text: it.Text}})
	case item.Compaction:
		return compactionLine(it)
	case item.Name:
		return d.NewName(it.Text), []string{"the name, which Codex's files have no place for"}
	case item.Label:
		return d.NewLabel(it.Target, it.Text), []string{"labels, which Codex's files have no place for"}
	}
	if it.Details != nil {
		w.lose("details")
	}
	return w.line(), append(w.lost, it.LostOfSummary()...)
}

// A writer makes the items of an entry, and notes what gets lost.
type writer struct {
	items [][]byte
	lost  []string
}

func (w *writer) lose(what string) {
	if !slices.Contains(w.lost, what) {
		w.lost = append(w.lost, what)
	}
}

// line returns the line that holds the items, or nil if there are none.
func (w *writer) line() []byte {
	switch len(w.items) {
	case 0:
		return nil
	case 1:
		return slices.Concat([]byte(`{"type":"`+typeItem+`","payload":`), w.items[0], []byte("}"))
	}
	return slices.Concat([]byte(`{"type":"`+typeItems+`","payloads":[`), bytes.Join(w.items, []byte(",")), []byte("]}"))
}

func (w *writer) message(it *item.Item) {
	switch it.Role {
	case item.RoleSystem:
		w.said("developer", "input_text", it.Blocks)
	case item.RoleAssistant:
		w.answer(it)
	case item.RoleTool:
		w.result(it.Blocks)
	default:
		w.said("user", "input_text", it.Blocks)
	}
}

// answer writes an answer in the order of its blocks: its texts, and its calls.
func (w *writer) answer(it *item.Item) {
	for _, b := range it.Blocks {
		switch b.Kind {
		case item.BlockText:
			w.said("assistant", "output_text", []item.Block{b})
		case item.BlockCall:
			w.call(b)
		default:
			w.lose(lostBlock(b.Kind))
		}
	}
	for _, what := range it.LostOfAnswer() {
		w.lose(what)
	}
}

func lostBlock(kind item.BlockKind) string {
	if kind == item.BlockThinking {
		return "thoughts of another agent's model"
	}
	return string(kind)
}

// said adds a message, unless it has no content.
func (w *writer) said(role, textType string, blocks []item.Block) {
	content := w.content(textType, blocks)
	if content == nil {
		return
	}
	b := jsonl.AppendMember([]byte(`{"type":"message"`), "role", role)
	w.items = append(w.items, slices.Concat(b, []byte(`,"content":`), content, []byte("}")))
}

// content returns a list of texts and images, or nil if there are none.
func (w *writer) content(textType string, blocks []item.Block) []byte {
	var b []byte
	for _, bl := range blocks {
		var l jsonl.Line
		switch bl.Kind {
		case item.BlockText:
			l.Begin(textType)
			l.Text("text", bl.Text)
		case item.BlockImage:
			l.Begin("input_image")
			l.Text("image_url", dataurl.URL(bl.MIME, bl.Data))
		default:
			w.lose(lostBlock(bl.Kind))
			continue
		}
		b = append(append(append(b, ','), l.Bytes...), '}')
	}
	if b == nil {
		return nil
	}
	b[0] = '['
	return append(b, ']')
}

func (w *writer) call(b item.Block) {
	var l jsonl.Line
	l.Begin("function_call")
	l.Text("name", b.Name)
	l.Text("arguments", jsonl.ArgumentText(b.Args))
	l.Text("call_id", b.ID)
	w.items = append(w.items, append(l.Bytes, '}'))
}

func (w *writer) result(bs []item.Block) {
	var r item.Block
	if len(bs) > 0 {
		r = bs[0]
	}
	if r.Failed {
		w.lose("that a tool failed")
	}
	if r.Details != nil {
		w.lose("details of a tool's result")
	}
	var l jsonl.Line
	l.Begin("function_call_output")
	l.Text("call_id", r.ID)
	if text, plain := textOf(r.Blocks); plain {
		l.Text("output", text)
	} else {
		l.Raw("output", w.content("input_text", r.Blocks))
	}
	w.items = append(w.items, append(l.Bytes, '}'))
}

// textOf returns the text of a result that is one text, or nothing. It reports
// false for any other.
func textOf(bs []item.Block) (string, bool) {
	switch {
	case len(bs) == 0:
		return "", true
	case len(bs) == 1 && bs[0].Kind == item.BlockText:
		return bs[0].Text, true
	}
	return "", !slices.ContainsFunc(bs, func(b item.Block) bool { return b.Kind == item.BlockText || b.Kind == item.BlockImage })
}

// compactionLine makes a compaction whose only item is the summary. What it
// kept follows it.
func compactionLine(it item.Item) (line []byte, lost []string) {
	lost = it.LostOfSummary()
	if it.Details != nil {
		lost = append(lost, "details of a summary")
	}
	b := jsonl.AppendMember([]byte(`{"type":"`+typeCompacted+`","payload":{`), "message", it.Text)
	b = slices.Delete(b, len(`{"type":"`+typeCompacted+`","payload":{`), len(`{"type":"`+typeCompacted+`","payload":{`)+1)
	b = append(b, `,"replacement_history":[`...)
	return append(append(b, userText(it.Text)...), `]}}`...), lost
}

// madeLines returns the lines of a file that say what an entry says that was
// made in the log. events adds, before each message, the event by which Codex
// shows it in lists; files without ordinals have such events.
func madeLines(l rolloutLine, events bool) [][]byte {
	r, ok := readRecord(l.bytes)
	switch {
	case !ok || l.Type == typeName || l.Type == typeLabel:
		return nil
	case l.Type != typeItems:
		return madeLine(l, r, events)
	}
	var lines [][]byte
	_ = jsjson.Each(member(l.bytes, "payloads"), func(v jsjson.Value) {
		r := record{kind: typeItem, payload: v}
		lines = append(lines, madeLine(l, r, events)...)
	})
	return lines
}

func madeLine(l rolloutLine, r record, events bool) [][]byte {
	if r.payload == nil || r.kind == "" {
		return nil
	}
	var lines [][]byte
	if events && r.kind == typeItem {
		if event := eventOf(r.payload); event != nil {
			lines = append(lines, lineOf(l.Time, typeEvent, event))
		}
	}
	return append(lines, lineOf(l.Time, r.kind, r.payload))
}

func lineOf(time, kind string, payload []byte) []byte {
	b := jsjson.AppendString([]byte(`{"timestamp":`), time)
	b = jsonl.AppendMember(b, "type", kind)
	return slices.Concat(b, []byte(`,"payload":`), payload, []byte("}"))
}

// eventOf makes the event that shows a message of a user or a model, or nil for
// any other item.
func eventOf(payload jsjson.Value) []byte {
	it, ok := readItem(payload)
	if !ok || it.kind != "message" {
		return nil
	}
	var l jsonl.Line
	switch {
	case it.isUser():
		l.Begin("user_message")
		l.Text("message", it.text())
		l.Bytes = append(l.Bytes, `,"images":[],"local_images":[],"text_elements":[]}`...)
		return l.Bytes
	case it.role == "assistant":
		l.Begin("agent_message")
		l.Text("message", it.text())
		return append(l.Bytes, '}')
	}
	return nil
}
