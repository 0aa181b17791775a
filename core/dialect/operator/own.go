package operator

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// ownOf is what only Operator has of a session at the end of path: the last
// channel, null if there is none, the settings that a context ends with, and
// the file of the session that it came from, if the header names one.
func ownOf(header *jsjson.Object, path []core.Entry) json.RawMessage {
	channel := null
	if s := channelOn(path); s != "" {
		channel = jsjson.AppendString(nil, s)
	}
	level := jsjson.Value(`"off"`)
	if o, ok := lastOf(path, typeThinking); ok {
		level = o.Get("thinking_level")
	}
	model, _ := lastOf(path, typeModel)
	c := conversation{text: append([]byte(`{"channel":`), channel...)}
	c.member("thinking_level", level)
	c.member("model_id", model.Get("model_id"))
	c.member("provider_id", model.Get("provider_id"))
	if parent := header.Get("parent_session"); !parent.IsNullish() {
		c.member("parent_session", parent)
	}
	return valid(append(c.text, '}'))
}

// lastOf is the last entry of path of that type that Operator reads.
func lastOf(path []core.Entry, kind string) (jsjson.Object, bool) {
	at := lastRead(path, kind)
	if at < 0 {
		return jsjson.Object{}, false
	}
	o, err := read(path[at])
	return o, err == nil
}
