package talk

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/date"
	"github.com/sesslog/sesslog/core/internal/esjson"
	"github.com/sesslog/sesslog/core/internal/jsonl"
)

// Write makes the line of an item of a kind that pi and omp write alike, and
// says what of it has no place there; nil for any other. hidden appends the
// block of a thought that the provider hid, which each of them has its own way.
func Write(it core.Item, hidden func(b []byte, seal string) []byte) (line []byte, lost []string) {
	w := writer{hidden: hidden}
	switch it.Kind {
	case core.ItemMessage:
		w.message(it)
	case core.ItemCompaction:
		w.begin("compaction")
		w.text("summary", it.Text)
		w.text("firstKeptEntryId", it.Target)
		w.raw("tokensBefore", strconv.AppendInt(nil, it.Tokens, 10))
		w.details("details", it.Details)
	case core.ItemBranch:
		w.begin("branch_summary")
		from := it.Target
		if from == "" {
			from = root
		}
		w.text("fromId", from)
		w.text("summary", it.Text)
		w.details("details", it.Details)
	case core.ItemLabel:
		return jsonl.NewLabel(it.Target, it.Text), nil
	case core.ItemCustom:
		w.begin("custom")
		w.text("customType", it.Type)
		w.details("data", it.Details)
	case core.ItemNote:
		w.note(it)
	default:
		return nil, nil
	}
	return append(w.b, '}'), w.lost
}

// A writer makes one line.
type writer struct {
	b      []byte
	lost   []string
	hidden func(b []byte, seal string) []byte
}

func (w *writer) begin(kind string) { w.b = append(append(w.b, `{"type":`...), strconv.Quote(kind)...) }

func (w *writer) text(name, value string) { w.b = jsonl.AppendMember(w.b, name, value) }

// textIf adds a member that is left out where it is empty.
func (w *writer) textIf(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *writer) raw(name string, value []byte) {
	w.b = append(append(append(w.b, `,"`...), name...), `":`...)
	w.b = append(w.b, value...)
}

// details adds a value of somebody else's, as JSON.stringify writes it.
func (w *writer) details(name string, v json.RawMessage) {
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
	w.begin("custom_message")
	w.text("customType", it.Type)
	w.content("content", it.Blocks)
	w.raw("display", strconv.AppendBool(nil, !it.Hidden))
	w.details("details", it.Details)
}

func (w *writer) message(it core.Item) {
	if it.Role == core.RoleSystem { // the agent makes its own system message
		w.note(core.Item{Type: "system", Blocks: it.Blocks})
		return
	}
	w.b = append(w.b, `{"type":"message","message":{"role":`...)
	switch it.Role {
	case core.RoleAssistant:
		w.answer(it)
	case core.RoleTool:
		w.result(it.Blocks)
	default:
		w.b = append(w.b, `"user"`...)
		w.content("content", it.Blocks)
	}
	if ms := date.Parse(it.Time); !math.IsNaN(ms) {
		w.raw("timestamp", esjson.AppendNumber(nil, ms))
	}
	w.b = append(w.b, '}')
}

func (w *writer) answer(it core.Item) {
	w.b = append(w.b, `"assistant"`...)
	w.content("content", it.Blocks)
	w.text("api", orUnknown(it.API))
	w.text("provider", orUnknown(it.Provider))
	w.text("model", orUnknown(it.Model))
	w.usage(it.Usage)
	stop := "stop"
	for name, s := range stops {
		if s == it.Stop {
			stop = name
		}
	}
	if it.Stop == core.StopFilter {
		w.lose("that an answer was cut by a content filter")
	}
	w.text("stopReason", stop)
	w.textIf("errorMessage", it.Error)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func (w *writer) usage(u *core.Usage) {
	if u == nil {
		u = &core.Usage{}
	}
	b := []byte(`{"input":` + strconv.FormatInt(u.Input, 10) + `,"output":` + strconv.FormatInt(u.Output, 10) +
		`,"cacheRead":` + strconv.FormatInt(u.CacheRead, 10) + `,"cacheWrite":` + strconv.FormatInt(u.CacheWrite, 10) +
		`,"totalTokens":` + strconv.FormatInt(u.Input+u.Output+u.CacheRead+u.CacheWrite, 10) +
		`,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":`)
	w.raw("usage", append(esjson.AppendNumber(b, u.Cost), `}}`...))
}

func (w *writer) result(bs []core.Block) {
	r := core.Block{}
	if len(bs) > 0 {
		r = bs[0]
	}
	w.b = append(w.b, `"toolResult"`...)
	w.text("toolCallId", r.ID)
	w.text("toolName", orUnknown(r.Name))
	w.content("content", r.Blocks)
	w.details("details", r.Details)
	w.raw("isError", strconv.AppendBool(nil, r.Failed))
}

// content adds a list of blocks.
func (w *writer) content(name string, bs []core.Block) {
	w.b = append(append(append(w.b, `,"`...), name...), `":[`...)
	some := false
	for _, b := range bs {
		mark := len(w.b)
		if some {
			w.b = append(w.b, ',')
		}
		if !w.block(b) {
			w.b = w.b[:mark]
			continue
		}
		some = true
	}
	w.b = append(w.b, ']')
}

// arguments adds those of a call, which are an object or nothing.
func (w *writer) arguments(args json.RawMessage) {
	b, err := esjson.Append(nil, esjson.Value(args))
	if err != nil || len(b) == 0 || b[0] != '{' {
		b = []byte("{}")
		if args != nil {
			w.lose("arguments of a call that are no object")
		}
	}
	w.raw("arguments", b)
}

func (w *writer) block(b core.Block) bool {
	switch b.Kind {
	case core.BlockText:
		w.b = append(w.b, `{"type":"text"`...)
		w.text("text", b.Text)
		w.textIf("textSignature", b.Signature)
	case core.BlockThinking:
		if b.Hidden {
			w.b = w.hidden(w.b, b.Signature)
			return true
		}
		w.b = append(w.b, `{"type":"thinking"`...)
		w.text("thinking", b.Text)
		w.textIf("thinkingSignature", b.Signature)
	case core.BlockImage:
		w.b = append(w.b, `{"type":"image"`...)
		w.text("data", b.Data)
		w.text("mimeType", b.MIME)
	case core.BlockCall:
		w.b = append(w.b, `{"type":"toolCall"`...)
		w.text("id", b.ID)
		w.text("name", b.Name)
		w.arguments(b.Args)
		w.textIf("thoughtSignature", b.Signature)
	default:
		w.lose(string(b.Kind))
		return false
	}
	w.b = append(w.b, '}')
	return true
}
