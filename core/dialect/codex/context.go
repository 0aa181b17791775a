package codex

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
)

// Context returns {"input":[…]}: the items that Codex sends to a model when it
// resumes the session at leaf. It has no instructions of the model and no
// messages about the host, which Codex adds for the host where it runs. Returns
// ErrNotFound if leaf names an entry that does not exist.
func (Dialect) Context(es []core.Entry, leaf core.Leaf) (json.RawMessage, error) {
	path, err := pathTo(es, leaf)
	if err != nil {
		return nil, err
	}
	items := withOutputs(itemsOf(path))
	size := len(`{"input":[]}`)
	for _, it := range items {
		size += len(it.raw) + 1
	}
	b := append(make([]byte, 0, size), `{"input":[`...)
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, it.raw...)
	}
	return append(b, `]}`...), nil
}
