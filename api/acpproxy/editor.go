package acpproxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/coder/acp-go-sdk"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	dialect "github.com/sesslog/sesslog/core/dialect/acp"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/catalog"
)

// pageSize is how many sessions a page of session/list has.
const pageSize = 100

// fromEditor handles a line of the editor.
func (p *proxy) fromEditor(line []byte) {
	m, err := parse(line)
	if err != nil {
		p.editor.send(newResponse(nil, nil, failure(err)))
		return
	}
	switch m.method {
	case acp.AgentMethodInitialize:
		p.initialize(m)
	case acp.AgentMethodSessionNew:
		p.create(m)
	case acp.AgentMethodSessionList:
		go p.answer(m, p.list)
	case methodDelete:
		go p.answer(m, p.delete)
	case acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume:
		p.load(m)
	case acp.AgentMethodSessionFork:
		p.refuse(m, acp.NewMethodNotFound(m.method))
	default:
		p.toSession(m)
	}
}

// initialize passes the greeting, with the version of the protocol that this proxy knows.
func (p *proxy) initialize(m *message) {
	raw := m.raw
	var version float64
	if json.Unmarshal(member(m.params, "protocolVersion"), &version) == nil && version > acp.ProtocolVersionNumber {
		raw = set(raw, "params", "protocolVersion", encode(acp.ProtocolVersionNumber))
	}
	if m.isRequest() {
		p.passAwaited(m, raw, p.initialized)
	}
}

// answer answers a request from the log.
func (p *proxy) answer(m *message, f func(context.Context, json.RawMessage) (any, error)) {
	ctx, cancel := context.WithTimeout(p.ctx, storeWithin)
	defer cancel()
	result, err := f(ctx, m.params)
	if err != nil {
		p.refuse(m, err)
	} else if m.isRequest() {
		p.editor.send(newResponse(m.id, encode(result), nil))
	}
}

