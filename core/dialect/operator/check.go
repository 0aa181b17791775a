package operator

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Check returns nil for a line that Operator reads, and otherwise an ErrInvalid
// that says what is wrong with it. Operator refuses the same lines, with the
// exceptions in the package comment.
func Check(line []byte) error {
	e, err := readEntry(line)
	if err != nil {
		return err
	}
	if isHeader(e.Type) {
		_, err = asHeader(e)
		return err
	}
	o, err := read(e)
	if err != nil {
		return err
	}
	content := o.Get("content")
	if m, ok := jsonl.Nested(o.Get("message")); ok && e.Type == typeMessage {
		if err := checkFields(e, &m, answer); err != nil {
			return err
		}
		content = m.Get("contents")
	}
	if e.Type != typeMessage && e.Type != typeCustomMessage {
		return nil
	}
	return checkBlocks(e, content)
}

// checkBlocks checks what read does not: the members of blocks.
func checkBlocks(e core.Entry, content jsjson.Value) (err error) {
	if content == nil {
		return nil
	}
	_ = jsjson.Each(content, func(item jsjson.Value) {
		block, ok := jsonl.Nested(item)
		if !ok || err != nil {
			return
		}
		kind, _ := blockType(&block).Text()
		err = checkFields(e, &block, blocks[kind])
	})
	return err
}

func checkFields(e core.Entry, o *jsjson.Object, fields []field) error {
	for _, f := range fields {
		if !f.is(o.Get(f.name)) {
			return fmt.Errorf("%s %q: %s is not %s: %w", e.Type, jsonl.Clip(e.ID, 64), f.name, f.what, core.ErrInvalid)
		}
	}
	return nil
}

// Check is the function of the same name.
func (Dialect) Check(line []byte) error { return Check(line) }

// read returns the members of an entry, or ErrInvalid if Operator ignores it.
func read(e core.Entry) (jsjson.Object, error) {
	o, err := jsonl.Object(e)
	if err != nil {
		return o, err
	}
	needs, ok := shapes[e.Type]
	if !ok {
		return o, fmt.Errorf("entry %q is of the unknown type %q: %w", jsonl.Clip(e.ID, 64), jsonl.Clip(e.Type, 40), core.ErrInvalid)
	}
	for _, fields := range [][]field{everywhere, needs} {
		if err := checkFields(e, &o, fields); err != nil {
			return o, err
		}
	}
	return o, nil
}

// A field is a member and what Operator takes in it.
type field struct {
	name string
	is   func(jsjson.Value) bool
	what string
}

func needs(name string) field { return field{name, isText, "a string"} }
func may(name string) field   { return field{name, isNullOrText, "a string or null"} }
func flag(name string) field  { return field{name, isBoolIfAny, "true or false"} }

// everywhere is what all entries have in common, shapes what each type has.
var everywhere = []field{
	{"id", isTextIfAny, "a string"},
	may("parent_id"),
	{"timestamp", isTime, "a number"},
}

var shapes = map[string][]field{
	typeMessage: {
		{"message", isMessage, "a message of system, user, assistant or tool"},
		{"meta", isMeta, "what a channel says of a message: reply_to, channel_message_id, attachments, reactions"},
	},
	typeThinking: {{"thinking_level", isLevel, "one of off, minimal, low, medium, high, xhigh, max"}},
	typeModel:    {needs("model_id"), needs("provider_id")},
	typeCompaction: {
		needs("summary"), needs("first_kept_entry_id"),
		{"tokens_before", isWholeIfAny, "a whole number"},
		flag("from_hook"),
	},
	typeBranchSummary: {needs("from_id"), needs("summary"), flag("from_hook")},
	typeLabel:         {needs("target_id"), may("label")},
	typeLeaf:          {may("target_id")},
	typeCustom:        {needs("custom_type")},
	typeCustomMessage: {needs("custom_type"), {"content", isContent("text", "image"), "a list of text and images"}, flag("display")},
	typeInfo:          {may("name")},
	typeChannel:       {needs("name"), may("chat_id"), may("user_id")},
}

