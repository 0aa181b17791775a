package server

import (
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api/access"
)

// patterns returns the patterns of the routes that ok accepts, sorted.
func patterns(ok func(*route) bool) []string {
	var all []string
	for _, rt := range New(Config{}).routes {
		if ok(rt) {
			all = append(all, rt.pattern)
		}
	}
	return slices.Sorted(slices.Values(all))
}

// Patterns returns the calls that openapi.json describes: all but the metrics.
func Patterns() []string {
	return patterns(func(rt *route) bool { return !rt.has(unlimited) })
}

// RoutePatterns returns the calls that require a token.
func RoutePatterns() []string {
	return patterns(func(rt *route) bool { return !rt.has(public) })
}

// RoutesWithoutScope returns the calls that require a token and name no scope.
func RoutesWithoutScope() []string {
	return patterns(func(rt *route) bool { return !rt.has(public) && !access.Admin.Includes(rt.scope) })
}

// PublicPatterns returns the calls that require no token.
func PublicPatterns() []string { return patterns(func(rt *route) bool { return rt.has(public) }) }

// Acts returns the acts of audit records by the calls that they name.
func Acts() map[string]string {
	acts := map[string]string{}
	for _, rt := range New(Config{}).routes {
		if rt.act != noAct {
			acts[rt.pattern] = rt.act
		}
	}
	return acts
}

// AdminPatterns returns the calls that change something and require scope admin.
func AdminPatterns() []string {
	return patterns(func(rt *route) bool { return rt.scope == access.Admin && !strings.HasPrefix(rt.pattern, "GET ") })
}

// DryRuns returns the calls that have a dry run.
func DryRuns() []string { return patterns(func(rt *route) bool { return rt.has(hasDryRun) }) }

// SetRestorePause sets how long after its last call a restore ends.
func (s *Server) SetRestorePause(d time.Duration) { s.restores.pause = d }

// EndRestores records the restores that run, as when the server stops.
func (s *Server) EndRestores() { s.restores.end() }
