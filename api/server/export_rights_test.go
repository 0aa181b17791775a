package server

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api/access"
)

// RoutePatterns are the calls that a server has handlers for, sorted.
func RoutePatterns() []string { return slices.Sorted(maps.Keys(New(Config{}).routes())) }

// RightPatterns are the calls that the table of rights has rows for, sorted.
func RightPatterns() []string { return slices.Sorted(maps.Keys(rights)) }

// Acts are the calls that audit records name, by what they name them.
func Acts() map[string]string {
	acts := map[string]string{}
	for pattern, r := range rights {
		if r.act != noAct {
			acts[pattern] = r.act
		}
	}
	return acts
}

// AdminPatterns are the calls that change something and are for admins alone.
func AdminPatterns() (all []string) {
	for pattern, r := range rights {
		if r.scope == access.Admin && !strings.HasPrefix(pattern, "GET ") {
			all = append(all, pattern)
		}
	}
	return all
}

// PauseOfRestores sets how long after its last call a restore is over.
func (s *Server) PauseOfRestores(d time.Duration) { s.restores.pause = d }

// EndRestores records what restores came to, as when the server stops.
func (s *Server) EndRestores() { s.restores.end() }

// DryRuns are the calls that have a dry run.
func DryRuns() []string { return slices.Collect(maps.Keys(dryRuns)) }
