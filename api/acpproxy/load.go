package acpproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"

	dialect "github.com/sesslog/sesslog/core/dialect/acp"
)

// maxHandOff bounds what a new agent is told of what was said, in bytes: the end of it.
const maxHandOff = 256 << 10

// open reads and claims the session, and has the agent open it, too.
func (l *live) open(q acp.LoadSessionRequest, m *message) error {
	ctx, cancel := l.within()
	defer cancel()
	s, err := l.p.open(ctx, l.id)
	if err != nil {
		return err
	}
	l.s = s
	if l.continues(m) {
		l.bound = true
		return nil
	}
	l.p.beginNaming()
	defer l.p.endNaming()
	result, err := l.p.call(acp.AgentMethodSessionNew, encode(acp.NewSessionRequest{
		Meta: q.Meta, Cwd: q.Cwd, McpServers: q.McpServers, AdditionalDirectories: q.AdditionalDirectories,
	}))
	if err != nil {
		return err
	}
	agentID, ok := nameIn(result)
	if !ok {
		return fmt.Errorf("the agent did not name its new session")
	}
	l.setup = without(result, "sessionId")
	l.handOff = l.said()
	l.p.bind(l, agentID)()
	return nil
}

// continues has the agent open its own session, if that is of this host and knows all
// that was said. It reports whether the agent did: one that shows nothing of a session
// that it loads has made a new one.
func (l *live) continues(m *message) bool {
	last := dialect.LastAgent(l.s.Entries())
	p := l.p
	p.mu.Lock()
	method := ""
	switch {
	case last.Session == "" || last.Host != p.o.Host || last.Agent != p.name || p.byAgent[last.Session] != nil:
	case p.can.LoadSession:
		method, l.muted = acp.AgentMethodSessionLoad, true
	case p.can.Session.Resume != nil:
		method = acp.AgentMethodSessionResume
	}
	p.mu.Unlock()
	if method == "" {
		return false
	}
	p.bind(l, last.Session)()
	result, err := p.call(method, member(l.toAgent(m.raw), "params"))
	p.mu.Lock()
	defer p.mu.Unlock()
	l.setup, l.muted = without(result, "sessionId"), false
	if err == nil && (l.heard > 0 || method == acp.AgentMethodSessionResume) {
		return true
	}
	delete(p.byAgent, last.Session)
	l.agentID = ""
	return false
}

// replay shows the editor what was said.
func (l *live) replay() {
	path, err := l.s.Path(l.s.Leaf())
	if err != nil {
		return // the leaf is always an entry
	}
	for _, u := range dialect.Replay(path) {
		l.p.editor.send(newRequest(nil, acp.ClientMethodSessionUpdate, encode(struct {
			SessionID string          `json:"sessionId"`
			Update    json.RawMessage `json:"update"`
		}{l.id, u})))
	}
}

// said returns what was said as text, empty if nothing was. The beginning of a long
// session is left out.
func (l *live) said() string {
	items, err := dialect.Dialect{}.ReadAll(l.s.Header(), l.s.Entries(), l.s.Leaf())
	if err != nil {
		return ""
	}
	var parts []string
	for i := range items {
		if text := items[i].Plain(); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.ToValidUTF8(strings.Join(parts, "\n\n"), "\uFFFD")
	if n := len(text) - maxHandOff; n > 0 {
		text = "(the beginning is left out)\n" + strings.ToValidUTF8(text[n:], "")
	}
	return "This conversation began elsewhere. What was said so far:\n\n" + text +
		"\n\n(End of what was said so far. The next message of the user follows.)"
}

// withHandOff returns a prompt with what was said before in front, if the agent does not
// know it.
func (l *live) withHandOff(raw []byte, m *message) []byte {
	if l.handOff == "" {
		return raw
	}
	blocks := bytes.TrimSpace(member(m.params, "prompt"))
	first := append([]byte("["), encode(acp.TextBlock(l.handOff))...)
	if rest := bytes.TrimSpace(blocks[1:]); len(rest) > 1 {
		first = append(first, ',')
	}
	return set(raw, "params", "prompt", append(first, blocks[1:]...))
}
