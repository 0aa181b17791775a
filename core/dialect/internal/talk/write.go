package talk

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"

	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/item"
)

// Write makes the line of an item that pi and omp write alike, or nil for any
// other item, and names what of it has no place there. a is what differs between the
// two.
func Write(it item.Item, a Agent) (line []byte, lost []string) {
	w := writer{Agent: a}
	switch it.Kind {
	case item.Message:
		w.message(it)
	case item.Compaction:
		w.Begin("compaction")
		w.Text("summary", it.Text)
		w.Text("firstKeptEntryId", it.Target)
		w.Raw("tokensBefore", strconv.AppendInt(nil, it.Tokens, 10))
		w.summary(it)
	case item.Branch:
		w.Begin("branch_summary")
		from := it.Target
		if from == "" {
			from = root
		}
		w.Text("fromId", from)
		w.Text("summary", it.Text)
		w.summary(it)
	case item.Label:
		return jsonl.NewLabel(it.Target, it.Text), nil
	case item.Custom:
		w.Begin("custom")
		w.Text("customType", it.Type)
		w.Value("data", it.Details)
	case item.Note:
		w.note(it)
	default:
		return nil, nil
	}
	return append(w.Bytes, '}'), w.Lost
}

// An Agent is what differs between the lines of pi and omp.
type Agent struct {
	// Hidden appends the block of a thought that the provider hid.
	Hidden func(b []byte, seal string) []byte
	// ByExtension is the member that says that an extension wrote a summary.
	ByExtension string
}

// A writer makes one line.
type writer struct {
	jsonl.Line
	Agent
}

// summary adds what compactions and branches have besides the text.
func (w *writer) summary(it item.Item) {
	w.Value("details", it.Details)
	if it.ByExtension {
		w.Raw(w.ByExtension, []byte("true"))
	}
	w.Lost = append(w.Lost, it.Own...)
}

func (w *writer) note(it item.Item) {
	w.Begin("custom_message")
	w.Text("customType", it.Type)
	w.content(it.Blocks)
	w.Raw("display", strconv.AppendBool(nil, !it.Hidden))
	w.Value("details", it.Details)
}

func (w *writer) message(it item.Item) {
	if it.Role == item.RoleSystem { // the agent makes its own system message
		w.note(item.Item{Type: "system", Blocks: it.Blocks})
		return
	}
	w.Bytes = append(w.Bytes, `{"type":"message","message":{"role":`...)
	switch it.Role {
	case item.RoleAssistant:
		w.answer(it)
	case item.RoleTool:
		w.result(it.Blocks)
	default:
		w.Bytes = append(w.Bytes, `"user"`...)
		w.content(it.Blocks)
	}
	if ms := date.Parse(it.Time); !math.IsNaN(ms) {
		w.Raw("timestamp", jsjson.AppendNumber(nil, ms))
	}
	w.Bytes = append(w.Bytes, '}')
}

func (w *writer) answer(it item.Item) {
	w.Bytes = append(w.Bytes, `"assistant"`...)
	w.content(it.Blocks)
	w.Text("api", cmp.Or(it.API, "unknown"))
	w.Text("provider", cmp.Or(it.Provider, "unknown"))
	w.Text("model", cmp.Or(it.Model, "unknown"))
	w.usage(it.Usage)
	stop := "stop"
	for name, s := range stops {
		if s == it.Stop {
			stop = name
		}
	}
	if it.Stop == item.StopFilter {
		w.Lose("that an answer was cut by a content filter")
	}
	w.Text("stopReason", stop)
	w.TextIf("errorMessage", it.Error)
}

func (w *writer) usage(u *item.Usage) {
	if u == nil {
		u = &item.Usage{}
	}
	b := []byte(`{"input":` + strconv.FormatInt(u.Input, 10) + `,"output":` + strconv.FormatInt(u.Output, 10) +
		`,"cacheRead":` + strconv.FormatInt(u.CacheRead, 10) + `,"cacheWrite":` + strconv.FormatInt(u.CacheWrite, 10) +
		`,"totalTokens":` + strconv.FormatInt(u.Input+u.Output+u.CacheRead+u.CacheWrite, 10) +
		`,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":`)
	w.Raw("usage", append(jsjson.AppendNumber(b, u.Cost), `}}`...))
}

func (w *writer) result(bs []item.Block) {
	r := item.Block{}
	if len(bs) > 0 {
		r = bs[0]
	}
	w.Bytes = append(w.Bytes, `"toolResult"`...)
	w.Text("toolCallId", r.ID)
	w.Text("toolName", cmp.Or(r.Name, "unknown"))
	w.content(r.Blocks)
	w.Value("details", r.Details)
	w.Raw("isError", strconv.AppendBool(nil, r.Failed))
}

// content adds a list of blocks.
func (w *writer) content(bs []item.Block) {
	w.Bytes = append(w.Bytes, `,"content":[`...)
	some := false
	for _, b := range bs {
		mark := len(w.Bytes)
		if some {
			w.Bytes = append(w.Bytes, ',')
		}
		if !w.block(b) {
			w.Bytes = w.Bytes[:mark]
			continue
		}
		some = true
	}
	w.Bytes = append(w.Bytes, ']')
}

// arguments adds the arguments of a call, which are an object or nothing.
func (w *writer) arguments(args json.RawMessage) {
	b, err := jsjson.Append(nil, jsjson.Value(args))
	if err != nil || len(b) == 0 || b[0] != '{' {
		b = []byte("{}")
		if args != nil {
			w.Lose("arguments of a call that are not an object")
		}
	}
	w.Raw("arguments", b)
}

func (w *writer) block(b item.Block) bool {
	switch b.Kind {
	case item.BlockText:
		w.Bytes = append(w.Bytes, `{"type":"text"`...)
		w.Text("text", b.Text)
		w.TextIf("textSignature", b.Signature)
	case item.BlockThinking:
		if b.Hidden {
			w.Bytes = w.Hidden(w.Bytes, b.Signature)
			return true
		}
		w.Bytes = append(w.Bytes, `{"type":"thinking"`...)
		w.Text("thinking", b.Text)
		w.TextIf("thinkingSignature", b.Signature)
	case item.BlockImage:
		w.Bytes = append(w.Bytes, `{"type":"image"`...)
		w.Text("data", b.Data)
		w.Text("mimeType", b.MIME)
	case item.BlockCall:
		w.Bytes = append(w.Bytes, `{"type":"toolCall"`...)
		w.Text("id", b.ID)
		w.Text("name", b.Name)
		w.arguments(b.Args)
		w.TextIf("thoughtSignature", b.Signature)
	default:
		w.Lose(string(b.Kind))
		return false
	}
	w.Bytes = append(w.Bytes, '}')
	return true
}