// decode reads params as the schema has them.
func decode(params json.RawMessage, to interface{ Validate() error }) error {
	err := json.Unmarshal(params, to)
	if err == nil {
		err = to.Validate()
	}
	if err != nil {
		return acp.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	return nil
}

func (p *proxy) list(ctx context.Context, params json.RawMessage) (any, error) {
	var q acp.ListSessionsRequest
	if len(params) > 0 {
		if err := decode(params, &q); err != nil {
			return nil, err
		}
	}
	f := catalog.Filter{Dialect: dialect.Dialect{}.Name(), Limit: pageSize}
	if q.Cwd != nil {
		f.CWD = *q.Cwd
	}
	if q.Cursor != nil {
		f.After = *q.Cursor
	}
	found, err := p.o.Node.List(ctx, f)
	if err != nil {
		return nil, err
	}
	page := acp.ListSessionsResponse{Sessions: []acp.SessionInfo{}}
	for _, row := range found.Sessions {
		info := acp.SessionInfo{SessionId: acp.SessionId(row.ID), Cwd: row.CWD}
		if title := cmp.Or(row.Name, row.First); title != "" {
			info.Title = &title
		}
		if row.Modified != "" {
			info.UpdatedAt = &row.Modified
		}
		page.Sessions = append(page.Sessions, info)
	}
	if found.Next != "" {
		page.NextCursor = &found.Next
	}
	return page, nil
}

// A named is what requests for one session have.
type named struct {
	SessionID string `json:"sessionId"`
}

// Validate checks the id.
func (n *named) Validate() error {
	_, err := core.ParseSessionID(n.SessionID)
	return err
}

func (p *proxy) delete(ctx context.Context, params json.RawMessage) (any, error) {
	var q named
	if err := decode(params, &q); err != nil {
		return nil, err
	}
	p.mu.Lock()
	l := p.live[q.SessionID]
	p.mu.Unlock()
	err := p.checkDialect(ctx, q.SessionID)
	isNew := l != nil && errors.Is(err, core.ErrNotFound) // it has no prompt yet
	if err != nil && !isNew {
		return nil, err
	}
	if l != nil {
		l.cancel()
		l.end()
		<-l.done
	}
	if isNew {
		return struct{}{}, nil
	}
	return struct{}{}, p.o.Node.Delete(ctx, q.SessionID, api.Notice{By: p.o.By, Host: p.o.Host})
}

// checkDialect returns core.ErrNotFound unless the log has an ACP session by this id.
func (p *proxy) checkDialect(ctx context.Context, id string) error {
	info, err := p.o.Node.Info(ctx, id)
	if err != nil {
		return err
	}
	if info.Log.Dialect != (dialect.Dialect{}).Name() {
		return fmt.Errorf("session %s is one of %s, not of ACP: %w", id, info.Log.Dialect, core.ErrNotFound)
	}
	return nil
}

// create passes the request of a new session. The log has it from its first prompt on.
func (p *proxy) create(m *message) {
	var q acp.NewSessionRequest
	if err := decode(m.params, &q); err != nil {
		p.refuse(m, err)
		return
	}
	if !m.isRequest() {
		return
	}
	p.beginNaming()
	p.passAwaited(m, m.raw, func(a *message) {
		defer p.endNaming()
		agentID, ok := nameIn(a.result)
		if !ok {
			p.editor.send(a.raw)
			return
		}
		s, err := session.Create(p.ctx, p.log, q.Cwd, p.writing(session.Claimed))
		if err != nil {
			p.refuse(m, err)
			return
		}
		l := newLive(p, string(s.ID()))
		l.s, l.setup = s, without(a.result, "sessionId")
		p.mu.Lock()
		p.live[l.id] = l
		p.mu.Unlock()
		passEarly := p.bind(l, agentID)
		p.editor.send(set(a.raw, "result", "sessionId", encode(l.id)))
		passEarly()
		go l.run(nil)
	})
}

func nameIn(result json.RawMessage) (id string, ok bool) {
	err := json.Unmarshal(member(result, "sessionId"), &id)
	return id, err == nil && id != ""
}

// without returns an object without a member, {} if it is none.
func without(object json.RawMessage, name string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil || members == nil {
		return json.RawMessage("{}")
	}
	delete(members, name)
	return encode(members)
}

// writing are the options of a session that is written.
func (p *proxy) writing(access session.Access) session.Options {
	p.mu.Lock()
	defer p.mu.Unlock()
	return session.Options{Dialect: dialect.Dialect{}.Name(), Access: access, Lazy: true, Agent: p.name, Host: p.o.Host, By: p.o.By}
}

// open claims a session of the log. A holder that is gone loses it.
func (p *proxy) open(ctx context.Context, id string) (*session.Session, error) {
	if err := p.checkDialect(ctx, id); err != nil {
		return nil, err
	}
	s, err := session.Open(ctx, p.log, core.SessionID(id), p.writing(session.Claimed))
	if !errors.Is(err, core.ErrFenced) {
		return s, err
	}
	if !p.o.TakeOver {
		heads, headsErr := p.o.Node.Heads(ctx, id)
		if headsErr != nil {
			return nil, err
		}
		for _, h := range heads.Heads {
			if h.Head == core.MainHead && (h.Life == nil || h.Life.AtWork()) {
				return nil, err
			}
		}
	}
	return session.Open(ctx, p.log, core.SessionID(id), p.writing(session.TakeOver))
}

// load opens a session of the log in the editor. session/load also shows what was said.
func (p *proxy) load(m *message) {
	show := m.method == acp.AgentMethodSessionLoad
	var q acp.LoadSessionRequest
	err := json.Unmarshal(m.params, &q)
	if err == nil {
		if q.McpServers == nil {
			q.McpServers = []acp.McpServer{} // optional if it is resumed
		}
		err = (&named{string(q.SessionId)}).Validate()
	}
	if err == nil {
		err = q.Validate()
	}
	if err != nil {
		p.refuse(m, acp.NewInvalidParams(map[string]any{"error": err.Error()}))
		return
	}
	if !m.isRequest() {
		return
	}
	id := string(q.SessionId)
	p.mu.Lock()
	l := p.live[id]
	if l == nil || l.over.Load() {
		l = newLive(p, id)
		p.live[id] = l
		go l.run(func() error { return l.open(q, m) })
	}
	p.mu.Unlock()
	l.add(job{do: func(error) {
		if show {
			l.replay()
		}
		p.editor.send(newResponse(m.id, l.setup, nil))
	}, failed: func(err error) { p.refuse(m, err) }})
}

// toSession passes a message of the editor to the session that it is for.
func (p *proxy) toSession(m *message) {
	if m.session == nil || m.method == "" {
		p.agent.send(m.raw)
		return
	}
	id := m.sessionID()
	p.mu.Lock()
	l := p.live[id]
	p.mu.Unlock()
	switch {
	case l == nil:
		p.refuse(m, fmt.Errorf("session %.64q is not open: load it first: %w", id, core.ErrNotFound))
	case m.method == acp.AgentMethodSessionPrompt:
		p.prompt(l, m)
	case m.method == acp.AgentMethodSessionCancel && l.passNow(m.raw):
	case m.method == acp.AgentMethodSessionClose && m.isRequest():
		l.add(job{do: func(error) {
			p.passAwaited(m, l.toAgent(m.raw), func(a *message) {
				if a.failed == nil {
					l.end()
				}
				p.editor.send(a.raw)
			})
		}, failed: func(err error) { p.refuse(m, err) }})
	default:
		l.add(job{do: func(error) { p.agent.send(l.toAgent(m.raw)) }, failed: func(err error) { p.refuse(m, err) }})
	}
}

// required are the members of content blocks, by type. The SDK takes any object for a text.
var required = map[string][]string{
	"text": {"text"}, "image": {"data", "mimeType"}, "audio": {"data", "mimeType"}, "resource_link": {"name", "uri"}, "resource": {"resource"},
}

// checkPrompt returns an error unless params are those of a prompt.
func checkPrompt(params json.RawMessage) error {
	if err := decode(params, &acp.PromptRequest{}); err != nil {
		return err
	}
	var blocks []map[string]json.RawMessage
	_ = json.Unmarshal(member(params, "prompt"), &blocks) // decode has read them
	for i, b := range blocks {
		var kind string
		_ = json.Unmarshal(b["type"], &kind) // without a type it is none of them
		names, known := required[kind]
		if !known || slices.ContainsFunc(names, func(name string) bool { return b[name] == nil }) {
			return acp.NewInvalidParams(map[string]any{"error": fmt.Sprintf("block %d is no content block of type %.40q", i+1, kind)})
		}
	}
	return nil
}

// prompt stores a prompt and then passes it. The end of its turn is stored, too, before
// it is passed.
func (p *proxy) prompt(l *live, m *message) {
	if err := checkPrompt(m.params); err != nil {
		p.refuse(m, err)
		return
	}
	if !m.isRequest() {
		return
	}
	l.add(job{prompt: m.raw, failed: func(err error) { p.refuse(m, err) }, do: func(err error) {
		if err != nil {
			p.refuse(m, err)
			return
		}
		p.passAwaited(m, l.withHandOff(l.toAgent(m.raw), m), func(a *message) {
			l.add(job{answer: a, do: func(err error) {
				if err != nil {
					p.refuse(m, fmt.Errorf("the turn is not in the log: %w", err))
					return
				}
				p.editor.send(a.raw)
			}, failed: func(err error) { p.refuse(m, err) }})
		})
	}})
}
