package web

import (
	"context"
	"errors"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// maxKin bounds the related sessions that a page lists.
const maxKin = 200

// A kin is a session in the lineage of another one: an ancestor or a descendant, such as a
// fork or a sub-agent.
type kin struct {
	lineage.Node
	Level int          // of the indentation
	Kind  lineage.Kind // how it came from the session before it on the level above; empty for the first
	Entry string       // of that session at which it was left, if it is known
	Self  bool
}

// family returns the sessions that a session came from and those that came from it,
// parents first; nil if there are no others, or if the caller may not know of them.
func (s *source) family(ctx context.Context) ([]kin, error) {
	found, err := s.Lineage(ctx, client.LineageOptions{Session: s.id})
	if errors.Is(err, api.ErrForbidden) || errors.Is(err, core.ErrNotFound) {
		return nil, nil // it is about the whole log, or the node's directory lags
	}
	if err != nil || len(found.Sessions) < 2 {
		return nil, err
	}
	return familyOf(&found, core.SessionID(s.id)), nil
}

func familyOf(found *api.Lineage, self core.SessionID) (out []kin) {
	children, inner := map[core.SessionID][]core.SessionID{}, map[core.SessionID]bool{}
	for _, e := range found.Edges {
		if e.Producer != e.Consumer {
			children[e.Producer] = append(children[e.Producer], e.Consumer)
			inner[e.Consumer] = true
		}
	}
	nodes := map[core.SessionID]lineage.Node{}
	for _, n := range found.Sessions {
		nodes[n.ID] = n
	}
	seen := map[core.SessionID]bool{}
	var add func(id, of core.SessionID, level int)
	add = func(id, of core.SessionID, level int) {
		n, known := nodes[id]
		if !known || seen[id] || len(out) == maxKin {
			return
		}
		seen[id] = true
		k := kin{Node: n, Level: min(level, maxIndent), Self: id == self}
		for _, p := range n.Parents {
			if p.Session == of {
				k.Kind, k.Entry = p.Kind, p.Entry
			}
		}
		out = append(out, k)
		for _, c := range children[id] {
			add(c, id, level+1)
		}
	}
	for _, root := range []bool{true, false} { // a cycle has no root
		for _, n := range found.Sessions {
			if inner[n.ID] != root {
				add(n.ID, "", 0)
			}
		}
	}
	return out
}
