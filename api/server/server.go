package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/doctor"
	"github.com/sesslog/sesslog/materializer/gc"
	"github.com/sesslog/sesslog/materializer/removal"
	"github.com/sesslog/sesslog/stream"
)

// Config is what a Server needs to know.
type Config struct {
	Log          *stream.Log
	Sessions     *engine.Sessions
	Cache        *materializer.Cache
	Materializer *materializer.Materializer
	Directory    Directory
	Snapshots    *materializer.Snapshots
	Blobs        *blobstore.Blobs
	Collector    *gc.Collector    // nil where blobs are not collected
	Presence     *stream.Presence // nil where the node keeps none
	Remover      *removal.Remover // nil where the node erases and redacts nothing
	Audit        *stream.Audit    // nil where the node keeps none: then nothing is erased, redacted or held

	Doctor *doctor.Doctor // looks at everything; required for what asks it to

	// Token is one that may do everything. Where it is empty and Closed is false,
	// nobody is asked for a token, and everybody may do everything.
	Token  string
	Closed bool
	// AnyHost has a node that asks nobody for a token answer under any name, not
	// to localhost alone.
	AnyHost bool
	Tokens  *access.TokenStore // the log's tokens; nil where the node knows none
	// NeedCertificate refuses whoever shows no certificate that the listener has
	// verified. Subjects are whose certificate stands for a token.
	NeedCertificate bool
	Subjects        []Subject

	Node    string // this node's name
	Version string // of the program
	BlobsAt string // where blobs are kept, for status
	// Ready says why the node cannot serve now, or nil.
	Ready func(context.Context) error
	// Store says why blobs and snapshots cannot be reached now, or nil. Optional.
	Store func(context.Context) error
	// StoreSeen is Store as of a moment ago, for who cannot wait. Optional.
	StoreSeen func() error
	// Metrics answers GET /metrics, for who may read; nil for none. Observe is told of
	// each request that was answered; it must not block. Optional.
	Metrics http.Handler
	Observe func(Seen)
	// Tracer makes a span of each request but those of followers; default none.
	Tracer trace.Tracer
	// MaxBody and MaxLine bound a request's body and one line of it, in bytes;
	// default 256 MiB and 64 MiB.
	MaxBody int64
	MaxLine int
	// Access has every request logged: who asked for what, and how it went.
	Access bool
	Logger *slog.Logger // default slog.Default()
}

// A Server answers HTTP for one log.
type Server struct {
	cfg     Config
	started time.Time
	drain   context.Context // ends when the server is about to
	stop    context.CancelFunc
	inner   *innerListener

	gates    gates
	bodies   *bodies
	spending *spending
	restores *restores
}

// New returns a Server. It listens nowhere until Run.
func New(cfg Config) *Server {
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 256 << 20
	}
	if cfg.MaxLine == 0 {
		cfg.MaxLine = 64 << 20
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Server{cfg: cfg, started: time.Now(), inner: newInnerListener(), gates: newGates(cfg.MaxBody), spending: newSpending()}
	s.bodies = newBodies(s.gates.large)
	s.restores = &restores{server: s, pause: restorePause, running: map[string]*restoring{}}
	s.drain, s.stop = context.WithCancel(context.Background())
	return s
}

// drainTime is how long requests may take to finish once the server stops.
const drainTime = 10 * time.Second

