package acpproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/sesslog/sesslog/core"
	dialect "github.com/sesslog/sesslog/core/dialect/acp"
	"github.com/sesslog/sesslog/session"
)

const (
	// holdFor is how long the chunks of a message are collected for one line.
	holdFor = time.Second
	// holdBytes is how large such a line becomes, about.
	holdBytes = 64 << 10
	// maxQueued bounds what a session keeps in memory of what the log does not have.
	maxQueued = 64 << 20
)

// A job is something to do for a session, after all that came before it is done.
type job struct {
	update []byte // a notification to store
	kind   string // its kind
	prompt []byte // a prompt to store
	answer *message

	do     func(err error) // err says why the prompt or the turn is not stored
	failed func(err error) // is called instead if the session cannot be opened, or has ended
}

func (j *job) size() int {
	n := len(j.update) + len(j.prompt)
	if j.answer != nil {
		n += len(j.answer.raw)
	}
	return n
}

// A live is a session that is open in the editor. One goroutine stores its lines and
// passes what must be stored first.
type live struct {
	p    *proxy
	id   string
	over atomic.Bool   // it cannot be written any more
	done chan struct{} // closed when run has returned

	mu     sync.Mutex
	jobs   []job
	queued int
	unsaid int // prompts that the agent did not get yet
	ended  bool
	wake   chan struct{}
	room   chan struct{}

	// p.mu protects these.
	muted   bool // what the agent says is known
	heard   int  // how much it has said while muted
	agentID string

	// Of the goroutine:
	s       *session.Session
	setup   json.RawMessage // what the agent says of modes, models and options
	handOff string          // what was said before, unless the agent knows
	bound   bool            // the log says that the agent's session knows it
	held    []json.RawMessage
	kind    string // of the chunks in held
	since   time.Time
	lines   [][]byte // to be stored
	unsent  int      // bytes that no node has accepted
	lost    error    // why nothing can be stored any more
	refused error    // why a line of the turn was not stored
}

func newLive(p *proxy, id string) *live {
	return &live{p: p, id: id, done: make(chan struct{}), wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// add adds a job. It waits while too much is queued.
func (l *live) add(j job) {
	for {
		l.mu.Lock()
		if l.ended {
			l.mu.Unlock()
			if j.failed != nil {
				j.failed(fmt.Errorf("session %s was closed: %w", l.id, core.ErrNotFound))
			}
			return
		}
		if l.queued < maxQueued {
			l.jobs = append(l.jobs, j)
			l.queued += j.size()
			if j.prompt != nil {
				l.unsaid++
			}
			l.mu.Unlock()
			signal(l.wake)
			return
		}
		l.mu.Unlock()
		select {
		case <-l.room:
		case <-l.done:
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a signal is pending
	}
}

// take returns the queued jobs. It waits for one, or until held chunks are due.
func (l *live) take() (jobs []job, ended bool) {
	var due <-chan time.Time
	if l.held != nil {
		due = time.After(holdFor - time.Since(l.since))
	}
	select {
	case <-l.wake:
	case <-due:
	case <-l.p.ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	jobs, l.jobs, l.queued = l.jobs, nil, 0
	signal(l.room)
	return jobs, l.ended || l.p.ctx.Err() != nil
}

// end has run store what is queued, release the session and return.
func (l *live) end() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	signal(l.wake)
}

// run opens the session and does the jobs, until the session ends.
func (l *live) run(open func() error) {
	defer close(l.done)
	var failed error
	if open != nil {
		failed = open()
	}
	for ended := false; !ended && failed == nil; {
		var jobs []job
		jobs, ended = l.take()
		for _, j := range jobs {
			l.doJob(j)
		}
		if ended || time.Since(l.since) >= holdFor {
			l.seal()
		}
		l.flush()
	}
	l.leave(failed)
}

// leave releases the session, and refuses what is queued.
func (l *live) leave(failed error) {
	l.over.Store(true)
	l.p.mu.Lock()
	if l.p.live[l.id] == l {
		delete(l.p.live, l.id)
	}
	if l.p.byAgent[l.agentID] == l {
		delete(l.p.byAgent, l.agentID)
	}
	l.p.mu.Unlock()
	l.end()
	jobs, _ := l.take()
	if failed == nil {
		failed = fmt.Errorf("session %s was closed: %w", l.id, core.ErrNotFound)
	}
	for _, j := range jobs {
		if j.failed != nil {
			j.failed(failed)
		}
	}
	if l.s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.p.ctx), endWithin)
	defer cancel()
	_ = l.s.Close(ctx) // what could not be stored was said at the end of its turn
}

func (l *live) doJob(j job) {
	if j.update != nil {
		l.hold(j)
		return
	}
	l.seal()
	var err error
	switch {
	case j.prompt != nil:
		err = l.storePrompt(j.prompt)
	case j.answer != nil:
		err = l.storeAnswer(j.answer)
	}
	j.do(err)
	if j.prompt != nil {
		l.mu.Lock()
		l.unsaid--
		l.mu.Unlock()
	}
}

// passNow passes a message without waiting for what must be stored first. It reports
// whether that is possible: the agent has the session, and all prompts.
func (l *live) passNow(raw []byte) bool {
	l.p.mu.Lock()
	id := l.agentID
	l.p.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == "" || l.unsaid > 0 || l.ended {
		return false
	}
	l.p.agent.send(set(raw, "params", "sessionId", encode(id)))
	return true
}

// hold collects the chunks of one message. Other updates are lines of their own.
func (l *live) hold(j job) {
	if l.held != nil && (j.kind != l.kind || len(l.held)*len(j.update) > holdBytes || time.Since(l.since) >= holdFor) {
		l.seal()
	}
	if l.held == nil {
		l.kind, l.since = j.kind, time.Now()
	}
	l.held = append(l.held, j.update)
	if !dialect.IsChunk(j.kind) {
		l.seal()
	}
}

// seal makes a line of the held chunks.
func (l *live) seal() {
	if l.held != nil {
		l.lines = append(l.lines, dialect.NewLine(dialect.TypeUpdate, l.held...))
		l.held = nil
	}
}

// flush stores the lines, and those that no node accepted before.
func (l *live) flush() error {
	lines := l.lines
	l.lines = nil
	switch {
	case l.lost != nil:
		return l.lost
	case len(lines) > 0:
		return l.store(lines...)
	case l.unsent > 0:
		ctx, cancel := l.within()
		defer cancel()
		return l.stored(l.s.Flush(ctx), 0)
	}
	return nil
}

func (l *live) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(l.p.ctx), storeWithin)
}

