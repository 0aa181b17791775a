package openrath

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
)

// Context returns {"messages":[…]} with the messages that OpenRath makes of the
// chunks up to leaf; see Table.Messages.
func (d Dialect) Context(es []core.Entry, leaf core.Leaf) (json.RawMessage, error) {
	path, err := d.Path(es, leaf)
	if err != nil {
		return nil, err
	}
	b := append([]byte(`{"messages":`), tableOf(path).Messages()...)
	return append(b, '}'), nil
}

// tableOf returns the chunks in es.
func tableOf(es []core.Entry) Table {
	rows := make([]Chunk, 0, len(es))
	for _, e := range es {
		if c, ok := chunkOf(e); ok {
			rows = append(rows, c)
		}
	}
	return Table{rows}
}
