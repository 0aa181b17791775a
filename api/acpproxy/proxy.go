package acpproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

const (
	// storeWithin bounds a write to the log, and a read of it.
	storeWithin = 45 * time.Second
	// endWithin bounds what is stored and released at the end.
	endWithin = 10 * time.Second
	// maxEarly bounds the messages of the agent for sessions that it is about to name.
	maxEarly = 1024
	// codeFenced is the code of errors about a session that another writer holds.
	codeFenced = -32009
	// codeNotFound is the protocol's own.
	codeNotFound = -32002
)

// methodDelete is not known to the SDK yet.
const methodDelete = "session/delete"

// Options say whose sessions are stored where.
type Options struct {
	Node     *client.Client
	Agent    string // the name of the agent, unless it tells
	Host     string
	By       string
	TakeOver bool                     // of sessions that active writers hold
	Mask     func(line []byte) []byte // what of a line leaves this host; nil for all
}

// A proxy passes messages between an editor and an agent.
type proxy struct {
	o             Options
	log           session.Log
	ctx           context.Context
	calls         context.Context // ends when the agent answers no more
	editor, agent *peer

	mu       sync.Mutex
	name     string           // of the agent
	can      capabilities     // of the agent
	live     map[string]*live // by the editor's id
	byAgent  map[string]*live // by the agent's id
	waiting  map[string]func(*message)
	requests int
	naming   int                 // requests of new sessions without an answer
	early    map[string][]string // by the agent's id, messages for sessions to come
	earlyNow int
}

type capabilities struct {
	LoadSession bool `json:"loadSession"`
	Session     struct {
		Resume *struct{} `json:"resume"`
	} `json:"sessionCapabilities"`
}

// Run passes messages between the editor and the agent until one of them ends, or ctx
// does. It closes toAgent when the editor has ended, and then waits for the agent.
func Run(ctx context.Context, o Options, fromEditor io.Reader, toEditor io.Writer, fromAgent io.Reader, toAgent io.WriteCloser) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	calls, endCalls := context.WithCancel(ctx)
	defer endCalls()
	p := &proxy{
		o: o, log: o.Node.Log(), ctx: ctx, calls: calls, name: o.Agent,
		editor: newPeer(fromEditor, toEditor), agent: newPeer(fromAgent, toAgent),
		live: map[string]*live{}, byAgent: map[string]*live{}, waiting: map[string]func(*message){}, early: map[string][]string{},
	}
	editorEnds, agentEnds := make(chan error, 1), make(chan error, 1)
	go func() { editorEnds <- p.editor.each(p.fromEditor) }()
	go func() { agentEnds <- p.agent.each(p.fromAgent) }()
	var err error
	select {
	case err = <-editorEnds:
		_ = toAgent.Close() // it may have ended
		select {
		case err = <-agentEnds:
		case <-time.After(endWithin):
		case <-ctx.Done():
		}
	case err = <-agentEnds:
	case <-ctx.Done():
		_ = toAgent.Close() // as above
	}
	endCalls()
	p.close()
	return err
}

// close stores what is left, and releases all sessions.
func (p *proxy) close() {
	p.mu.Lock()
	var all []*live
	for _, l := range p.live {
		all = append(all, l)
	}
	p.mu.Unlock()
	for _, l := range all {
		l.end()
	}
	for _, l := range all {
		<-l.done
	}
}

// call sends a request of the proxy's own to the agent, and returns its answer.
func (p *proxy) call(method string, params json.RawMessage) (json.RawMessage, error) {
	p.mu.Lock()
	p.requests++
	id := encode(fmt.Sprintf("sesslog-%d-%d", p.requests, time.Now().UnixNano()))
	p.mu.Unlock()
	answer := make(chan *message, 1)
	if !p.await(id, func(m *message) { answer <- m }) {
		return nil, fmt.Errorf("request %s is repeated: %w", id, core.ErrConflict)
	}
	p.agent.send(newRequest(id, method, params))
	select {
	case m := <-answer:
		if m.failed != nil {
			var failed acp.RequestError
			if err := json.Unmarshal(m.failed, &failed); err != nil {
				return nil, err
			}
			return nil, &failed
		}
		return m.result, nil
	case <-p.calls.Done():
		return nil, fmt.Errorf("the agent has ended: %w", core.ErrUnavailable)
	}
}

// await has f called with the answer to a request, instead of passing it. It reports
// whether no other request has this id.
func (p *proxy) await(id json.RawMessage, f func(*message)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, taken := p.waiting[keyOf(id)]; taken {
		return false
	}
	p.waiting[keyOf(id)] = f
	return true
}

// passAwaited passes a request of the editor, and has f called with its answer.
func (p *proxy) passAwaited(m *message, raw []byte, f func(*message)) {
	if !p.await(m.id, f) {
		p.refuse(m, acp.NewInvalidRequest(map[string]any{"error": "another request has this id"}))
		return
	}
	p.agent.send(raw)
}

// refuse answers a request of the editor with an error. A notification gets none.
func (p *proxy) refuse(m *message, err error) {
	if m.isRequest() {
		p.editor.send(newResponse(m.id, nil, failure(err)))
	}
}

// failure returns err as an error of the protocol.
func failure(err error) *acp.RequestError {
	if own, ok := errors.AsType[*acp.RequestError](err); ok {
		return own
	}
	text, hint, _ := strings.Cut(err.Error(), "\nhint: ")
	f := &acp.RequestError{Code: -32603, Message: text}
	data := map[string]any{}
	if hint != "" {
		data["hint"] = hint
	}
	fenced, isFenced := errors.AsType[*core.FencedError](err)
	switch {
	case isFenced:
		f.Code = codeFenced
		data["holder"] = fenced.Holder
	case errors.Is(err, core.ErrFenced):
		f.Code = codeFenced
	case errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrDeleted):
		f.Code = codeNotFound
	case errors.Is(err, core.ErrInvalid), errors.Is(err, core.ErrTooLarge):
		f.Code = -32602
	}
	if len(data) > 0 {
		f.Data = data
	}
	return f
}
