package operator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/jsonline"
)

var metaMembers = []string{"reply_to", "channel_message_id", "attachments", "reactions"}

// WithMeta returns the message entry e with its meta replaced by meta, an
// object or null. The rest of its line does not change. Returns ErrInvalid if e
// is not a message that Operator reads, or meta is neither or has a member that
// Operator does not know and so would lose.
func WithMeta(e core.Entry, meta json.RawMessage) (core.Entry, error) {
	if _, err := read(e); e.Type != typeMessage || err != nil {
		return core.Entry{}, fmt.Errorf("entry %q is not a message: %w", jsonl.Clip(e.ID, 64), core.ErrInvalid)
	}
	v := jsontext.Value(bytes.Clone(meta))
	if err := v.Compact(); err != nil || v.Kind() != '{' && v.Kind() != 'n' {
		return core.Entry{}, fmt.Errorf("the meta of a message is an object or null: %w", core.ErrInvalid)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(v, &members); err != nil {
		return core.Entry{}, fmt.Errorf("the meta of a message: %v: %w", err, core.ErrInvalid)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(metaMembers, name) {
			return core.Entry{}, fmt.Errorf("the meta of a message has no member %.64q: %w", name, core.ErrInvalid)
		}
	}
	line, err := withMember(e.Line, "meta", jsonline.EscapeSeparators(v))
	if err != nil {
		return core.Entry{}, err
	}
	return readEntry(line)
}

// WithReaction returns the first message in es with the channel's id message,
// with emoji added to its reactions, or unchanged if it is one of them. The
// entry keeps its id, so it can replace the original. Returns ErrNotFound if
// there is no such message.
func WithReaction(es []core.Entry, message, emoji string) (core.Entry, error) {
	for _, e := range es {
		meta, raw, ok := metaOf(e)
		if !ok {
			continue
		}
		if id, ok := meta.Get("channel_message_id").Text(); !ok || id != message {
			continue
		}
		reactions, there := react(meta.Get("reactions"), emoji)
		if there {
			return e, nil
		}
		patched, err := withMember(raw, "reactions", reactions)
		if err != nil {
			return core.Entry{}, err
		}
		line, err := withMember(e.Line, "meta", patched)
		if err != nil {
			return core.Entry{}, err
		}
		return readEntry(line)
	}
	return core.Entry{}, fmt.Errorf("message %q of the channel: %w", jsonl.Clip(message, 64), core.ErrNotFound)
}

// WithMeta is the function of the same name.
func (Dialect) WithMeta(e core.Entry, meta json.RawMessage) (core.Entry, error) {
	return WithMeta(e, meta)
}

// WithReaction is the function of the same name.
func (Dialect) WithReaction(es []core.Entry, message, emoji string) (core.Entry, error) {
	return WithReaction(es, message, emoji)
}

// metaOf returns the meta of a message entry, and its text.
func metaOf(e core.Entry) (meta jsjson.Object, raw jsjson.Value, ok bool) {
	if e.Type != typeMessage {
		return meta, nil, false
	}
	o, err := read(e)
	if err != nil {
		return meta, nil, false
	}
	raw = o.Get("meta")
	meta, ok = jsonl.Nested(raw)
	return meta, raw, ok
}

// react returns reactions, which may be null, with emoji at the end. there
// reports that emoji was already among them.
func react(reactions jsjson.Value, emoji string) (list []byte, there bool) {
	list = []byte{'['}
	_ = jsjson.Each(reactions, func(item jsjson.Value) {
		if s, ok := item.Text(); ok && s == emoji {
			there = true
		}
		list = append(append(list, item...), ',')
	})
	return jsonline.EscapeSeparators(append(jsjson.AppendString(list, emoji), ']')), there
}

// withMember returns the object in line with the value of the member called
// name replaced, or the member added at the end. No other byte changes.
func withMember(line []byte, name string, value []byte) ([]byte, error) {
	from, to, err := spanOf(line, name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(line)+len(name)+len(value)+4)
	if to > 0 {
		return append(append(append(b, line[:from]...), value...), line[to:]...), nil
	}
	end := bytes.LastIndexByte(line, '}')
	b = append(b, line[:end]...)
	if !bytes.HasSuffix(bytes.TrimRight(b, " \t\r"), []byte("{")) {
		b = append(b, ',')
	}
	b = append(append(append(b, '"'), name...), `":`...)
	return append(append(b, value...), line[end:]...), nil
}

// spanOf returns the position in line of the value of the member called name,
// the last one of several. to is 0 if there is none.
func spanOf(line []byte, name string) (from, to int, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err = d.ReadToken(); err != nil {
		return 0, 0, fmt.Errorf("%v: %w", err, core.ErrInvalid)
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return 0, 0, fmt.Errorf("%v: %w", err, core.ErrInvalid)
		}
		is := token.String() == name
		value, err := d.ReadValue()
		if err != nil {
			return 0, 0, fmt.Errorf("%v: %w", err, core.ErrInvalid)
		}
		if is {
			to = int(d.InputOffset())
			from = to - len(value)
		}
	}
	return from, to, nil
}