func (l *live) store(lines ...[]byte) error {
	ctx, cancel := l.within()
	defer cancel()
	size := 0
	for i, line := range lines {
		if l.p.o.Mask != nil {
			lines[i] = l.p.o.Mask(line)
		}
		size += len(lines[i])
	}
	_, err := l.s.AppendLine(ctx, lines...)
	return l.stored(err, size)
}

// stored notes the outcome of a write of size bytes.
func (l *live) stored(err error, size int) error {
	switch {
	case err == nil:
		l.unsent = 0
	case l.s.Err() == nil: // the log refused the lines, and the session is as before
		l.refused = err
	case errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain) || errors.Is(err, core.ErrFull) || errors.Is(err, context.DeadlineExceeded):
		if l.unsent += size; l.unsent > maxQueued {
			l.lose(fmt.Errorf("more than %d MiB wait for a node: %w", maxQueued>>20, err))
		}
	default:
		l.lose(err)
	}
	return err
}

// lose notes that nothing can be stored any more, and cancels the turn.
func (l *live) lose(err error) {
	l.lost = err
	l.over.Store(true)
	l.cancel()
}

// cancel asks the agent to stop its turn.
func (l *live) cancel() {
	l.p.mu.Lock()
	id := l.agentID
	l.p.mu.Unlock()
	l.p.agent.send(newRequest(nil, acp.AgentMethodSessionCancel, encode(named{id})))
}

// storePrompt stores a prompt. If that fails, nothing of it is left.
func (l *live) storePrompt(raw []byte) error {
	if err := l.flush(); err != nil {
		return err
	}
	l.refused = nil
	lines := [][]byte{dialect.NewLine(dialect.TypePrompt, raw)}
	if !l.bound && dialect.LastAgent(l.s.Entries()) != (dialect.AgentSession{}) {
		lines = append([][]byte{dialect.NewAgentLine(dialect.AgentSession{})}, lines...) // another one did, until here
	}
	err := l.store(lines...)
	l.refused = nil
	if err != nil && l.lost == nil && l.s.Err() != nil {
		l.unsent = 0
		_, _ = l.s.Discard(context.Background()) // fails only without the write lock
	}
	return err
}

// storeAnswer stores the end of a turn.
func (l *live) storeAnswer(a *message) error {
	l.lines = append(l.lines, dialect.NewLine(dialect.TypeAnswer, a.raw))
	binds := a.failed == nil && !l.bound
	if binds {
		l.p.mu.Lock()
		as := dialect.AgentSession{Agent: l.p.name, Session: l.agentID, Host: l.p.o.Host}
		l.p.mu.Unlock()
		l.lines = append(l.lines, dialect.NewAgentLine(as))
	}
	err := l.flush()
	if a.failed == nil {
		l.handOff = ""
	}
	if err == nil {
		l.bound = l.bound || binds
		err, l.refused = l.refused, nil
	}
	return err
}

// toAgent returns a message of the editor with the agent's id of the session.
func (l *live) toAgent(raw []byte) []byte {
	return set(raw, "params", "sessionId", encode(l.agentID))
}
