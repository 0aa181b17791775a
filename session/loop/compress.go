package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/session"
)

// CompressInstruction is what Compress asks a model for, unless Compression says
// otherwise.
const CompressInstruction = "The messages above are a conversation transcript (system/agent context followed by user-visible turns). " +
	"Compress them into a shorter narrative that preserves facts, user goals, and open tasks. " +
	"Output plain text only, suitable as the sole replacement user-side transcript — no role labels."

// ErrNoSummary says that a model's reply is no summary.
var ErrNoSummary = errors.New("the reply is no summary")

// A Compression says how a session is compressed.
type Compression struct {
	Model       Model
	Instruction *string     // nil for CompressInstruction; white space around it is removed
	OnDelta     func(Delta) // as in Config
}

// Compress asks a model for a summary of the rows of agent and user, without tools,
// and makes a closed session whose only row is the summary, as a message of the
// user. Its parents are user and agent, its usage is that of the reply. Nothing is
// stored if the model fails, or returns ErrNoSummary: no text, calls of tools, or a
// finish other than stop, length and content_filter. If lineage.Recording is off, the
// session has no parents.
func Compress(ctx context.Context, log session.Log, user, agent openrath.Session, c Compression, o session.Options) (openrath.Session, error) {
	filled, err := Config{Model: c.Model, OnDelta: c.OnDelta}.filled()
	if err != nil {
		return openrath.Session{}, err
	}
	text := CompressInstruction
	if c.Instruction != nil {
		text = strings.TrimSpace(*c.Instruction)
	}
	rows, err := messages(agent.Rows, user.Rows, openrath.NewTable(openrath.UserText(text)))
	if err != nil {
		return openrath.Session{}, err
	}
	reply, err := complete(ctx, c.Model, Request{Messages: rows, NoTools: true}, c.OnDelta)
	if err != nil {
		return openrath.Session{}, err
	}
	summary, err := summaryOf(reply)
	if err != nil {
		return openrath.Session{}, err
	}
	id := o.ID
	if id == "" {
		id = NewID()
	}
	s := stated(ctx, user.Compress(id, agent, summary))
	s.Usage = (*openrath.Usage)(reply.Usage)
	return s, create(ctx, log, s, true, o, filled.RetryFor)
}

func summaryOf(r Reply) (string, error) {
	text := strings.TrimSpace(r.Text)
	switch {
	case len(r.Calls) > 0:
		return "", fmt.Errorf("compress: the model called tools, which it must not: %w", ErrNoSummary)
	case r.Finish == "" || !r.Finish.ends():
		return "", fmt.Errorf("compress: the reply ended with %q: %w", r.Finish, ErrNoSummary)
	case text == "":
		return "", fmt.Errorf("compress: the reply is empty: %w", ErrNoSummary)
	}
	return text, nil
}
