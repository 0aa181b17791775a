package usage

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// A Reporter is a Dialect whose entries report what models used.
type Reporter interface {
	// Meter returns the Meter of a session with header h, and what the header
	// itself reports.
	Meter(h core.Header) (Meter, []Use)
}

// A Meter reads the entries of one session in order. It is not safe for
// concurrent use.
type Meter interface {
	// Read returns what e reports.
	Read(e core.Entry) []Use
}

// A Use is what an answer of a model used, as an entry reports it.
type Use struct {
	// Answer names the answer within its session. If several entries report one
	// answer, the last report counts, for the model and agent of the first. Empty
	// if no other entry reports it.
	Answer string
	Model  string // "provider/model", or the model alone; empty if unknown
	Agent  string // the agent's own id of the sub-agent that asked; empty for the session's own agent
	// Inherited says that the answer was given in another session, from which
	// this one has the line.
	Inherited bool
	// Total says that this is the sum of answers that are not reported one by
	// one. It belongs to every path of the session.
	Total bool

	Tokens
	Cost    float64 // in the provider's currency, if HasCost
	HasCost bool    // the agent wrote a cost
}

// Tokens are counts of tokens.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"` // all, also those kept for an hour
	// CacheWriteHour counts those of CacheWrite that the provider keeps for an
	// hour, at a higher price.
	CacheWriteHour int64 `json:"cacheWriteHour,omitempty"`
}

func (t *Tokens) add(u Tokens, sign int64) {
	t.Input += sign * u.Input
	t.Output += sign * u.Output
	t.CacheRead += sign * u.CacheRead
	t.CacheWrite += sign * u.CacheWrite
	t.CacheWriteHour += sign * u.CacheWriteHour
}

// AddTo adds u to a sum.
func (u *Use) AddTo(sum *item.Usage) { u.addTo(sum, 1) }

func (u *Use) addTo(sum *item.Usage, sign int64) {
	sum.Input += sign * u.Input
	sum.Output += sign * u.Output
	sum.CacheRead += sign * u.CacheRead
	sum.CacheWrite += sign * u.CacheWrite
	sum.Cost += float64(sign) * u.Cost
}
