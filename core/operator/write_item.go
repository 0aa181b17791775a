package operator

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/esjson"
)

// levels are the thinking levels that Operator has, from the least to the most.
var levels = []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}

// Write makes a line that says it, one that Operator reads. A mode it cannot
// say. A message of the system becomes an extension's, for Operator makes its
// own.
func (d Dialect) Write(it core.Item) (line []byte, lost []string) {
	w := writer{}
	switch it.Kind {
	case core.ItemMessage:
		w.message(it)
	case core.ItemModel:
		if it.For != "" { // as a change of the model it would change the session's own
			return nil, []string{"the model for the role " + strconv.Quote(clip(it.For, 40))}
		}
		w.begin(typeModel)
		w.text("model_id", it.Model)
		w.text("provider_id", it.Provider)
	case core.ItemLevel:
		if !slices.Contains(levels, it.Text) {
			return nil, []string{"thinking level " + strconv.Quote(clip(it.Text, 40))}
		}
		w.begin(typeThinking)
		w.text("thinking_level", it.Text)
	case core.ItemCompaction:
		w.begin(typeCompaction)
		w.text("summary", it.Text)
		w.text("first_kept_entry_id", it.Target)
		w.raw("tokens_before", strconv.AppendInt(nil, it.Tokens, 10))
		w.value("details", it.Details)
		w.raw("from_hook", []byte("false"))
	case core.ItemBranch:
		w.begin(typeBranchSummary)
		from := it.Target
		if from == "" {
			from = root
		}
		w.text("from_id", from)
		w.text("summary", it.Text)
		w.value("details", it.Details)
		w.raw("from_hook", []byte("false"))
	case core.ItemLabel:
		return d.NewLabel(it.Target, it.Text), nil
	case core.ItemName:
		return d.NewName(it.Text), nil
	case core.ItemLeaf:
		w.begin(typeLeaf)
		if it.Target != "" {
			w.text("target_id", it.Target)
		}
	case core.ItemCustom:
		w.begin(typeCustom)
		w.text("custom_type", it.Type)
		w.value("data", it.Details)
	case core.ItemNote:
		w.note(it)
	case core.ItemChannel:
		w.channel(it)
	default:
		return nil, nil
	}
	return append(w.b, '}'), w.lost
}

// A writer makes one line.
type writer struct {
	b    []byte
	lost []string
}

func (w *writer) begin(kind string) { w.b = append(w.b, `{"type":"`+kind+`"`...) }

func (w *writer) text(name, value string) { w.b = appendMember(w.b, name, value) }

func (w *writer) raw(name string, value []byte) {
	w.b = append(append(append(w.b, `,"`...), name...), `":`...)
	w.b = append(w.b, value...)
}

// value adds a value of somebody else's.
func (w *writer) value(name string, v json.RawMessage) {
	if v == nil {
		return
	}
	b, err := esjson.Append(nil, esjson.Value(v))
	if err != nil {
		w.lose(name + " that are no JSON")
		return
	}
	w.raw(name, b)
}

func (w *writer) lose(what string) { w.lost = append(w.lost, what) }

func (w *writer) note(it core.Item) {
	w.begin(typeCustomMessage)
	w.text("custom_type", it.Type)
	w.blocks("content", it.Blocks, core.BlockText, core.BlockImage)
	w.raw("display", strconv.AppendBool(nil, !it.Hidden))
	w.value("details", it.Details)
}

func (w *writer) channel(it core.Item) {
	w.begin(typeChannel)
	w.text("name", it.Text)
	ids, ok := nested(esjson.Value(it.Details))
	if !ok {
		return
	}
	for _, name := range []string{"chat_id", "user_id"} {
		if s, ok := ids.Get(name).Text(); ok {
			w.text(name, s)
		}
	}
}

func (w *writer) message(it core.Item) {
	if it.Role == core.RoleSystem {
		w.note(core.Item{Type: "system", Blocks: it.Blocks})
		return
	}
	m := writer{}
	m.b = append(m.b, `{"role":"`+string(it.Role)+`"`...)
	if it.Role == core.RoleTool {
		m.result(it.Blocks)
	} else {
		m.blocks("contents", it.Blocks, core.BlockText, core.BlockImage, core.BlockAudio, core.BlockThinking, core.BlockCall)
	}
	if n, ok := number(it.Time); ok {
		m.raw("timestamp", []byte(n))
	}
	if it.Role == core.RoleAssistant {
		m.answer(it)
	}
	m.text("id", messageID(m.b))
	w.b = append(append(append(w.b, `{"type":"message","message":`...), m.b...), '}')
	w.lost = append(w.lost, m.lost...)
}

