package acpproxy

import (
	"bytes"
	"encoding/json"

	"github.com/coder/acp-go-sdk"

	dialect "github.com/sesslog/sesslog/core/dialect/acp"
)

// maxName bounds the name that an agent gives itself, in bytes.
const maxName = 64

// fromAgent handles a line of the agent.
func (p *proxy) fromAgent(line []byte) {
	m, err := parse(bytes.ToValidUTF8(line, []byte("\uFFFD"))) // some pass what a command has printed
	switch {
	case err != nil:
		return // text that is no message is not for the editor
	case m.method == "":
		p.answered(m)
	case m.session != nil:
		p.ofSession(m)
	default:
		p.editor.send(m.raw)
	}
}

// answered passes an answer of the agent.
func (p *proxy) answered(m *message) {
	p.mu.Lock()
	f := p.waiting[keyOf(m.id)]
	delete(p.waiting, keyOf(m.id))
	p.mu.Unlock()
	if f == nil {
		p.editor.send(m.raw)
		return
	}
	f(m)
}

// ofSession passes a message of the agent for one of its sessions.
func (p *proxy) ofSession(m *message) {
	id := m.sessionID()
	p.mu.Lock()
	l := p.byAgent[id]
	if l == nil && p.naming > 0 && p.earlyNow < maxEarly {
		p.early[id] = append(p.early[id], string(m.raw))
		p.earlyNow++
		p.mu.Unlock()
		return
	}
	muted := l != nil && l.muted
	p.mu.Unlock()
	if l == nil {
		p.editor.send(m.raw)
		return
	}
	raw := set(m.raw, "params", "sessionId", encode(l.id))
	if m.method != acp.ClientMethodSessionUpdate {
		p.editor.send(raw)
		return
	}
	kind := dialect.KindOf(raw)
	if muted && dialect.InConversation(kind) {
		p.mu.Lock()
		l.heard++
		p.mu.Unlock()
		return
	}
	p.editor.send(raw)
	l.add(job{update: raw, kind: kind})
}

// bind has the messages for a session of the agent passed to a session of the editor.
// Those that came early are passed by the function that it returns.
func (p *proxy) bind(l *live, agentID string) (passEarly func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.agentID = agentID
	p.byAgent[agentID] = l
	early := p.early[agentID]
	delete(p.early, agentID)
	p.earlyNow -= len(early)
	return func() {
		for _, raw := range early {
			p.fromAgent([]byte(raw))
		}
	}
}

// beginNaming and endNaming enclose a request of a new session.
func (p *proxy) beginNaming() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.naming++
}

func (p *proxy) endNaming() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.naming--; p.naming == 0 {
		clear(p.early)
		p.earlyNow = 0
	}
}

// initialized passes what the agent can do, and what the proxy can.
func (p *proxy) initialized(m *message) {
	var result, caps, sessions map[string]json.RawMessage
	if m.failed != nil || json.Unmarshal(m.result, &result) != nil || result == nil {
		p.editor.send(m.raw)
		return
	}
	var agent struct {
		Name string `json:"name"`
	}
	p.mu.Lock()
	_ = json.Unmarshal(result["agentCapabilities"], &p.can) // otherwise it can do nothing
	if json.Unmarshal(result["agentInfo"], &agent) == nil && agent.Name != "" && len(agent.Name) <= maxName {
		p.name = agent.Name
	}
	p.mu.Unlock()
	if json.Unmarshal(result["agentCapabilities"], &caps) != nil || caps == nil {
		caps = map[string]json.RawMessage{}
	}
	if json.Unmarshal(caps["sessionCapabilities"], &sessions) != nil || sessions == nil {
		sessions = map[string]json.RawMessage{}
	}
	for _, name := range []string{"list", "resume", "delete"} {
		sessions[name] = json.RawMessage("{}")
	}
	delete(sessions, "fork") // forks of the agent are not in the log
	caps["loadSession"], caps["sessionCapabilities"] = json.RawMessage("true"), encode(sessions)
	result["agentCapabilities"] = encode(caps)
	p.editor.send(newResponse(m.id, encode(result), nil))
}
