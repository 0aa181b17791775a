package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// Handler returns the server's handler, for use without Run.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range s.routes {
		switch {
		case rt.has(public):
			mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) { _ = rt.handle(s, w, r) })
		case rt.has(unlimited):
			if s.cfg.Metrics != nil {
				mux.Handle(rt.pattern, s.observed(s.serve(rt, s.handlerOf(rt))))
			}
		case rt.has(follower | feedFollower):
			mux.Handle(rt.pattern, s.observed(s.serve(rt, s.following(s.withDryRun(rt, s.handlerOf(rt))))))
		case rt.has(foreign):
			mux.Handle(rt.pattern, s.observed(s.serve(rt, s.streaming(s.withDryRun(rt, s.handlerOf(rt))))))
		default:
			h := limited(s.limiters.requests, withWriteDeadline(s.holding(s.withDryRun(rt, s.handlerOf(rt)))))
			mux.Handle(rt.pattern, s.observed(s.serve(rt, h)))
		}
	}
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forbid(w, "a page of "+r.Header.Get("Origin")+" may not write here")
	}))
	h := s.preflights(guard.Handler(dryRunByPath(s.orProblem(mux))))
	if s.cfg.Page != nil {
		h = s.cfg.Page(h)
	}
	return withRequestID(s.localhostOnly(h))
}

// handlerOf returns the handler of rt with its own limit and its audit records.
func (s *Server) handlerOf(rt *route) handler {
	h := withLineage(func(w http.ResponseWriter, r *http.Request) error { return rt.handle(s, w, r) })
	switch {
	case rt.has(heavy):
		h = limited(s.limiters.heavy, h)
	case rt.has(follower):
		h = limited(s.limiters.followers, h)
	case rt.has(feedFollower):
		h = limited(s.limiters.feeds, h)
	}
	switch {
	case rt.has(audited):
		h = s.auditing(h)
	case rt.has(restoresBlob):
		h = s.restores.counting("blob", h)
	case rt.has(restoresSnapshot):
		h = s.restores.counting("snapshot", h)
	case rt.has(restoresSession):
		h = s.restores.counting("session", h)
	}
	return h
}

// withLineage answers with h. A session that it makes does not say where it came
// from if the request says so.
func withLineage(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		switch v := r.Header.Get(api.HeaderLineage); v {
		case "":
		case "off":
			r = r.WithContext(lineage.Recording(r.Context(), false))
		default:
			return fmt.Errorf("%s %.40q: send off, or omit the header: %w", api.HeaderLineage, v, core.ErrInvalid)
		}
		return h(w, r)
	}
}

// localhostOnly rejects requests for other host names on a node without a token.
// Listening on loopback is not enough: a web page in a browser on the same
// machine reaches it under any name that resolves to loopback (DNS rebinding).
func (s *Server) localhostOnly(h http.Handler) http.Handler {
	if !s.requiresNoToken() || s.cfg.AnyHost {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if host == "localhost" || ip != nil && ip.IsLoopback() {
			h.ServeHTTP(w, r)
			return
		}
		forbid(w, "a node without a token answers to localhost only, not to "+strconv.Quote(host))
	})
}

func forbid(w http.ResponseWriter, why string) {
	writeDetail(w, api.Detail{
		Type: "urn:sesslog:forbidden", Code: "forbidden", Status: http.StatusForbidden, Title: "Not allowed",
		Detail: why, Next: "Use http://127.0.0.1:PORT, or give the node a token.",
	})
}

// orProblem answers requests that mux has no handler for with a problem document:
// an unknown path, or a method that the path does not have.
func (s *Server) orProblem(mux *http.ServeMux) http.Handler {
	unknown := s.observed(unroutedHandler(mux))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		unknown.ServeHTTP(w, r)
	})
}

// unroutedHandler explains why mux has no handler for a request.
func unroutedHandler(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := headerRecorder{header: http.Header{}}
		mux.ServeHTTP(&asked, r)
		allow := asked.header.Get("Allow")
		if allow == "" {
			writeProblem(w, fmt.Errorf("there is no %.200q: %w", r.URL.Path, core.ErrNotFound))
			return
		}
		w.Header().Set("Allow", allow)
		writeDetail(w, api.Detail{
			Type: "urn:sesslog:method-not-allowed", Code: "method-not-allowed", Status: http.StatusMethodNotAllowed,
			Title: "Not that method", Detail: fmt.Sprintf("%.200q does not take %.20q", r.URL.Path, r.Method), Next: "Use one of: " + allow,
		})
	})
}

// headerRecorder keeps the headers of the mux's own answer and discards the rest.
type headerRecorder struct{ header http.Header }

func (r *headerRecorder) Header() http.Header { return r.header }

func (r *headerRecorder) Write(b []byte) (int, error) { return len(b), nil }

func (r *headerRecorder) WriteHeader(int) {}

// A handler answers a request, or returns the error to answer with.
type handler func(w http.ResponseWriter, r *http.Request) error

// serve does what all calls have in common: authentication, rights, the limit of
// the body, and errors as problem documents.
func (s *Server) serve(rt *route, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := s.authenticate(r)
		if err == nil {
			err = s.usage.countRequest(who.id, who.Limits)
		}
		if err == nil {
			err = who.may(rt, r.PathValue("id"))
		}
		if err == nil {
			err = checkQuery(rt, r)
		}
		if err != nil {
			setRetryAfter(w, err)
			s.logAccess(r, who, writeProblem(w, err).Code)
			return
		}
		r = r.WithContext(withCaller(r.Context(), who))
		r.Body = http.MaxBytesReader(unwrapResponse(w), paced(w, r), who.body(s.cfg.MaxBody))
		r, cancel := withCallerTimeout(r)
		defer cancel()
		if err = h(w, r); err == nil {
			s.logAccess(r, who, "")
			return
		}
		if errors.Is(err, errAborted) {
			s.logAccess(r, who, "broken")
			panic(http.ErrAbortHandler) // the caller must see that the answer is not whole
		}
		s.noteCorrupt(r, err)
		setRetryAfter(w, err)
		d := writeProblem(w, err)
		s.logAccess(r, who, d.Code)
		if d.Status >= 500 && r.Context().Err() == nil {
			s.cfg.Logger.Warn("request failed", append(requestAttrs(r), "status", d.Status, "code", d.Code, "err", err)...)
		}
	})
}

// noteCorrupt remembers a session that cannot be read because it is corrupt, for status
// and doctor.
func (s *Server) noteCorrupt(r *http.Request, err error) {
	if r.Method != http.MethodGet || !errors.Is(err, core.ErrCorrupt) {
		return
	}
	if id, bad := core.ParseSessionID(r.PathValue("id")); bad == nil {
		s.cfg.Materializer.Guard().SetCorrupt(id, err)
	}
}

// errAborted is a failure after the answer began.
var errAborted = errors.New("the response ended early")