// messageID is a UUID for a message, derived from what it says.
func messageID(message []byte) string {
	h := sha256.Sum256(message)
	return core.UUIDOf([16]byte(h[:16]))
}

func (w *writer) answer(it core.Item) {
	u := it.Usage
	if u == nil {
		u = &core.Usage{}
	}
	b := []byte(`{"input_tokens":` + strconv.FormatInt(u.Input, 10) + `,"output_tokens":` + strconv.FormatInt(u.Output, 10) +
		`,"cache_read_tokens":` + strconv.FormatInt(u.CacheRead, 10) + `,"cache_write_tokens":` + strconv.FormatInt(u.CacheWrite, 10) +
		`,"cost":{"input":0.0,"output":0.0,"cache_read":0.0,"cache_write":0.0,"total":`)
	w.raw("usage", append(esjson.AppendNumber(b, u.Cost), `}}`...))
	stop := "stop"
	for name, s := range stops {
		if s == it.Stop {
			stop = name
		}
	}
	w.text("stop_reason", stop)
	w.text("error", it.Error)
	if it.Model != "" || it.Provider != "" {
		w.lose(core.LostModel)
	}
}

// result adds the result of a tool: its texts in one, its pictures behind it.
func (w *writer) result(bs []core.Block) {
	r := core.Block{}
	if len(bs) > 0 {
		r = bs[0]
	}
	var texts []string
	var pictures []core.Block
	for _, b := range r.Blocks {
		if b.Kind == core.BlockText {
			texts = append(texts, b.Text)
			continue
		}
		pictures = append(pictures, b)
	}
	w.b = append(w.b, `,"contents":[{"type":"tool_result"`...)
	w.text("id", r.ID)
	w.text("content", strings.Join(texts, "\n"))
	w.raw("is_error", strconv.AppendBool(nil, r.Failed))
	w.object("metadata", r.Details, "details of a result that are no object")
	w.raw("terminate", []byte("false"))
	w.b = append(w.b, '}')
	for _, p := range pictures {
		w.b = append(w.b, ',')
		if !w.block(p, []core.BlockKind{core.BlockImage}) {
			w.b = w.b[:len(w.b)-1]
		}
	}
	w.b = append(w.b, ']')
}

// object adds v where it is an object, else an empty one: what is lost then is
// said in the words of lost.
func (w *writer) object(name string, v json.RawMessage, lost string) {
	b, err := esjson.Append(nil, esjson.Value(v))
	if err != nil || len(b) == 0 || b[0] != '{' {
		if v != nil {
			w.lose(lost)
		}
		b = []byte("{}")
	}
	w.raw(name, b)
}

// blocks adds a list of blocks of the kinds that have a place there.
func (w *writer) blocks(name string, bs []core.Block, kinds ...core.BlockKind) {
	w.b = append(append(append(w.b, `,"`...), name...), `":[`...)
	some := false
	for _, b := range bs {
		mark := len(w.b)
		if some {
			w.b = append(w.b, ',')
		}
		if !w.block(b, kinds) {
			w.b = w.b[:mark]
			continue
		}
		some = true
	}
	w.b = append(w.b, ']')
}

func (w *writer) block(b core.Block, kinds []core.BlockKind) bool {
	if !slices.Contains(kinds, b.Kind) {
		w.lose(string(b.Kind))
		return false
	}
	if b.Hidden {
		w.lose("a thought that the provider hid")
		return false
	}
	if b.Signature != "" && b.Kind != core.BlockThinking {
		w.lose("a provider's signature on a " + string(b.Kind))
	}
	switch b.Kind {
	case core.BlockText:
		w.b = append(w.b, `{"type":"text"`...)
		w.text("content", b.Text)
	case core.BlockThinking:
		w.b = append(w.b, `{"type":"thinking"`...)
		w.text("content", b.Text)
		w.text("signature", b.Signature)
	case core.BlockImage:
		w.b = append(w.b, `{"type":"image","images":[`...)
		w.b = append(esjson.AppendString(w.b, dataURL(b)), ']')
	case core.BlockAudio:
		w.b = append(w.b, `{"type":"audio","audio":[`...)
		w.b = append(esjson.AppendString(w.b, dataURL(b)), ']')
	case core.BlockCall:
		w.b = append(w.b, `{"type":"tool_call"`...)
		w.text("id", b.ID)
		w.text("name", b.Name)
		w.object("args", b.Args, "arguments of a call that are no object")
		w.object("metadata", b.Details, "details of a call that are no object")
	}
	w.b = append(w.b, '}')
	return true
}

// dataURL is a picture or a sound as one text.
func dataURL(b core.Block) string {
	if b.MIME == "" {
		return b.Data
	}
	return "data:" + b.MIME + ";base64," + b.Data
}
