package omp

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
)

// Context returns what omp's context builder returns at leaf for its next
// request, as JSON.stringify writes it: the messages, then the settings that
// hold at the end of the path. A message entry whose message is missing or
// null, for which omp fails, adds nothing.
func (d Dialect) Context(es []core.Entry, leaf core.Leaf) (json.RawMessage, error) {
	path, err := tree.Path(entriesOf(es), leaf)
	if err != nil {
		return nil, err
	}
	settings, err := settingsAt(path)
	if err != nil {
		return nil, err
	}
	c := conversation{}
	if err := c.gather(path); err != nil {
		return nil, err
	}
	if err := c.addNotes(path, d.Notes); err != nil {
		return nil, err
	}
	if err := c.dropDangling(); err != nil {
		return nil, err
	}
	c.dropFailed()
	b := append(make([]byte, 0, c.size()), `{"messages":[`...)
	start := len(b)
	for i := range c.turns {
		if c.turns[i].gone {
			continue
		}
		if len(b) > start {
			b = append(b, ',')
		}
		if b, err = jsonl.Append(b, c.turns[i].raw); err != nil {
			return nil, err
		}
	}
	return settings.appendTo(append(b, ']'))
}

// size is about how long the messages will be.
func (c *conversation) size() int {
	n := 512
	for i := range c.turns {
		n += len(c.turns[i].raw)
	}
	return n
}
