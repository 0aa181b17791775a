package acpproxy_test

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"
)

// An agentHome is what an agent keeps on one host. Its processes share it.
type agentHome struct {
	loads   bool // session/load works
	forgets bool // … but the agent makes an empty session instead

	stops chan struct{} // gets each turn that is canceled, if there is room
	dies  chan struct{} // closed when the agent ends while it makes a session; nil if it does not

	mu       sync.Mutex
	sessions map[acp.SessionId][]acp.SessionUpdate
	prompts  []string // of all sessions: the texts of the blocks
}

// A scripted is a process of the agent.
type scripted struct {
	*agentHome
	conn *acp.AgentSideConnection
	stop sync.Map // by session, a channel that gets a cancel
}

func (a *scripted) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{
		ProtocolVersion: 1, AgentInfo: &acp.Implementation{Name: "scripted", Version: "1"}, AuthMethods: []acp.AuthMethod{},
		AgentCapabilities: acp.AgentCapabilities{LoadSession: a.loads, SessionCapabilities: acp.SessionCapabilities{Close: &acp.SessionCloseCapabilities{}}},
	}, nil
}

func (a *scripted) NewSession(ctx context.Context, _ acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if a.dies != nil {
		close(a.dies)
		<-ctx.Done()
		return acp.NewSessionResponse{}, ctx.Err()
	}
	a.mu.Lock()
	if a.sessions == nil {
		a.sessions = map[acp.SessionId][]acp.SessionUpdate{}
	}
	id := acp.SessionId(fmt.Sprintf("own-%d", len(a.sessions)))
	a.sessions[id] = nil
	a.mu.Unlock()
	// Some agents do so before they have named the session.
	err := a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: id, Update: acp.SessionUpdate{
		AvailableCommandsUpdate: &acp.SessionAvailableCommandsUpdate{SessionUpdate: "available_commands_update", AvailableCommands: []acp.AvailableCommand{}},
	}})
	return acp.NewSessionResponse{SessionId: id, Modes: &acp.SessionModeState{CurrentModeId: "ask", AvailableModes: []acp.SessionMode{}}}, err
}

func (a *scripted) LoadSession(ctx context.Context, q acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	a.mu.Lock()
	updates, ok := a.sessions[q.SessionId]
	a.mu.Unlock()
	if a.forgets {
		return acp.LoadSessionResponse{}, nil
	}
	if !ok || !a.loads {
		return acp.LoadSessionResponse{}, acp.NewInvalidParams("there is no such session")
	}
	for _, u := range updates {
		if err := a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: q.SessionId, Update: u}); err != nil {
			return acp.LoadSessionResponse{}, err
		}
	}
	return acp.LoadSessionResponse{}, nil
}

func (a *scripted) Prompt(ctx context.Context, q acp.PromptRequest) (acp.PromptResponse, error) {
	var texts []string
	for _, b := range q.Prompt {
		if b.Text != nil {
			texts = append(texts, b.Text.Text)
		}
	}
	a.mu.Lock()
	a.prompts = append(a.prompts, strings.Join(texts, "|"))
	a.sessions[q.SessionId] = append(a.sessions[q.SessionId], acp.UpdateUserMessageText(strings.Join(texts, "|")))
	a.mu.Unlock()
	last := texts[len(texts)-1]
	switch last {
	case "fail":
		return acp.PromptResponse{}, acp.NewInternalError("it failed")
	case "wait":
		stopped, _ := a.stop.LoadOrStore(q.SessionId, make(chan struct{}, 1))
		_ = a.says(ctx, q.SessionId, acp.UpdateAgentMessageText("waiting"))
		<-stopped.(chan struct{})
		select {
		case a.stops <- struct{}{}:
		default:
		}
		return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
	case "ask":
		r, err := a.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
			SessionId: q.SessionId, ToolCall: acp.ToolCallUpdate{ToolCallId: "p1"},
			Options: []acp.PermissionOption{{Kind: acp.PermissionOptionKindAllowOnce, Name: "Allow", OptionId: "yes"}},
		})
		if err != nil || r.Outcome.Selected == nil {
			return acp.PromptResponse{}, acp.NewInternalError("no permission")
		}
		last = "allowed " + string(r.Outcome.Selected.OptionId)
	}
	err := a.says(ctx, q.SessionId,
		acp.UpdateAgentThoughtText("Hm."),
		acp.StartToolCall("c1", "List files", acp.WithStartKind(acp.ToolKindExecute), acp.WithStartRawInput(map[string]any{"command": "ls"})),
		acp.UpdateToolCall("c1", acp.WithUpdateStatus(acp.ToolCallStatusCompleted), acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock("a.txt"))})),
		acp.UpdateAgentMessageText("You said"), acp.UpdateAgentMessageText(": "), acp.UpdateAgentMessageText(last),
	)
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, err
}

func (a *scripted) says(ctx context.Context, id acp.SessionId, updates ...acp.SessionUpdate) error {
	a.mu.Lock()
	a.sessions[id] = append(a.sessions[id], updates...)
	a.mu.Unlock()
	for _, u := range updates {
		if err := a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: id, Update: u}); err != nil {
			return err
		}
	}
	return nil
}

func (a *scripted) Cancel(_ context.Context, q acp.CancelNotification) error {
	stopped, _ := a.stop.LoadOrStore(q.SessionId, make(chan struct{}, 1))
	select {
	case stopped.(chan struct{}) <- struct{}{}:
	default: // it is cancelled already
	}
	return nil
}

func (*scripted) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}

func (*scripted) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, nil
}

func (*scripted) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

func (*scripted) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionResume)
}

func (*scripted) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, nil
}

func (*scripted) SetSessionMode(_ context.Context, q acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	if !strings.HasPrefix(string(q.SessionId), "own-") {
		return acp.SetSessionModeResponse{}, acp.NewInvalidParams("it is not a session of the agent")
	}
	return acp.SetSessionModeResponse{}, nil
}