// Run answers on ln, and to the clients that Inside returned, until ctx ends, then
// lets requests finish. It closes ln. The error is never nil. A Server runs once.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
		IdleTimeout:       2 * time.Minute,
		ConnContext:       withInside,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	go func() { _ = srv.Serve(s.inner) }() // it ends with srv
	defer s.inner.Close()
	select {
	case err := <-failed:
		return fmt.Errorf("http server on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	s.stop() // followers end now, the others have drainTime
	defer s.restores.end()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := srv.Shutdown(last); err != nil {
		_ = srv.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http server on %s: %w", ln.Addr(), err)
	}
	return ctx.Err()
}

// routes are the calls, each described in openapi.json. What each asks of its
// caller is in the table of rights.go.
func (s *Server) routes() map[string]handler {
	return map[string]handler{
		"GET /v1/status":                             s.status,
		"GET /v1/presence":                           s.presence,
		"PUT /v1/presence/{id}":                      s.beat,
		"DELETE /v1/presence/{id}":                   s.leave,
		"GET /v1/sessions/{id}/heads":                s.heads,
		"GET /v1/sessions":                           s.list,
		"POST /v1/sessions":                          s.create,
		"POST /v1/import":                            s.importFile,
		"GET /v1/sessions/{id}/state":                s.state,
		"GET /v1/sessions/{id}/digest":               s.digest,
		"GET /v1/sessions/{id}/children":             s.children,
		"POST /v1/sessions/{id}/branch":              s.branch,
		"PATCH /v1/sessions/{id}/entries/{entry}":    s.amend,
		"PUT /v1/sessions/{id}/entries/{entry}/meta": s.meta,
		"POST /v1/sessions/{id}/reactions":           s.react,
		"GET /v1/sessions/{id}":                      s.info,
		"GET /v1/sessions/{id}/tree":                 one(s.gates.heavy, s.tree),
		"GET /v1/sessions/{id}/context":              one(s.gates.heavy, s.context),
		"GET /v1/sessions/{id}/entries":              s.entries,
		"GET /v1/sessions/{id}/export":               s.export,
		"GET /v1/sessions/{id}/file":                 s.file,
		"GET /v1/sessions/{id}/snapshot":             s.snapshot,
		"GET /v1/sessions/{id}/events":               one(s.gates.followers, s.events),
		"GET /v1/events":                             one(s.gates.feeds, s.feed),
		"GET /v1/verify":                             one(s.gates.heavy, s.verifyLog),
		"GET /v1/doctor":                             one(s.gates.heavy, s.examine),
		"POST /v1/doctor":                            s.recorded(one(s.gates.heavy, s.treat)),
		"GET /v1/sessions/{id}/verify":               one(s.gates.heavy, s.verify),
		"POST /v1/sessions/{id}/repair":              s.recorded(one(s.gates.heavy, s.repair)),
		"POST /v1/sessions/{id}/entries":             s.append,
		"POST /v1/sessions/{id}/labels":              s.label,
		"POST /v1/sessions/{id}/name":                s.name,
		"PUT /v1/sessions/{id}/heads/{head}":         s.move,
		"POST /v1/sessions/{id}/claims":              s.claim,
		"DELETE /v1/sessions/{id}/claims/{name}":     s.release,
		"POST /v1/sessions/{id}/fork":                one(s.gates.heavy, s.fork),
		"POST /v1/sessions/{id}/merge":               one(s.gates.heavy, s.merge),
		"GET /v1/lineage":                            s.lineage,
		"POST /v1/sessions/{id}/delete":              s.delete,
		"POST /v1/sessions/{id}/undelete":            s.undelete,
		"POST /v1/retention/plan":                    one(s.gates.heavy, s.plan),
		"POST /v1/retention/apply":                   one(s.gates.heavy, s.apply),
		"GET /v1/holds":                              s.holds,
		"POST /v1/sessions/{id}/hold":                s.hold,
		"POST /v1/sessions/{id}/unhold":              s.unhold,
		"GET /v1/sessions/{id}/erase":                one(s.gates.heavy, s.erasable),
		"POST /v1/sessions/{id}/erase":               one(s.gates.heavy, s.erase),
		"POST /v1/sessions/{id}/redact":              one(s.gates.heavy, s.redact),
		"POST /v1/sessions/{id}/close":               s.finish,
		"POST /v1/sessions/{id}/checkpoint":          s.checkpoint,
		"GET /v1/audit":                              s.audit,
		"GET /v1/rebuild":                            s.rebuild,
		"POST /v1/rebuild":                           s.recorded(one(s.gates.heavy, s.rebuild)),
		"GET /v1/prompts":                            s.prompts,
		"GET /v1/search":                             s.search,
		"GET /v1/sessions/changes":                   one(s.gates.followers, s.changes),
		"GET /v1/blobs":                              s.blobs,
		"GET /v1/blobs/{digest}":                     s.blob,
		"PUT /v1/blobs/{digest}":                     s.putBlob,
		"GET /v1/blobs/{digest}/info":                one(s.gates.heavy, s.blobInfo),
		"GET /v1/blobs/{digest}/verify":              s.verifyBlob,
		"POST /v1/blobs/{digest}/repair":             s.recorded(s.repairBlob),
		"POST /v1/blobs/gc":                          one(s.gates.heavy, s.collect),
		"GET /v1/ends/{shard}":                       one(s.gates.heavy, s.ends),
		"GET /v1/sessions/{id}/records":              s.records,
		"GET /v1/sessions/{id}/snapshots/{name}":     s.object,
		"PUT /v1/sessions/{id}/snapshots/{name}":     s.restores.part("snapshot", "snapshots", one(s.gates.heavy, s.restoreSnapshot)),
		"POST /v1/sessions/{id}/restore/plan":        one(s.gates.heavy, s.planRestore),
		"POST /v1/sessions/{id}/restore":             s.restores.part("session", "sessions", one(s.gates.heavy, s.restore)),
		"POST /v1/restore/blobs":                     s.wantBlobs,
		"PUT /v1/restore/blobs/{digest}":             s.restores.part("blob", "blobs", s.restoreBlob),
		"GET /v1/tokens":                             s.tokens,
		"POST /v1/tokens":                            s.createToken,
		"POST /v1/tokens/{token}/rotate":             s.rotateToken,
		"DELETE /v1/tokens/{token}":                  s.revokeToken,
		"GET /v1/whoami":                             s.whoami,
	}
}

// open is what anybody may ask, without a token.
func (s *Server) open() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /healthz":      s.healthz,
		"GET /readyz":       s.readyz,
		"GET /openapi.json": s.description,
	}
}

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

