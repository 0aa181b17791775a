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
)

// Handler returns the server's handler, for use without Run.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range s.routes() {
		h = s.orDry(pattern, h)
		if !strings.HasSuffix(pattern, "/events") && !strings.HasSuffix(pattern, "/changes") { // which are bounded otherwise
			h = one(s.gates.requests, paced(h))
		} else {
			h = s.following(h)
		}
		mux.Handle(pattern, s.observed(s.serve(pattern, h)))
	}
	if s.cfg.Metrics != nil { // past all gates: it tells how they are
		mux.Handle("GET /metrics", s.observed(s.serve("GET /metrics", s.metrics)))
	}
	for pattern, h := range s.open() {
		mux.HandleFunc(pattern, h)
	}
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forbid(w, "a page of "+r.Header.Get("Origin")+" may not write here")
	}))
	return identified(s.local(guard.Handler(dryByPath(s.known(mux)))))
}

// local keeps web pages out of a node without a token. Loopback alone does not:
// a browser on the same machine reaches it, under any name that resolves to it.
func (s *Server) local(h http.Handler) http.Handler {
	if !s.openToAll() || s.cfg.AnyHost {
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

// known answers with a problem document what mux has no handler for: a path
// that is not there, or a method that the path does not take.
func (s *Server) known(mux *http.ServeMux) http.Handler {
	unknown := s.observed(refuse(mux))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		unknown.ServeHTTP(w, r)
	})
}

// refuse says why mux has no handler for a request.
func refuse(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := refusal{header: http.Header{}}
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

// refusal takes in what the mux says to a request that it has no handler for.
type refusal struct{ header http.Header }

func (r *refusal) Header() http.Header { return r.header }

func (r *refusal) Write(b []byte) (int, error) { return len(b), nil }

func (r *refusal) WriteHeader(int) {}

// A handler answers a request, or returns the error to answer with.
type handler func(w http.ResponseWriter, r *http.Request) error

// serve is what every call has in common: who asks and whether they may, the size
// of the body, the error as a problem document.
func (s *Server) serve(pattern string, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := s.authenticate(r)
		if err == nil {
			err = s.spending.request(who.id, who.Limits)
		}
		if err == nil {
			err = who.may(pattern, r.PathValue("id"))
		}
		if err != nil {
			retryAfter(w, err)
			s.noteAccess(r, who, writeProblem(w, err).Code)
			return
		}
		r = r.WithContext(withCaller(r.Context(), who))
		r.Body = http.MaxBytesReader(unwrapped(w), r.Body, who.body(s.cfg.MaxBody))
		r, cancel := bounded(r)
		defer cancel()
		if err = h(w, r); err == nil {
			s.noteAccess(r, who, "")
			return
		}
		if errors.Is(err, errBroken) {
			s.noteAccess(r, who, "broken")
			panic(http.ErrAbortHandler) // the caller must see that the answer is not whole
		}
		retryAfter(w, err)
		d := writeProblem(w, err)
		s.noteAccess(r, who, d.Code)
		if d.Status >= 500 && r.Context().Err() == nil {
			s.cfg.Logger.Warn("request failed", append(told(r), "status", d.Status, "code", d.Code, "err", err)...)
		}
	})
}

// errBroken is a failure after the answer has begun.
var errBroken = errors.New("the answer broke off")
