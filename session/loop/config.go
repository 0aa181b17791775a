package loop

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
)

// DefaultMaxRounds is how many replies a run has at most, unless Config says so.
const DefaultMaxRounds = 64

// A Config says how a run is made. A host that continues a run needs the same one.
type Config struct {
	Model Model
	// Agent are rows that precede those of the session in each request, such as a
	// system prompt. They are not stored in the session.
	Agent openrath.Table
	Tools []Tool
	// MaxRounds limits the replies after a message of the user. 0 means
	// DefaultMaxRounds. With a negative number, the model is not asked at all.
	MaxRounds int
	// OnDelta is called with each piece of a reply that is under way. Model must
	// be a Streamer then.
	OnDelta func(Delta)
	// Budget is a number of tokens. When the usage of the session exceeds it, Run
	// calls OverBudget, once, or again if its host died before the next step; an error
	// ends the run. If OverBudget is nil, Run writes a warning to Log.
	Budget     int64
	OverBudget func(Usage) error
	// Ask says whether a call is run again that a dead host started, of a tool
	// whose policy is Ask. If it is nil, Run returns an *AskError.
	Ask func(context.Context, Call) (again bool, err error)
	// RetryFor is how long Run tries to reach the log, default 30 seconds.
	RetryFor time.Duration
	Log      *slog.Logger // default slog.Default()
}

// filled returns c with its defaults and its tools sorted.
func (c Config) filled() (Config, error) {
	if c.Model == nil {
		return c, fmt.Errorf("the loop has no model: %w", core.ErrInvalid)
	}
	if _, ok := c.Model.(Streamer); c.OnDelta != nil && !ok {
		return c, fmt.Errorf("OnDelta needs a model that streams, %T does not: %w", c.Model, core.ErrInvalid)
	}
	switch {
	case c.MaxRounds == 0:
		c.MaxRounds = DefaultMaxRounds
	case c.MaxRounds < 0:
		c.MaxRounds = 0
	}
	if c.RetryFor == 0 {
		c.RetryFor = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	var err error
	c.Tools, err = sorted(c.Tools)
	return c, err
}