// answer lists the members of messages besides role and contents, and blocks those of
// each kind of block.
var (
	answer = []field{
		{"stop_reason", isStop, "one of " + strings.Join(slices.Sorted(maps.Keys(stops)), ", ")},
		may("error"),
		{"usage", isObjectIfAny, "an object"},
	}
	blocks = map[string][]field{
		"text":        {{"content", isTextIfAny, "a string"}},
		"thinking":    {{"content", isTextIfAny, "a string"}, may("signature")},
		"tool_call":   {needs("id"), needs("name"), {"args", isObjectIfAny, "an object"}},
		"tool_result": {needs("id"), flag("is_error")},
	}
)

func isStop(v jsjson.Value) bool {
	reason, ok := v.Text()
	return v.IsNullish() || ok && stops[reason] != ""
}

func isObjectIfAny(v jsjson.Value) bool { return v.IsNullish() || v.Kind() == '{' }

func isText(v jsjson.Value) bool { return v.Kind() == '"' }

func isTextIfAny(v jsjson.Value) bool { return v == nil || isText(v) }

func isNullOrText(v jsjson.Value) bool { return v.IsNullish() || isText(v) }

// isWholeIfAny takes numbers in quotes too, as Operator does.
func isWholeIfAny(v jsjson.Value) bool {
	if v == nil {
		return true
	}
	f, ok := parseSeconds(timeText(v))
	return ok && f == math.Trunc(f)
}

// isBoolIfAny takes the numbers 0 and 1 and the words for them too, as Operator does.
func isBoolIfAny(v jsjson.Value) bool {
	if f, ok := v.Number(); ok {
		return f == 0 || f == 1
	}
	if s, ok := v.Text(); ok {
		s = strings.ToLower(s)
		return slices.Contains(trueWords, s) || slices.Contains(falseWords, s)
	}
	return v == nil || v.Kind() == 't' || v.Kind() == 'f'
}

var (
	trueWords  = []string{"true", "1", "yes", "y", "t", "on"}
	falseWords = []string{"false", "0", "no", "n", "f", "off"}
)

// isTrue reports whether v, which isBoolIfAny accepts, means true.
func isTrue(v jsjson.Value) bool {
	f, _ := v.Number()
	s, _ := v.Text()
	return v.Kind() == 't' || f == 1 || slices.Contains(trueWords, strings.ToLower(s))
}

func isLevel(v jsjson.Value) bool {
	return isOneOf(v, levels)
}

var isStoredContent = isContent("text", "image", "audio", "thinking", "tool_call", "tool_result")

func isMessage(v jsjson.Value) bool {
	m, ok := jsonl.Nested(v)
	if !ok {
		return false
	}
	role := m.Get("role")
	if !role.Is("user") && !role.Is("assistant") && !role.Is("tool") && !role.Is("system") {
		return false
	}
	contents := m.Get("contents")
	return contents == nil || isStoredContent(contents)
}

// isMeta takes null, and objects whose members are of Operator's types. Operator
// does not read a message with another one.
func isMeta(v jsjson.Value) bool {
	m, ok := jsonl.Nested(v)
	if !ok {
		return v.IsNullish()
	}
	return isNullOrText(m.Get("reply_to")) && isNullOrText(m.Get("channel_message_id")) &&
		isListOf(m.Get("attachments"), isAttachment) && isListOf(m.Get("reactions"), isText)
}

func isAttachment(v jsjson.Value) bool {
	a, ok := jsonl.Nested(v)
	return ok && isText(a.Get("path")) && isNullOrText(a.Get("mime_type"))
}

// isListOf reports whether v is a list of items that pass the test, or absent.
func isListOf(v jsjson.Value, test func(jsjson.Value) bool) bool {
	good := true
	err := jsjson.Each(v, func(item jsjson.Value) { good = good && test(item) })
	return v.IsNullish() || err == nil && good
}

// isContent returns a test for a list of blocks of these types. A block
// without a type is text.
func isContent(types ...string) func(jsjson.Value) bool {
	return func(v jsjson.Value) bool {
		return !v.IsNullish() && isListOf(v, func(item jsjson.Value) bool {
			block, ok := jsonl.Nested(item)
			return ok && isOneOf(blockType(&block), types)
		})
	}
}

func isOneOf(v jsjson.Value, texts []string) bool {
	return slices.ContainsFunc(texts, v.Is)
}

func blockType(block *jsjson.Object) jsjson.Value {
	if v := block.Get("type"); v != nil {
		return v
	}
	return jsjson.Value(`"text"`)
}
