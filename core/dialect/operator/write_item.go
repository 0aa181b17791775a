package operator

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/jsonline"
	"github.com/sesslog/sesslog/core/newid"
)

// levels are the thinking levels that Operator has, from the least to the most.
var levels = []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}

// Write makes a line that says it, one that Operator reads. Operator has no
// entries for a mode. A system message becomes an extension's, because Operator
// makes its own.
func (d Dialect) Write(it item.Item) (line []byte, lost []string) {
	w := writer{}
	switch it.Kind {
	case item.Message:
		w.message(it)
	case item.Model:
		if it.For != "" { // as a change of the model it would change the session's own
			return nil, []string{"the model for the role " + strconv.Quote(jsonl.Clip(it.For, 40))}
		}
		w.Begin(typeModel)
		w.Text("model_id", it.Model)
		w.Text("provider_id", it.Provider)
	case item.Level:
		if !slices.Contains(levels, it.Text) {
			return nil, []string{item.LostLevel(it.Text, levels)}
		}
		w.Begin(typeThinking)
		w.Text("thinking_level", it.Text)
	case item.Compaction:
		w.Begin(typeCompaction)
		w.Text("summary", it.Text)
		w.Text("first_kept_entry_id", it.Target)
		w.Raw("tokens_before", strconv.AppendInt(nil, it.Tokens, 10))
		w.summary(it)
	case item.Branch:
		w.Begin(typeBranchSummary)
		from := it.Target
		if from == "" {
			from = root
		}
		w.Text("from_id", from)
		w.Text("summary", it.Text)
		w.summary(it)
	case item.Label:
		return d.NewLabel(it.Target, it.Text), nil
	case item.Name:
		return d.NewName(it.Text), nil
	case item.Leaf:
		w.Begin(typeLeaf)
		if it.Target != "" {
			w.Text("target_id", it.Target)
		}
	case item.Custom:
		w.Begin(typeCustom)
		w.Text("custom_type", it.Type)
		w.Value("data", it.Details)
	case item.Note:
		w.note(it)
	case item.Channel:
		w.channel(it)
	default:
		return nil, nil
	}
	return jsonline.EscapeSeparators(append(w.Bytes, '}')), w.Lost
}

// A writer makes one line.
type writer struct{ jsonl.Line }

// summary adds what compactions and branches have besides the text.
func (w *writer) summary(it item.Item) {
	w.Value("details", it.Details)
	w.Raw("from_hook", strconv.AppendBool(nil, it.ByExtension))
	w.Lost = append(w.Lost, it.Own...)
}

func (w *writer) note(it item.Item) {
	w.Begin(typeCustomMessage)
	w.Text("custom_type", it.Type)
	w.blocks("content", it.Blocks, item.BlockText, item.BlockImage)
	w.Raw("display", strconv.AppendBool(nil, !it.Hidden))
	w.Value("details", it.Details)
}

func (w *writer) channel(it item.Item) {
	w.Begin(typeChannel)
	w.Text("name", it.Text)
	ids, ok := jsonl.Nested(jsjson.Value(it.Details))
	if !ok {
		return
	}
	for _, name := range []string{"chat_id", "user_id"} {
		if s, ok := ids.Get(name).Text(); ok {
			w.Text(name, s)
		}
	}
}

func (w *writer) message(it item.Item) {
	if it.Role == item.RoleSystem {
		w.note(item.Item{Type: "system", Blocks: it.Blocks})
		return
	}
	m := writer{}
	m.Bytes = append(m.Bytes, `{"role":"`+string(it.Role)+`"`...)
	if it.Role == item.RoleTool {
		m.result(it.Blocks)
	} else {
		m.blocks("contents", it.Blocks, item.BlockText, item.BlockImage, item.BlockAudio, item.BlockThinking, item.BlockCall)
	}
	if n, ok := number(it.Time); ok {
		m.Raw("timestamp", []byte(n))
	}
	if it.Role == item.RoleAssistant {
		m.answer(it)
	}
	m.Text("id", messageID(m.Bytes))
	w.Bytes = append(append(append(w.Bytes, `{"type":"message","message":`...), m.Bytes...), '}')
	w.Lost = append(w.Lost, m.Lost...)
}

// messageID is a UUID for a message, derived from its content.
func messageID(message []byte) string {
	h := sha256.Sum256(message)
	return newid.UUID([16]byte(h[:16]))
}

