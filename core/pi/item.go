package pi

import "github.com/sesslog/sesslog/core"

// Read returns what e says in terms that all agents share.
func (Dialect) Read(e core.Entry) []core.Item { return nil }

// Write makes a line that says it.
func (Dialect) Write(it core.Item) (line []byte, lost []string) { return nil, nil }
