package loop

import (
	"context"
	"fmt"
	"sync"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A Loop runs an agent in a session. One Run is under way at a time; the other
// methods are safe for concurrent use. In a tool of that Run, with its context, Run,
// Say and Close return core.ErrInvalid.
type Loop struct {
	s     *session.Session
	c     Config
	agent []Message
	tools map[string]*Tool
	specs []Spec

	running sync.Mutex
	failed  bool // the last Run returned an error
	checked int  // the number of rows when the budget was last checked

	mu sync.RWMutex // guards st; only the goroutine of Run changes it
	st *State
}

// dialect is that of the sessions.
const dialect = "openrath"

// A Result is how a run ended.
type Result struct {
	Reason Reason // empty if Run returned an error
	Text   string // of the last reply
	Usage  *Usage // of the session; nil if unknown
}

// New returns a loop in s, a session of OpenRath that is open for writing with a
// claim. It returns core.ErrInvalid for another session, a Config without a model,
// and tools that have the same name.
func New(s *session.Session, c Config) (*Loop, error) {
	c, err := c.filled()
	if err != nil {
		return nil, err
	}
	if name := s.Dialect().Name(); name != dialect {
		return nil, fmt.Errorf("session %s is one of %s, a loop runs in those of openrath: %w", s.ID(), name, core.ErrInvalid)
	}
	if _, writer := s.Head(); writer == "" && s.Saved() {
		return nil, fmt.Errorf("session %s is open without a claim, a loop needs one: %w", s.ID(), core.ErrInvalid)
	}
	l := &Loop{s: s, c: c, tools: map[string]*Tool{}}
	if l.agent, err = messages(c.Agent); err != nil {
		return nil, err
	}
	for i := range c.Tools {
		l.tools[c.Tools[i].Name] = &c.Tools[i]
		l.specs = append(l.specs, c.Tools[i].Spec)
	}
	if l.st, err = StateOf(s.Entries()); err != nil {
		return nil, fmt.Errorf("session %s: %w", s.ID(), err)
	}
	if step, _ := l.st.Next(c.MaxRounds); step == Stop {
		l.checked = len(l.st.Messages)
	}
	return l, nil
}

// lock waits until no Run is under way. A tool of that Run would wait forever.
func (l *Loop) lock(ctx context.Context) error {
	if inToolOf(ctx, l) {
		return fmt.Errorf("session %s: a tool cannot change the run that it is part of: %w", l.s.ID(), core.ErrInvalid)
	}
	l.running.Lock()
	return nil
}

// Session returns the session.
func (l *Loop) Session() *session.Session { return l.s }

// Messages returns the rows so far.
func (l *Loop) Messages() []Message {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.st.Messages[:len(l.st.Messages):len(l.st.Messages)]
}

// Say appends a message of the user, to which the next Run replies. While calls have no
// results it returns core.ErrInvalid, as models refuse such a transcript: call Run first.
func (l *Loop) Say(ctx context.Context, text string) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.running.Unlock()
	if step, _ := l.st.Next(l.c.MaxRounds); step == RunTools {
		return fmt.Errorf("session %s has calls without results, run it first: %w", l.s.ID(), core.ErrInvalid)
	}
	return l.append(ctx, Message{Role: User, Text: text}, note{})
}

// Run runs the agent until it stops. It continues wherever the rows of the session
// end, also in the middle of a round of tools. If it returns an error, the Result
// tells how far it came, and the session is in a state from which Run can continue,
// on this host or another:
//
//   - *core.FencedError: another writer holds the head, and the error names it.
//     Every call and request follows a durable row of this writer, so a fenced
//     loop stops before its next one.
//   - *ModelError: the model gave no reply.
//   - *AskError: a call needs a decision.
//   - *BudgetError: OverBudget ended the run.
//   - any other error is one of the log, or that of ctx.
func (l *Loop) Run(ctx context.Context) (Result, error) {
	if err := l.lock(ctx); err != nil {
		return Result{}, err
	}
	defer l.running.Unlock()
	reason, err := l.steps(ctx)
	l.failed = err != nil
	return l.result(reason), err
}

// steps takes the steps of a Run. It returns why the run is over.
func (l *Loop) steps(ctx context.Context) (Reason, error) {
	err := l.durable(ctx, l.s.Flush(ctx))
	for err == nil {
		if err = l.checkBudget(); err != nil {
			break
		}
		step, reason := l.st.Next(l.c.MaxRounds)
		switch step {
		case CallModel:
			err = l.callModel(ctx)
		case RunTools:
			err = l.runTools(ctx)
		case Stop:
			return reason, nil
		}
	}
	return "", err
}

func (l *Loop) result(reason Reason) Result {
	r := Result{Reason: reason, Usage: l.st.Usage}
	for _, m := range l.st.Messages {
		if m.Role == Assistant {
			r.Text = m.Text
		}
	}
	return r
}

// callModel asks the model and appends its reply.
func (l *Loop) callModel(ctx context.Context) error {
	q := Request{Messages: append(l.agent[:len(l.agent):len(l.agent)], l.Messages()...), Tools: l.specs}
	reply, err := complete(ctx, l.c.Model, q, l.c.OnDelta)
	if err != nil {
		return err
	}
	return l.append(ctx, Message{Role: Assistant, Text: reply.Text, Calls: reply.Calls}, note{Finish: reply.Finish, Usage: reply.Usage})
}

// complete asks a model, as a stream if show is set.
func complete(ctx context.Context, m Model, q Request, show func(Delta)) (reply Reply, err error) {
	if show != nil {
		reply, err = m.(Streamer).Stream(ctx, q, show)
	} else {
		reply, err = m.Complete(ctx, q)
	}
	if err != nil {
		return Reply{}, &ModelError{err}
	}
	return reply, nil
}

// checkBudget calls OverBudget if the last row is the reply that exceeded the budget
// first. It checks each reply once, before the next step: also one that was stored
// by a host that died, or only when the log could be reached again.
func (l *Loop) checkBudget() error {
	rows := len(l.st.Messages)
	if l.checked == rows || rows == 0 || l.st.Messages[rows-1].Role != Assistant {
		return nil
	}
	l.checked = rows
	now, before := l.st.Usage, l.st.before
	if l.c.Budget <= 0 || now == nil || now.Total <= l.c.Budget || before != nil && before.Total > l.c.Budget {
		return nil
	}
	if l.c.OverBudget == nil {
		l.c.Log.Warn("the session exceeded its budget", "session", l.s.ID(), "tokens", now.Total, "budget", l.c.Budget)
		return nil
	}
	if err := l.c.OverBudget(*now); err != nil {
		return &BudgetError{*now, err}
	}
	return nil
}