func (w *writer) answer(it item.Item) {
	u := it.Usage
	if u == nil {
		u = &item.Usage{}
	}
	b := []byte(`{"input_tokens":` + strconv.FormatInt(u.Input, 10) + `,"output_tokens":` + strconv.FormatInt(u.Output, 10) +
		`,"cache_read_tokens":` + strconv.FormatInt(u.CacheRead, 10) + `,"cache_write_tokens":` + strconv.FormatInt(u.CacheWrite, 10) +
		`,"cost":{"input":0.0,"output":0.0,"cache_read":0.0,"cache_write":0.0,"total":`)
	w.Raw("usage", append(jsjson.AppendNumber(b, u.Cost), `}}`...))
	stop := "stop"
	for name, s := range stops {
		if s == it.Stop {
			stop = name
		}
	}
	w.Text("stop_reason", stop)
	w.Text("error", it.Error)
	if it.Model != "" || it.Provider != "" {
		w.Lose(item.LostModel)
	}
}

// result adds the result of a tool: one block with its texts, followed by its
// pictures.
func (w *writer) result(bs []item.Block) {
	r := item.Block{}
	if len(bs) > 0 {
		r = bs[0]
	}
	var texts []string
	var pictures []item.Block
	for _, b := range r.Blocks {
		if b.Kind == item.BlockText {
			texts = append(texts, b.Text)
			continue
		}
		pictures = append(pictures, b)
	}
	w.Bytes = append(w.Bytes, `,"contents":[{"type":"tool_result"`...)
	w.Text("id", r.ID)
	w.Text("content", strings.Join(texts, "\n"))
	w.Raw("is_error", strconv.AppendBool(nil, r.Failed))
	w.object("metadata", r.Details, "details of a result that are not an object")
	w.Raw("terminate", []byte("false"))
	w.Bytes = append(w.Bytes, '}')
	for _, p := range pictures {
		w.Bytes = append(w.Bytes, ',')
		if !w.block(p, []item.BlockKind{item.BlockImage}) {
			w.Bytes = w.Bytes[:len(w.Bytes)-1]
		}
	}
	w.Bytes = append(w.Bytes, ']')
}

// object adds v if it is an object, and otherwise an empty object; lost
// describes the loss.
func (w *writer) object(name string, v json.RawMessage, lost string) {
	b, err := jsjson.Append(nil, jsjson.Value(v))
	if err != nil || len(b) == 0 || b[0] != '{' {
		if v != nil {
			w.Lose(lost)
		}
		b = []byte("{}")
	}
	w.Raw(name, b)
}

// blocks adds a list of blocks of the kinds that have a place there.
func (w *writer) blocks(name string, bs []item.Block, kinds ...item.BlockKind) {
	w.Bytes = append(append(append(w.Bytes, `,"`...), name...), `":[`...)
	some := false
	for _, b := range bs {
		mark := len(w.Bytes)
		if some {
			w.Bytes = append(w.Bytes, ',')
		}
		if !w.block(b, kinds) {
			w.Bytes = w.Bytes[:mark]
			continue
		}
		some = true
	}
	w.Bytes = append(w.Bytes, ']')
}

func (w *writer) block(b item.Block, kinds []item.BlockKind) bool {
	if !slices.Contains(kinds, b.Kind) {
		w.Lose(string(b.Kind))
		return false
	}
	if b.Hidden {
		w.Lose("a thought that the provider hid")
		return false
	}
	if b.Signature != "" && b.Kind != item.BlockThinking {
		w.Lose("a provider's signature on a " + string(b.Kind))
	}
	switch b.Kind {
	case item.BlockText:
		w.Bytes = append(w.Bytes, `{"type":"text"`...)
		w.Text("content", b.Text)
	case item.BlockThinking:
		w.Bytes = append(w.Bytes, `{"type":"thinking"`...)
		w.Text("content", b.Text)
		w.Text("signature", b.Signature)
	case item.BlockImage:
		w.Bytes = append(w.Bytes, `{"type":"image","images":[`...)
		w.Bytes = append(jsjson.AppendString(w.Bytes, dataURL(b)), ']')
	case item.BlockAudio:
		w.Bytes = append(w.Bytes, `{"type":"audio","audio":[`...)
		w.Bytes = append(jsjson.AppendString(w.Bytes, dataURL(b)), ']')
	case item.BlockCall:
		w.Bytes = append(w.Bytes, `{"type":"tool_call"`...)
		w.Text("id", b.ID)
		w.Text("name", b.Name)
		w.object("args", b.Args, "arguments of a call that are not an object")
		w.object("metadata", b.Details, "details of a call that are not an object")
	}
	w.Bytes = append(w.Bytes, '}')
	return true
}

// dataURL is a picture or a sound as one text.
func dataURL(b item.Block) string {
	if b.MIME == "" {
		return b.Data
	}
	return "data:" + b.MIME + ";base64," + b.Data
}
