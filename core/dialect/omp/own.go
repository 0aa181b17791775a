package omp

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// ownOf is what only omp has of a session: the source of its title and the
// content of the title slot, null if there is none; the members of the header
// that pi does not have; and the settings at leaf, under the names that a
// context has for them.
func ownOf(header *jsjson.Object, es []core.Entry, leaf core.Leaf, t title, slot core.Entry) (json.RawMessage, error) {
	path, err := tree.Path(es, leaf)
	if err != nil {
		return nil, err
	}
	settings, err := settingsAt(path)
	if err != nil {
		return nil, err
	}
	var own jsjson.Object
	own.Set("titleSource", orNull(t.source))
	own.Set("titleSlot", slotValue(slot))
	for _, name := range []string{"parentSession", "additionalDirectories", "previousSessionFiles", "providerPromptCacheKey"} {
		own.Set(name, header.Get(name))
	}
	b, err := jsonl.Build(&own)
	if err != nil {
		return nil, err
	}
	return settings.appendTo(b[:len(b)-1])
}

// slotValue is the content of a title slot, without its padding.
func slotValue(slot core.Entry) jsjson.Value {
	t, ok := readSlot(slot)
	if !ok {
		return jsjson.Value("null")
	}
	b := jsjson.AppendString([]byte(`{"title":`), t.text)
	if t.source != "" {
		b = jsonl.AppendMember(b, "source", t.source)
	}
	return append(jsonl.AppendMember(b, "updatedAt", t.at), '}')
}

func orNull(s string) jsjson.Value {
	if s == "" {
		return jsjson.Value("null")
	}
	return jsjson.AppendString(nil, s)
}
