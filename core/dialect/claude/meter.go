package claude

import (
	"path"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/usage"
)

var usageNames = listing.UsageNames{
	Input: "input_tokens", Output: "output_tokens", CacheRead: "cache_read_input_tokens", CacheWrite: "cache_creation_input_tokens",
}

// noModel is the model of answers that the agent itself wrote.
const noModel = "<synthetic>"

// Meter implements usage.Reporter. The lines of one answer share its usage; of
// those of a version that wrote them during the answer, the one with the most
// output counts. The lines that a branch copied from another session are
// inherited.
func (Dialect) Meter(core.Header) (usage.Meter, []usage.Use) {
	return &meter{map[string]int64{}}, nil
}

type meter struct {
	output map[string]int64 // the most that lines of an answer reported
}

// Read implements usage.Meter.
func (m *meter) Read(e core.Entry) []usage.Use {
	n, agent, ok := spoken(e)
	if !ok || n.kind != "assistant" {
		return nil
	}
	u, ok := m.use(&n, agent)
	if !ok {
		return nil
	}
	return []usage.Use{u}
}

func (m *meter) use(n *node, agent string) (u usage.Use, ok bool) {
	reported := member(n.message, "usage")
	model := text(member(n.message, "model"))
	if u, ok = usageNames.Use(model, reported); !ok || model == noModel {
		return u, false
	}
	u.CacheWriteHour = listing.Count(member(member(reported, "cache_creation"), "ephemeral_1h_input_tokens"))
	u.Agent = agent
	u.Inherited = member(n.line, "forkedFrom") != nil
	if n.msgID == "" {
		return u, true
	}
	u.Answer = n.answerID()
	most, known := m.output[u.Answer]
	if known && u.Output < most {
		u.Output = most
	}
	m.output[u.Answer] = u.Output
	return u, true
}

// answerID names the answer that the line of a model is part of.
func (n *node) answerID() string { return n.msgID + "\x00" + text(member(n.line, "requestId")) }

// agentOf returns the id of the sub-agent whose transcript has the line, or an
// empty string for a line of the session's own agent.
func agentOf(p string, n *node) string {
	if id := text(member(n.line, "agentId")); id != "" {
		return id
	}
	if p == mainPath && !n.sidechain {
		return ""
	}
	if p == mainPath {
		return "unknown" // of an old version
	}
	return strings.TrimPrefix(strings.TrimSuffix(path.Base(p), suffix), "agent-")
}

// spoken returns the message of a user or of a model in e, of the main file or
// of a sub-agent, and that agent.
func spoken(e core.Entry) (n node, agent string, ok bool) {
	line, p := e.Line, mainPath
	if piece, ours, err := envelope.Open(line); ours {
		if err != nil || !piece.IsLine() || piece.Pieces != 1 || piece.Path == mainPath {
			return n, "", false // a line of the main file that is repeated, or no message
		}
		line, p = piece.Bytes, piece.Path
	}
	n = parseNode(line)
	return n, agentOf(p, &n), n.kind == "user" && !n.hasResult() || n.kind == "assistant"
}
