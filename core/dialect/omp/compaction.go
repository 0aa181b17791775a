package omp

import (
	"math"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// gather adds the messages of path. After the last reset, unless a compaction
// is later, those are the messages that follow it. Otherwise the last
// compaction replaces what is before it, except for what it kept.
func (c *conversation) gather(path []core.Entry) error {
	reset := lastOf(path, typeReset)
	at := lastOf(path, "compaction")
	if reset > at || at < 0 {
		return c.addAll(path[reset+1:])
	}
	k, err := readCompaction(path, at)
	if err != nil {
		return err
	}
	summary, err := k.summary()
	if err != nil {
		return err
	}
	c.add(summary)
	if k.isRollover() {
		if err := c.addRequest(path[:at], reset, placeOf(path, k.o.Get("firstKeptEntryId"))); err != nil {
			return err
		}
	}
	if err := c.addAll(k.kept()); err != nil {
		return err
	}
	return c.addAll(path[at+1:])
}

// lastOf returns the place of the last entry of that type, -1 without one.
func lastOf(path []core.Entry, kind string) int {
	i := len(path) - 1
	for i >= 0 && path[i].Type != kind {
		i--
	}
	return i
}

// A compaction is the entry at index at of path. Missing indexes are -1.
type compaction struct {
	path      []core.Entry
	at        int
	o         jsjson.Object
	firstKept int // place of the first entry it kept
	replayed  int // place of the last entry that the provider's own memory has
	keepsNone bool
	openai    jsjson.Value // the history to send to the provider instead, in omp's form
	anthropic jsjson.Value
}

func readCompaction(path []core.Entry, at int) (*compaction, error) {
	o, err := jsonl.Object(path[at])
	if err != nil {
		return nil, err
	}
	k := &compaction{path: path, at: at, o: o}
	k.firstKept = placeOf(path[:at], o.Get("firstKeptEntryId"))
	k.replayed = placeOf(path[:at], o.Get("providerReplayThroughEntryId"))
	k.keepsNone = o.Get("firstKeptEntryId").Is("")
	preserved, _ := jsonl.Nested(o.Get("preserveData"))
	if k.openai, err = openaiPayload(preserved.Get("openaiRemoteCompaction")); err != nil {
		return nil, err
	}
	k.anthropic, err = anthropicPayload(preserved.Get("anthropicCompaction"))
	return k, err
}

func placeOf(path []core.Entry, id jsjson.Value) int {
	s, ok := id.Text()
	if !ok || s == "" {
		return -1
	}
	return slices.IndexFunc(path, func(e core.Entry) bool { return e.ID == s })
}

// kept returns the entries before the compaction that stay. If OpenAI has the
// history, these are the entries that came after it was taken; the same holds
// if Anthropic has it and no entry is named.
func (k *compaction) kept() []core.Entry {
	from := k.firstKept
	switch {
	case k.openai != nil:
		from = k.replayed
		if from >= 0 {
			from++
		}
	case from < 0 && k.anthropic != nil && k.keepsNone && k.replayed >= 0:
		from = k.replayed + 1
	}
	if from < 0 {
		return nil
	}
	return k.path[from:k.at]
}

// isRollover reports whether the session continued in a new window with only
// its notes.
func (k *compaction) isRollover() bool {
	details, ok := jsonl.Nested(k.o.Get("details"))
	return ok && details.Get("kind").Is("experimental-context-rollover")
}

// addRequest adds the user's last request, if it is after the last reset and
// before the entry that the compaction names as the first kept one, which may
// be the compaction itself.
func (c *conversation) addRequest(path []core.Entry, reset, firstKept int) error {
	for i := len(path) - 1; i > reset; i-- {
		asked, err := isRequest(path[i])
		if err != nil {
			return err
		}
		if !asked {
			continue
		}
		if i < firstKept {
			return c.addEntry(path[i])
		}
		return nil
	}
	return nil
}

// isRequest reports whether e is a message of the user's, or one that the user
// had sent for them.
func isRequest(e core.Entry) (bool, error) {
	if e.Type != "message" && e.Type != "custom_message" {
		return false, nil
	}
	o, err := jsonl.Object(e)
	if err != nil {
		return false, err
	}
	if e.Type == "message" {
		m, _ := jsonl.Nested(o.Get("message"))
		return m.Get("role").Is("user") || m.Get("role").Is("custom") && isSentForUser(&m), nil
	}
	k := o.Get("content").Kind()
	return (k == '"' || k == '[') && isSentForUser(&o), nil
}

func isSentForUser(m *jsjson.Object) bool {
	kind := m.Get("customType")
	return (kind.Is("skill-prompt") || kind.Is("collab-prompt")) && m.Get("attribution").Is("user")
}

// summary is the message of the compaction.
func (k *compaction) summary() (jsjson.Value, error) {
	payload := k.openai
	if payload == nil {
		payload = k.anthropic
	}
	preserved, _ := jsonl.Nested(k.o.Get("preserveData"))
	blocks, images, err := archived(preserved.Get("snapcompact"))
	if err != nil {
		return nil, err
	}
	var m jsjson.Object
	m.Set("role", jsjson.Value(`"compactionSummary"`))
	m.Set("summary", k.o.Get("summary"))
	m.Set("shortSummary", k.o.Get("shortSummary"))
	m.Set("tokensBefore", k.o.Get("tokensBefore"))
	m.Set("tokensAfter", k.o.Get("tokensAfter"))
	m.Set("method", k.o.Get("method"))
	m.Set("providerPayload", payload)
	m.Set("blocks", blocks)
	m.Set("images", images)
	m.Set("warning", k.o.Get("warning"))
	m.Set("historyRewriteAt", k.rewrittenAt())
	m.Set("timestamp", date.Millis(k.o.Get("timestamp")))
	return jsonl.Build(&m)
}

// rewrittenAt is just before the first remaining entry, so that what Anthropic
// signed there stays valid, or nil if Anthropic does not have the history.
func (k *compaction) rewrittenAt() jsjson.Value {
	if k.anthropic == nil {
		return nil
	}
	first := k.at + 1
	switch {
	case k.firstKept >= 0:
		first = k.firstKept
	case k.keepsNone && k.replayed >= 0 && k.replayed < k.at-1:
		first = k.replayed + 1
	}
	if first >= len(k.path) {
		return nil
	}
	ms := date.Of(k.path[first])
	if math.IsNaN(ms) {
		return nil
	}
	return jsjson.AppendNumber(nil, ms-1)
}

// openaiPayload is the history that OpenAI compacted, or nil if v is none.
func openaiPayload(v jsjson.Value) (jsjson.Value, error) {
	o, ok := jsonl.Nested(v)
	if !ok {
		return nil, nil
	}
	provider, _ := o.Get("provider").Text()
	history := o.Get("replacementHistory")
	if provider == "" || history.Kind() != '[' {
		return nil, nil
	}
	objects := true
	err := jsjson.Each(history, func(item jsjson.Value) { objects = objects && item.Kind() == '{' })
	if err != nil || !objects {
		return nil, nil
	}
	var p jsjson.Object
	p.Set("type", jsjson.Value(`"openaiResponsesHistory"`))
	p.Set("provider", o.Get("provider"))
	p.Set("items", history)
	return jsonl.Build(&p)
}

// anthropicPayload is the summary that Anthropic signed, or nil if v is none.
func anthropicPayload(v jsjson.Value) (jsjson.Value, error) {
	o, ok := jsonl.Nested(v)
	if !ok {
		return nil, nil
	}
	var p jsjson.Object
	p.Set("type", jsjson.Value(`"anthropicCompaction"`))
	for _, name := range []string{"provider", "content", "signature", "encryptedContent", "filesText"} {
		if s, _ := o.Get(name).Text(); s != "" {
			p.Set(name, o.Get(name))
		}
	}
	if p.Get("provider") == nil || p.Get("content") == nil {
		return nil, nil
	}
	return jsonl.Build(&p)
}

// archived returns the blocks that show an archive of pictures, and the
// pictures among them: the beginning of the text, the frames, its end. It
// leaves out the lines that omp draws between them, and no frame because of its
// size.
func archived(v jsjson.Value) (blocks, images jsjson.Value, err error) {
	o, ok := jsonl.Nested(v)
	if !ok {
		return nil, nil, nil
	}
	var all, pictures list
	addText := func(v jsjson.Value) error {
		if s, _ := v.Text(); s == "" {
			return nil
		}
		var b jsjson.Object
		b.Set("type", jsjson.Value(`"text"`))
		b.Set("text", v)
		return all.add(&b)
	}
	if err := addText(o.Get("textHead")); err != nil {
		return nil, nil, err
	}
	if frames := o.Get("frames"); frames.Kind() == '[' {
		_ = jsjson.Each(frames, func(raw jsjson.Value) {
			frame, ok := jsonl.Nested(raw)
			if !ok || !isFrame(&frame) || err != nil {
				return
			}
			var b jsjson.Object
			b.Set("type", jsjson.Value(`"image"`))
			b.Set("data", frame.Get("data"))
			b.Set("mimeType", frame.Get("mimeType"))
			if frame.Get("detail").Truthy() {
				b.Set("detail", frame.Get("detail"))
			}
			if err = all.add(&b); err == nil {
				err = pictures.add(&b)
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	if err := addText(o.Get("textTail")); err != nil {
		return nil, nil, err
	}
	return all.value(), pictures.value(), nil
}

func isFrame(f *jsjson.Object) bool {
	data, _ := f.Get("data").Text()
	_, hasType := f.Get("mimeType").Text()
	ok := data != "" && hasType
	for _, name := range []string{"cols", "rows", "chars"} {
		_, isNumber := f.Get(name).Number()
		ok = ok && isNumber
	}
	return ok
}

// A list is the text of an array in the making.
type list struct{ b []byte }

func (l *list) add(o *jsjson.Object) error {
	v, err := jsonl.Build(o)
	if err == nil {
		l.b = append(append(l.b, ','), v...)
	}
	return err
}

// value is the array, or nil if it is empty.
func (l *list) value() jsjson.Value {
	if l.b == nil {
		return nil
	}
	v := append(slices.Clone(l.b), ']')
	v[0] = '['
	return v
}