func (r *refusal) Header() http.Header         { return r.header }
func (r *refusal) Write(b []byte) (int, error) { return len(b), nil }
func (r *refusal) WriteHeader(int)             {}

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

// openWait is how long a request waits for its session: longer than a cluster
// takes to elect a leader.
const openWait = 15 * time.Second

// missing says of a session that is not there what the caller asked for.
func (s *Server) missing(id core.SessionID, err error) error {
	if errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrCorrupt) {
		return fmt.Errorf("no session %s in log %s: %w", id, s.cfg.Log.Name(), core.ErrNotFound)
	}
	return err
}

// readJSON reads the request's body into v. Members that v does not have are an
// error: a misspelt one would be ignored.
func readJSON(r *http.Request, v any) error {
	d := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err == io.EOF {
		return fmt.Errorf("the body is empty; %s %s asks for a JSON object, {} at least: %w", r.Method, r.URL.Path, core.ErrInvalid)
	} else if err != nil {
		return fmt.Errorf("the body is not the JSON that %s %s asks for: %v: %w", r.Method, r.URL.Path, err, core.ErrInvalid)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("the body goes on behind the JSON object that %s %s asks for: %w", r.Method, r.URL.Path, core.ErrInvalid)
	}
	return nil
}

// answer writes v as JSON.
func answer(w http.ResponseWriter, status int, v any) error {
	b, err := marshal(v)
	if err != nil {
		return err
	}
	return answerRaw(w, status, b)
}

// marshal is json.Marshal that leaves <, > and & as they are: agents' lines are
// shown as they were written.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// answerRaw writes JSON that is made already.
func answerRaw(w http.ResponseWriter, status int, b []byte) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a caller that has gone is no error of ours
	return nil
}
