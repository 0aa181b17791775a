package opencode

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/dataurl"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/usage"
)

// Read returns what e says by itself. A row says something when it is complete:
// the text of a model when it ended, a call when it has its result. Whose text it
// is shows in whether it has a time, which only a model's texts have. ReadAll
// knows it from the message.
func (Dialect) Read(e core.Entry) []item.Item {
	var its []item.Item
	switch e.Type {
	case typeName:
		its = []item.Item{{Kind: item.Name, Text: text(e.Line, "name")}}
	case typeLabel:
		its = []item.Item{{Kind: item.Label, Target: text(e.Line, "targetId"), Text: text(e.Line, "label")}}
	case typePart:
		its = readPart(member(lineOf(e), "data", "part"))
	case typeMessages, typeResult:
		its = readMessages(e)
	}
	for i := range its {
		if its[i].Time == "" {
			its[i].Time = date.ISO(date.Parse(e.Time))
		}
	}
	return its
}

// readMessages reads whole messages, or a result that was made in the log.
func readMessages(e core.Entry) []item.Item {
	if e.Type == typeResult {
		line := lineOf(e)
		return []item.Item{{Kind: item.Message, Role: item.RoleTool, Blocks: []item.Block{resultBlock(text(line, "callID"), "", answered(nil, line, 1))}}}
	}
	s := newState(core.Header{})
	s.take(e)
	return itemsOf(s.ordered())
}

func readPart(row jsjson.Value) []item.Item {
	p := &part{id: text(row, "id"), kind: text(row, "type"), row: row}
	times := member(row, "time")
	if times != nil && member(times, "end") == nil && p.kind != "tool" {
		return nil // it is being written
	}
	m := &message{role: "user", parts: map[string]*part{p.id: p}}
	if times != nil || p.kind == "tool" {
		m.role = "assistant"
	}
	if status := text(row, "state", "status"); p.kind == "tool" && status != "completed" && status != "error" {
		return nil
	}
	return m.items()
}

// ReadAll implements optional.Narrator.
func (Dialect) ReadAll(h core.Header, es []core.Entry, leaf core.Leaf) ([]item.Item, error) {
	upto, err := entriesTo(es, leaf)
	if err != nil {
		return nil, err
	}
	return itemsOf(fold(h, upto).history()), nil
}

func itemsOf(ms []*message) []item.Item {
	var its []item.Item
	for i, m := range ms {
		switch {
		case m.compaction() != nil && i+1 < len(ms) && ms[i+1].isSummary():
			// The summary says it.
		case m.isSummary():
			its = append(its, item.Item{Kind: item.Compaction, Text: m.says(), Time: isoTime(m.created)})
		default:
			its = append(its, m.items()...)
		}
	}
	return its
}

// says is the texts of a message.
func (m *message) says() (all string) {
	for _, p := range m.ordered() {
		if p.kind == "text" {
			all += text(p.row, "text")
		}
	}
	return all
}

// items returns what m says: itself, and each result of its calls.
func (m *message) items() []item.Item {
	it := item.Item{Kind: item.Message, Role: item.RoleUser, Time: isoTime(m.created)}
	if m.role == "assistant" {
		it.Role = item.RoleAssistant
		m.answer(&it)
	}
	its := []item.Item{it}
	for _, p := range m.ordered() {
		switch p.kind {
		case "text":
			if s := text(p.row, "text"); s != "" && !member(p.row, "ignored").Truthy() {
				its[0].Blocks = append(its[0].Blocks, item.Block{Kind: item.BlockText, Text: s})
			}
		case "reasoning":
			its[0].Blocks = append(its[0].Blocks, thought(p.row))
		case "file":
			its[0].Blocks = appendFile(its[0].Blocks, p.row)
		case "subtask":
			its[0].Blocks = append(its[0].Blocks, item.Block{Kind: item.BlockText, Text: askedForTool})
		case "tool":
			state, id, name := member(p.row, "state"), text(p.row, "callID"), text(p.row, "tool")
			its[0].Blocks = append(its[0].Blocks, item.Block{Kind: item.BlockCall, ID: id, Name: name, Args: json.RawMessage(member(state, "input"))})
			its = append(its, item.Item{Kind: item.Message, Role: item.RoleTool, Time: it.Time, Blocks: []item.Block{resultBlock(id, name, state)}})
		}
	}
	if len(its[0].Blocks) == 0 && its[0].Error == "" {
		return nil
	}
	return its
}

// answer adds what the row of an answer says.
func (m *message) answer(it *item.Item) {
	it.Provider, it.Model = text(m.info, "providerID"), text(m.info, "modelID")
	if m.info != nil {
		u := usage.Use{Tokens: tokensOf(m.info)}
		u.Cost, _ = listing.Cost(member(m.info, "cost"))
		it.Usage = &item.Usage{}
		u.AddTo(it.Usage)
	}
	it.Stop = stops[text(m.info, "finish")]
	if failure := member(m.info, "error"); failure.Truthy() {
		it.Stop, it.Error = item.StopError, text(failure, "data", "message")
		if member(failure, "name").Is("MessageAbortedError") {
			it.Stop = item.StopAborted
		}
	}
}

var stops = map[string]item.Stop{
	"stop": item.StopEnd, "length": item.StopLength, "tool-calls": item.StopTools, "content-filter": item.StopFilter, "error": item.StopError,
}

func thought(row jsjson.Value) item.Block {
	b := item.Block{Kind: item.BlockThinking, Text: text(row, "text"), Signature: text(row, "metadata", "anthropic", "signature")}
	if sealed := text(row, "metadata", "anthropic", "redactedData"); sealed != "" {
		b.Signature, b.Hidden = sealed, true
	}
	return b
}

// appendFile appends a picture, or what else was attached as a text about it.
// Texts are in parts of their own.
func appendFile(bs []item.Block, row jsjson.Value) []item.Block {
	mime, url := text(row, "mime"), text(row, "url")
	if mime == "text/plain" || mime == "application/x-directory" {
		return bs
	}
	if of, data, ok := dataurl.Parse(url); ok && kindOf(mime) == "image" {
		if of == "" {
			of = mime
		}
		return append(bs, item.Block{Kind: item.BlockImage, MIME: of, Data: data})
	}
	return append(bs, item.Block{Kind: item.BlockText, Text: "[Attached " + mime + ": " + nameOf(row, "file") + "]"})
}

func resultBlock(id, name string, state jsjson.Value) item.Block {
	b := item.Block{Kind: item.BlockResult, ID: id, Name: name, Failed: !member(state, "status").Is("completed")}
	b.Blocks = []item.Block{{Kind: item.BlockText, Text: resultOf(state)}}
	_ = jsjson.Each(member(state, "attachments"), func(v jsjson.Value) { b.Blocks = appendFile(b.Blocks, v) })
	return b
}
