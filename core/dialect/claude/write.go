package claude

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/item"
)

// NewLabel returns nil: the agent has no labels.
func (Dialect) NewLabel(_, _ string) []byte { return nil }

// NewName makes a line that titles the session.
func (Dialect) NewName(title string) []byte {
	return append(jsonl.AppendMember([]byte(`{"type":"custom-title"`), "customTitle", title), '}')
}

// Write makes a line that says it. The agent keeps no thinking level, no labels, no
// data of extensions and no costs.
func (d Dialect) Write(it item.Item) (line []byte, lost []string) {
	var w writer
	switch it.Kind {
	case item.Message:
		return w.message(it)
	case item.Compaction:
		w.begin("user")
		w.Raw("isCompactSummary", []byte("true"))
		w.Lose("that the summary replaces what came before it")
		w.speak([]item.Block{{Kind: item.BlockText, Text: it.Text}})
	case item.Branch:
		w.begin("user")
		w.speak([]item.Block{{Kind: item.BlockText, Text: it.Text}})
	case item.Note:
		w.begin("user")
		w.Raw("isMeta", []byte("true"))
		w.speak(it.Blocks)
	case item.Name:
		return d.NewName(it.Text), nil
	case item.Leaf:
		w.Begin(typeLastPrompt)
		if it.Target == "" {
			w.Raw("leafUuid", []byte(`null,"explicit":true`))
		} else {
			w.Text("leafUuid", it.Target)
		}
	default:
		return nil, nil
	}
	if it.Details != nil {
		w.Lose("details")
	}
	return append(w.Bytes, '}'), append(w.Lost, it.LostOfSummary()...)
}

// A writer makes one line.
type writer struct{ jsonl.Line }

// begin begins a line of the conversation.
func (w *writer) begin(kind string) {
	w.Bytes = append(w.Bytes, `{"isSidechain":false,"type":"`+kind+`"`...)
}

func (w *writer) message(it item.Item) ([]byte, []string) {
	switch it.Role {
	case item.RoleAssistant:
		w.begin("assistant")
		if it.Stop == item.StopError && it.Error != "" {
			w.Raw("isApiErrorMessage", []byte("true"))
			it.Blocks, it.Model = []item.Block{{Kind: item.BlockText, Text: it.Error}}, noModel
		}
		w.answer(it)
	case item.RoleSystem:
		w.begin("user")
		w.Raw("isMeta", []byte("true"))
		w.speak(it.Blocks)
	default:
		w.begin("user")
		w.speak(it.Blocks)
	}
	return append(w.Bytes, '}'), w.Lost
}

// speak adds the message of the user.
func (w *writer) speak(blocks []item.Block) {
	w.Bytes = append(w.Bytes, `,"message":{"role":"user","content":`...)
	w.content(blocks)
	w.Bytes = append(w.Bytes, '}')
}

// answer adds the message of a model. The agent joins neighboring lines with the
// same message id, so the id is derived from what is said.
func (w *writer) answer(it item.Item) {
	var content writer
	content.content(it.Blocks)
	w.Lost = append(w.Lost, content.Lost...)
	sum := sha256.Sum256(append([]byte(it.Time+"\x00"), content.Bytes...))
	b := append(w.Bytes, `,"message":{"id":"msg_`+hex.EncodeToString(sum[:12])+`","type":"message","role":"assistant"`...)
	b = jsonl.AppendMember(b, "model", cmp.Or(it.Model, "unknown"))
	b = append(append(b, `,"content":`...), content.Bytes...)
	b = append(b, `,"stop_reason":`+stopReason(it.Stop)+`,"stop_sequence":null`...)
	if u := it.Usage; u != nil {
		if u.Cost != 0 {
			w.Lose("what an answer cost")
		}
		b = append(b, `,"usage":{"input_tokens":`...)
		b = strconv.AppendInt(b, u.Input, 10)
		b = strconv.AppendInt(append(b, `,"cache_creation_input_tokens":`...), u.CacheWrite, 10)
		b = strconv.AppendInt(append(b, `,"cache_read_input_tokens":`...), u.CacheRead, 10)
		b = append(strconv.AppendInt(append(b, `,"output_tokens":`...), u.Output, 10), '}')
	}
	w.Bytes = append(b, '}')
}

func stopReason(s item.Stop) string {
	switch s {
	case item.StopEnd:
		return `"end_turn"`
	case item.StopLength:
		return `"max_tokens"`
	case item.StopTools:
		return `"tool_use"`
	case item.StopFilter:
		return `"refusal"`
	}
	return "null"
}

// content adds blocks as an array.
func (w *writer) content(blocks []item.Block) {
	w.Bytes = append(w.Bytes, '[')
	first := true
	for _, b := range blocks {
		before := len(w.Bytes)
		if !first {
			w.Bytes = append(w.Bytes, ',')
		}
		if !w.block(b) {
			w.Bytes = w.Bytes[:before]
			continue
		}
		first = false
	}
	w.Bytes = append(w.Bytes, ']')
}

// block adds b, and reports false if the agent has no such block.
func (w *writer) block(b item.Block) bool {
	open := func(kind string) { w.Bytes = append(w.Bytes, `{"type":"`+kind+`"`...) }
	switch {
	case b.Kind == item.BlockText:
		open("text")
		w.Text("text", b.Text)
	case b.Kind == item.BlockThinking && b.Hidden:
		open("redacted_thinking")
		w.Text("data", b.Signature)
	case b.Kind == item.BlockThinking:
		open("thinking")
		w.Text("thinking", b.Text)
		w.Text("signature", b.Signature)
	case b.Kind == item.BlockImage:
		open("image")
		w.Bytes = append(w.Bytes, `,"source":{"type":"base64"`...)
		w.Text("media_type", b.MIME)
		w.Text("data", b.Data)
		w.Bytes = append(w.Bytes, '}')
	case b.Kind == item.BlockCall:
		open("tool_use")
		w.Text("id", b.ID)
		w.Text("name", b.Name)
		w.args(b)
	case b.Kind == item.BlockResult:
		open("tool_result")
		w.Text("tool_use_id", b.ID)
		w.Bytes = append(w.Bytes, `,"content":`...)
		w.content(b.Blocks)
		if b.Failed {
			w.Raw("is_error", []byte("true"))
		}
		if b.Details != nil {
			w.Lose("details of a tool's result")
		}
	default:
		w.Lose(string(b.Kind))
		return false
	}
	w.Bytes = append(w.Bytes, '}')
	return true
}

// args adds the arguments of a call, which must be an object.
func (w *writer) args(b item.Block) {
	before := len(w.Bytes)
	w.Value("input", b.Args)
	if at := before + len(`,"input":`); len(w.Bytes) <= at || w.Bytes[at] != '{' {
		w.Bytes = append(w.Bytes[:before], `,"input":{}`...)
	}
}
