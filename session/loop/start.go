package loop

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/session"
)

// NewID returns an id for a session, a random UUID as OpenRath makes them.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return openrath.Dialect{}.EntryID(b)
}

// Start makes the session in which agent replies to user, opens it as o says, and
// returns a loop in it. The session begins with the rows of user; its parents are
// user and agent. The rows of agent precede them in requests and are not stored:
// Start sets c.Agent to them. The id is o.ID, or a new one. If lineage.Recording is
// off, the session has no parents.
func Start(ctx context.Context, log session.Log, user, agent openrath.Session, c Config, o session.Options) (*Loop, error) {
	c.Agent = agent.Rows
	filled, err := c.filled() // before the session exists
	if err != nil {
		return nil, err
	}
	id := o.ID
	if id == "" {
		id = NewID()
	}
	if err := create(ctx, log, stated(ctx, user.Loop(id, agent)), false, o, filled.RetryFor); err != nil {
		return nil, err
	}
	o.ID = ""
	s, err := session.Open(ctx, log, core.SessionIDFor(dialect, id), o)
	if err != nil {
		return nil, err
	}
	return New(s, c)
}

// stated returns s, without its origin if ctx disables lineage.
func stated(ctx context.Context, s openrath.Session) openrath.Session {
	if !lineage.IsRecording(ctx) {
		s.Parents, s.Extras, s.Kind, s.Operator = nil, nil, openrath.LineageUnknown, "implicit"
	}
	return s
}

// create stores a session with its rows, and a trailer if it is closed.
func create(ctx context.Context, log session.Log, s openrath.Session, closed bool, o session.Options, retryFor time.Duration) error {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	s.Created = openrath.FormatTime(now())
	n := session.New{ID: core.SessionIDFor(dialect, s.ID), Dialect: dialect, Header: s.Header(), By: o.By, Key: NewID()}
	for i, c := range s.Rows.All() {
		line, err := inheritedLine(c, i)
		if err != nil {
			return fmt.Errorf("create session %s: row %d: %w", s.ID, i, err)
		}
		n.Lines = append(n.Lines, line)
	}
	if closed {
		n.Lines = append(n.Lines, withID(openrath.NewTrailer(s.Created, s.Rows.Len(), s.Usage)))
	}
	err := untilReached(ctx, retryFor, func() error { _, err := log.Create(ctx, n); return err })
	if err != nil {
		return fmt.Errorf("create session %s: %w", s.ID, err)
	}
	return nil
}

// inheritedLine returns row i of a session that begins with it. A reply is noted as
// one of another run, which may have started its calls.
func inheritedLine(c openrath.Chunk, i int) ([]byte, error) {
	line := c.Line(i)
	if c.Kind() != Assistant {
		return line, nil
	}
	m, _, err := readRow(line)
	if err != nil {
		return nil, err
	}
	n := note{Finish: inherited}
	for call := range m.Calls {
		n.Started = append(n.Started, call)
	}
	return n.line(line)
}

// withID returns a trailer with an id, which lines of a log need.
func withID(trailer []byte) []byte {
	return append(trailer[:len(trailer)-1], `, "id": "`+NewID()+`"}`...)
}

// Close writes the trailer if the run is over, with the usage of the session, and
// closes the session. A session with a trailer takes no more rows. If the run is
// not over, or the last Run returned an error, the session stays open for another
// host.
func (l *Loop) Close(ctx context.Context) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.running.Unlock()
	step, reason := l.st.Next(l.c.MaxRounds)
	if step != Stop || reason == Closed || l.failed {
		return l.s.Close(ctx)
	}
	line := openrath.NewTrailer(openrath.FormatTime(time.Now()), len(l.st.Messages), (*openrath.Usage)(l.st.Usage))
	if reason == Truncated {
		line = append(line[:len(line)-1], `, "lineage_extras": [["loop.truncated", true]]}`...)
	}
	ids, err := l.s.AppendLine(ctx, line)
	err = l.durable(ctx, err)
	l.mu.Lock()
	l.st.Closed = len(ids) > 0 // also if it was not sent yet
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return l.s.Close(ctx)
}
