package envelope

import (
	"strings"

	"github.com/sesslog/sesslog/core"
)

// agentParent marks the parent in a header as the session that started this one
// as a sub-agent. Any other parent is the session that this one was forked from.
const agentParent = "subagent:"

// AgentParent returns what the header of a sub-agent's session says of the
// session called parent that started it.
func AgentParent(parent string) string { return agentParent + parent }

// WithLineage returns h with the session it came from, and how.
func WithLineage(h core.Header) core.Header {
	if h.Parent == "" {
		return h
	}
	h.Parents, h.Lineage = []string{h.Parent}, "fork"
	if parent, ok := strings.CutPrefix(h.Parent, agentParent); ok && parent != "" {
		h.Parents, h.Lineage = []string{parent}, "subagent"
	}
	return h
}
