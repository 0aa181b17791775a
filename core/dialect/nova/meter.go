package nova

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/usage"
)

// Meter implements usage.Reporter. Nova counts tokens without saying which were
// of the prompt: Input has them all. They are those of the model that the state
// names at that time.
func (Dialect) Meter(h core.Header) (usage.Meter, []usage.Use) {
	f := newFolding(h, nil)
	f.had = history{}
	return &meter{header: h, folding: f, counted: map[string]int64{}}, nil
}

type meter struct {
	header  core.Header
	folding *folding
	counted map[string]int64 // tokens by session and model
}

// Read implements usage.Meter. Entries that a fork has of another session report
// what that used.
func (m *meter) Read(e core.Entry) []usage.Use {
	f := m.folding
	of, before := f.of, f.Metrics.TotalTokens
	f.take(e)
	if f.of != of && of != "" {
		before = 0
	}
	n := f.Metrics.TotalTokens - before
	if n == 0 {
		return nil
	}
	answer := f.of + "\x00" + f.Model
	m.counted[answer] += n
	return []usage.Use{{
		Answer: answer, Model: f.Model, Total: true, Inherited: f.of != "" && f.of != m.header.ID,
		Tokens: usage.Tokens{Input: m.counted[answer]},
	}}
}
