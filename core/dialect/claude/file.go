package claude

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/newid"
)

// detectWithin is how far into a file Detect looks.
const detectWithin = 64 << 10

// Detect reports whether data begins like a session in the form of the log, or
// like a main file of the agent: an early line is an object of a known type with
// a sessionId, and no earlier one is of another agent.
func (Dialect) Detect(data []byte) bool {
	return envelope.IsPacked(name, data) || sessionIDOf(data) != ""
}

// sessionIDOf returns the sessionId in the first lines of a file of the agent,
// or an empty string if it is not one.
func sessionIDOf(data []byte) string {
	body := bytes.TrimPrefix(data[:min(len(data), detectWithin)], jsonl.ByteOrderMark)
	first := ""
	for _, line := range jsonl.Numbered(body) {
		r := readLine(line)
		if !r.ok {
			continue
		}
		if !kinds[r.kind] && r.uuid == "" {
			return ""
		}
		if s := text(r.session); s != "" {
			return s
		}
		if first == "" && isTalk(r.kind) {
			first = r.uuid
		}
	}
	if first != "" { // the agent does not need a sessionId either
		sum := sha256.Sum256([]byte(first))
		return newid.UUID([16]byte(sum[:16]))
	}
	// The first line may be longer than what was looked at.
	if _, rest, ok := bytes.Cut(body, []byte(`"sessionId":"`)); ok && bytes.HasPrefix(body, []byte(`{"parentUuid":`)) {
		id, _, _ := bytes.Cut(rest, []byte(`"`))
		return string(id)
	}
	return ""
}

// kinds are the types of lines that a file of the agent may begin with.
var kinds = map[string]bool{
	"user": true, "assistant": true, "system": true, "attachment": true, "progress": true, "summary": true,
	"queue-operation": true, "last-prompt": true, "mode": true, "permission-mode": true, "ai-title": true,
	"custom-title": true, "agent-name": true, "file-history-snapshot": true, "worktree-state": true,
	"fork-context-ref": true, "tag": true, "agent-color": true, "agent-setting": true, "pr-link": true,
}

// File reads a session in the form of the log, or a main file without
// companions, whose session is the one that its lines name.
func (d Dialect) File(data []byte) (*core.File, error) {
	if envelope.IsPacked(name, data) {
		return envelope.File(d, data)
	}
	id := sessionIDOf(data)
	if id == "" {
		return nil, fmt.Errorf("not a claude session: no line at its beginning names one: %w", core.ErrInvalid)
	}
	var w packer
	w.mainFile(data)
	return w.file(id), nil
}

// Header reads the header of a session in the log.
func (Dialect) Header(line []byte) (core.Header, error) { return envelope.Header(name, line) }

// WithCWD implements optional.Relocator.
func (Dialect) WithCWD(line []byte, cwd string) []byte { return jsonl.WithText(line, "cwd", cwd) }

// NewHeader makes the header of a new session.
func (Dialect) NewHeader(f core.HeaderFields) []byte { return envelope.NewHeader(name, f) }
