package acp

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// The types of lines.
const (
	TypeHeader = "acp-session"
	TypePrompt = "prompt"
	TypeUpdate = "update"
	TypeAnswer = "answer"
	TypeAgent  = "agent" // names the agent's session that knows this one
)

// Version is the version of the format that NewHeader writes.
const Version = 1

type header struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	ID      string `json:"id"`
	Time    string `json:"timestamp"`
	CWD     string `json:"cwd"`
	Parent  string `json:"parent,omitempty"`
}

func readHeader(line []byte) (header, error) {
	var h header
	if err := json.Unmarshal(line, &h); err != nil || h.Type != TypeHeader {
		return header{}, fmt.Errorf("it is not the header of an ACP session: %w", core.ErrInvalid)
	}
	if h.Version != Version {
		return header{}, fmt.Errorf("ACP session of version %d, only %d is known: %w", h.Version, Version, core.ErrInvalid)
	}
	if h.ID == "" {
		return header{}, fmt.Errorf("the header has no id: %w", core.ErrInvalid)
	}
	return h, nil
}

// A Line is a line after the header.
type Line struct {
	Type string `json:"type"`
	ID   string `json:"id,omitempty"`
	Time string `json:"timestamp,omitempty"`
	// Prompt, Update, Answer: messages of the protocol, byte for byte.
	Messages []json.RawMessage `json:"messages,omitempty"`
	AgentSession
}

// An AgentSession names the session of an agent that knows what was said. The zero
// AgentSession says that none does.
type AgentSession struct {
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"` // by the agent's own id
	Host    string `json:"host,omitempty"`
}

// ReadLine reads a line after the header. It returns core.ErrInvalid if it is not a JSON
// object.
func ReadLine(line []byte) (Line, error) {
	var l Line
	if err := json.Unmarshal(line, &l); err != nil {
		return Line{}, fmt.Errorf("it is not a line of an ACP session: %v: %w", err, core.ErrInvalid)
	}
	return l, nil
}

// NewLine makes a line of messages, without id and time, for Fill.
func NewLine(kind string, messages ...json.RawMessage) []byte {
	b := append([]byte(`{"type":`), jsonl.Marshal(kind)...)
	b = append(append(b, `,"messages":[`...), bytes.Join(raw(messages), []byte(","))...)
	return append(b, `]}`...)
}

func raw(messages []json.RawMessage) [][]byte {
	bs := make([][]byte, len(messages))
	for i, m := range messages {
		bs[i] = m
	}
	return bs
}

// NewAgentLine makes the line that names a, for Fill.
func NewAgentLine(a AgentSession) []byte {
	return jsonl.Marshal(Line{Type: TypeAgent, AgentSession: a})
}

// LastAgent returns the session of an agent that knows es, zero if none does.
func LastAgent(es []core.Entry) AgentSession {
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].Type != TypeAgent {
			continue
		}
		if l, err := ReadLine(es[i].Line); err == nil {
			return l.AgentSession
		}
	}
	return AgentSession{}
}
