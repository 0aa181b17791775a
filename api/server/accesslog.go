package server

import (
	"cmp"
	"net/http"

	"github.com/sesslog/sesslog/core"
)

// noteAccess logs who asked for what, and how it went: "" for well, else the code
// of the problem. It knows the request's names and nothing of what was read or
// written. Queries are left out: people search for what sessions say.
func (s *Server) noteAccess(r *http.Request, who caller, code string) {
	if !s.cfg.Access {
		return
	}
	args := []any{"request", RequestID(r.Context()), "who", cmp.Or(who.name, "nobody asked"), "call", r.Pattern, "from", r.RemoteAddr}
	if id, err := core.ParseSessionID(r.PathValue("id")); err == nil {
		args = append(args, "session", id)
	}
	s.cfg.Logger.Info("access", append(args, "outcome", cmp.Or(code, "ok"))...)
}
