package opencode

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core/dialect/internal/dataurl"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/item"
)

// Write makes a line that says it. A note becomes a message of the user, a
// summary a compaction. A thought of another agent's model is not written:
// opencode sends thoughts to the model that made them. Returns nil for changes of
// model, level, mode and channel, for leaves and an extension's data, which
// opencode does not represent by themselves.
func (d Dialect) Write(it item.Item) (line []byte, lost []string) {
	w := &writer{}
	switch it.Kind {
	case item.Message:
		w.message(&it)
	case item.Note:
		w.user(it.Blocks)
	case item.Branch:
		w.user([]item.Block{{Kind: item.BlockText, Text: it.Text}})
	case item.Compaction:
		w.compaction(&it)
	case item.Name:
		return d.NewName(it.Text), nil
	case item.Label:
		return d.NewLabel(it.Target, it.Text), []string{"labels, which opencode has no place for"}
	}
	if it.Details != nil {
		w.lose("details")
	}
	return w.done(), append(w.lost, it.LostOfSummary()...)
}

// A writer makes the messages of an entry, and notes what gets lost.
type writer struct {
	line     []byte // of a result
	messages [][]byte
	lost     []string
}

func (w *writer) lose(what string) {
	if !slices.Contains(w.lost, what) {
		w.lost = append(w.lost, what)
	}
}

func (w *writer) done() []byte {
	if len(w.messages) == 0 {
		return w.line
	}
	return slices.Concat([]byte(`{"type":"`+typeMessages+`","messages":[`), bytes.Join(w.messages, []byte(",")), []byte("]}"))
}

// put adds a message, unless it has no parts.
func (w *writer) put(info []byte, parts [][]byte) {
	if len(parts) == 0 {
		return
	}
	w.messages = append(w.messages, slices.Concat([]byte(`{"info":`), info, []byte(`,"parts":[`), bytes.Join(parts, []byte(",")), []byte("]}")))
}

func (w *writer) message(it *item.Item) {
	switch it.Role {
	case item.RoleAssistant:
		w.answer(it)
	case item.RoleTool:
		w.result(it.Blocks)
	default:
		w.user(it.Blocks)
	}
}

func (w *writer) user(blocks []item.Block) {
	var parts [][]byte
	for _, b := range blocks {
		switch b.Kind {
		case item.BlockText:
			parts = append(parts, textPart(b.Text, nil))
		case item.BlockImage:
			parts = append(parts, filePart(b))
		default:
			w.lose(string(b.Kind))
		}
	}
	w.put([]byte(`{"role":"user"}`), parts)
}

// modelTime marks a text as one of a model.
var modelTime = []byte(`,"time":{"start":0,"end":0}`)

func textPart(s string, more []byte) []byte {
	b := jsonl.AppendMember([]byte(`{"type":"text"`), "text", s)
	return append(append(b, more...), '}')
}

func filePart(b item.Block) []byte {
	var l jsonl.Line
	l.Begin("file")
	l.Text("mime", b.MIME)
	l.Text("url", dataurl.URL(b.MIME, b.Data))
	return append(l.Bytes, '}')
}

func (w *writer) answer(it *item.Item) {
	var parts [][]byte
	for _, b := range it.Blocks {
		switch b.Kind {
		case item.BlockText:
			parts = append(parts, textPart(b.Text, modelTime))
		case item.BlockCall:
			parts = append(parts, w.call(b))
		case item.BlockThinking:
			w.lose("thoughts of another agent's model")
		default:
			w.lose(string(b.Kind))
		}
	}
	info := []byte(`{"role":"assistant"`)
	if it.Model != "" {
		info = jsonl.AppendMember(info, "modelID", it.Model)
		info = jsonl.AppendMember(info, "providerID", cmp.Or(it.Provider, "unknown"))
	}
	if u := it.Usage; u != nil {
		info = append(info, `,"cost":`...)
		info = append(jsjson.AppendNumber(info, u.Cost), `,"tokens":{"input":`...)
		info = strconv.AppendInt(info, u.Input, 10)
		info = strconv.AppendInt(append(info, `,"output":`...), u.Output, 10)
		info = strconv.AppendInt(append(info, `,"reasoning":0,"cache":{"read":`...), u.CacheRead, 10)
		info = append(strconv.AppendInt(append(info, `,"write":`...), u.CacheWrite, 10), `}}`...)
	}
	w.put(append(append(info, w.ending(it)...), '}'), parts)
}

// ending says how an answer ended.
func (w *writer) ending(it *item.Item) []byte {
	if it.Stop == item.StopAborted {
		return []byte(`,"error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}`)
	}
	if it.Error != "" || it.Stop == item.StopError {
		w.lose("an answer's error")
	}
	for word, stop := range map[string]item.Stop{"length": item.StopLength, "tool-calls": item.StopTools, "content-filter": item.StopFilter} {
		if stop == it.Stop {
			return []byte(`,"finish":"` + word + `"`)
		}
	}
	return []byte(`,"finish":"stop"`)
}

// call writes a call without its result, which follows.
func (w *writer) call(b item.Block) []byte {
	input, err := jsonl.Append(nil, jsjson.Value(b.Args))
	if err != nil || jsjson.Value(input).Kind() != '{' {
		if len(b.Args) > 0 {
			w.lose("arguments that are not a JSON object")
		}
		input = []byte("{}")
	}
	var l jsonl.Line
	l.Begin("tool")
	l.Text("callID", b.ID)
	l.Text("tool", b.Name)
	l.Raw("state", slices.Concat([]byte(`{"status":"pending","input":`), input, []byte(`,"raw":""}`)))
	return append(l.Bytes, '}')
}

func (w *writer) result(bs []item.Block) {
	var r item.Block
	if len(bs) > 0 {
		r = bs[0]
	}
	if r.Details != nil {
		w.lose("details of a tool's result")
	}
	var texts []string
	var files [][]byte
	for _, b := range r.Blocks {
		switch b.Kind {
		case item.BlockText:
			texts = append(texts, b.Text)
		case item.BlockImage:
			files = append(files, filePart(b))
		default:
			w.lose(string(b.Kind))
		}
	}
	var l jsonl.Line
	l.Begin(typeResult)
	l.Text("callID", r.ID)
	if r.Failed {
		if len(files) > 0 {
			w.lose("images of a tool that failed")
		}
		l.Text("error", strings.Join(texts, "\n"))
	} else {
		l.Text("output", strings.Join(texts, "\n"))
		if len(files) > 0 {
			l.Raw("attachments", slices.Concat([]byte("["), bytes.Join(files, []byte(",")), []byte("]")))
		}
	}
	w.line = append(l.Bytes, '}')
}

// compaction writes the two messages of one: what asks for it, and the summary.
func (w *writer) compaction(it *item.Item) {
	w.put([]byte(`{"role":"user"}`), [][]byte{[]byte(`{"type":"compaction","auto":false}`)})
	w.put([]byte(`{"role":"assistant","mode":"compaction","agent":"compaction","summary":true,"finish":"stop"}`), [][]byte{textPart(it.Text, modelTime)})
}
