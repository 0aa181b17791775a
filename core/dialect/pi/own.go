package pi

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// ownOf is what only pi has of a session: the model that it would ask next,
// null if none was chosen yet, the thinking level, and the file of the session
// that this one came from, if the header names one.
func ownOf(header *jsjson.Object, es []core.Entry, leaf core.Leaf) (json.RawMessage, error) {
	path, err := tree.Path(es, leaf)
	if err != nil {
		return nil, err
	}
	thinking, err := thinkingAt(path)
	if err != nil {
		return nil, err
	}
	model, err := modelAt(path)
	if err != nil {
		return nil, err
	}
	var own jsjson.Object
	own.Set("model", model)
	own.Set("thinkingLevel", thinking)
	own.Set("parentSession", header.Get("parentSession"))
	b, err := jsonl.Build(&own)
	return json.RawMessage(b), err
}
