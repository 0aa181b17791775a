package openrath

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/usage"
)

// Meter implements usage.Reporter. OpenRath reports the usage of the whole
// session, without models: in the header, until a trailer has it.
func (Dialect) Meter(h core.Header) (usage.Meter, []usage.Use) {
	s, err := readHeader(h.Line)
	if err != nil {
		return meter{}, nil
	}
	return meter{}, s.Usage.uses()
}

type meter struct{}

// Read implements usage.Meter.
func (meter) Read(e core.Entry) []usage.Use {
	t, ok := trailerOf([]core.Entry{e})
	if !ok {
		return nil
	}
	return t.usage.uses()
}

func (u *Usage) uses() []usage.Use {
	if u == nil {
		return nil
	}
	return []usage.Use{{Answer: "cumulative", Total: true, Tokens: usage.Tokens{Input: u.Prompt, Output: u.Completion}}}
}
