package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/api/access/tokenstore"
	"github.com/sesslog/sesslog/api/durablestreams"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/usage"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/doctor"
	"github.com/sesslog/sesslog/materializer/gc"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/materializer/removal"
	"github.com/sesslog/sesslog/stream"
)

// Config configures a Server.
type Config struct {
	// The parts of the node that the server calls. All are required unless they
	// say otherwise.
	Log          *stream.Log
	Sessions     *engine.Sessions
	Cache        *materializer.Cache
	Materializer *materializer.Materializer
	Directory    *index.Index
	Snapshots    *materializer.Snapshots
	Blobs        *blobstore.Blobs
	Doctor       *doctor.Doctor   // only for /v1/doctor
	Collector    *gc.Collector    // nil if the node collects no blobs
	Presence     *stream.Presence // nil if the node keeps no presence
	Remover      *removal.Remover // nil if the node erases and redacts nothing
	Audit        *stream.Audit    // nil if the node keeps no audit records; it then erases, redacts and holds nothing

	// Token has scope admin for all sessions. If it is empty and Closed is false,
	// the node requires no token and every caller may do everything.
	Token  string
	Closed bool
	Tokens *tokenstore.Store // the tokens of the log; nil if the node has none
	// AnyHost lets a node that requires no token answer under any host name. The
	// default is localhost only.
	AnyHost bool
	// NeedCertificate rejects callers without a certificate that the listener
	// verified. Subjects give rights to certificates, so that they need no token.
	NeedCertificate bool
	Subjects        []Subject

	// Prices estimate the cost of models whose agent writes none; default those
	// that the program lists.
	Prices usage.Prices

	// What the node says about itself in status.
	Node    string // its name
	Version string // of the program
	BlobsAt string // where blobs are kept

	// Ready returns why the node cannot serve now, or nil. Store returns why blobs
	// and snapshots are unreachable, or nil; StoreSeen returns the last known result
	// of Store without waiting. All are optional.
	Ready     func(context.Context) error
	Store     func(context.Context) error
	StoreSeen func() error

	// Memory is what callers can have the node hold, with the sessions of Cache;
	// default 1 GiB.
	Memory *memory.Budget
	// MaxBody and MaxLine bound a request's body and one line of it, in bytes;
	// default 256 MiB and 64 MiB.
	MaxBody int64
	MaxLine int

	// StreamPoll is how long a long-poll of the durable-streams protocol waits; 0 if the
	// node does not serve that protocol.
	StreamPoll time.Duration
	// StreamWebhooks are those that its subscriptions may have, StreamSecret what the key of
	// their signatures is made of; see durablestreams.Config.
	StreamWebhooks durablestreams.Webhooks
	StreamSecret   []byte

	// Page returns the handler of the web page, which answers requests that are not
	// calls. api is the handler of the calls; nil for no page.
	Page func(api http.Handler) http.Handler

	// Metrics answers GET /metrics for callers with scope read; nil for none.
	Metrics http.Handler
	// Observe is called after each request. It must not block. Optional.
	Observe func(Answered)
	// Tracer makes a span of each request except those of followers. Optional.
	Tracer trace.Tracer
	Access bool         // log each request: caller, call and outcome
	Logger *slog.Logger // default slog.Default()
}

// A Server serves one log over HTTP.
type Server struct {
	cfg     Config
	started time.Time
	drain   context.Context // canceled when the server begins to stop
	stop    context.CancelFunc
	inproc  *pipeListener

	routes    []*route
	byPattern map[string]*route

	limiters limiters
	folds    *folds
	paths    *paths
	bodies   *sharedBodies
	parts    *sentParts
	usage    *tokenUsage
	restores *restoreRuns
	streams  *durablestreams.Handler // nil if the node does not serve the protocol
}

// New returns a Server. Call Run to listen, or use Handler.
func New(cfg Config) *Server {
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 256 << 20
	}
	if cfg.MaxLine == 0 {
		cfg.MaxLine = 64 << 20
	}
	if cfg.Prices.Models == nil {
		cfg.Prices = usage.Listed()
	}
	if cfg.Memory == nil {
		cfg.Memory = memory.NewBudget("memory", 1<<30)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Server{cfg: cfg, started: time.Now(), inproc: newPipeListener(), limiters: newLimiters(cfg.Memory), usage: newTokenUsage(), parts: &sentParts{}, folds: &folds{byID: map[core.SessionID]*foldOf{}}, paths: &paths{}}
	s.byPattern = map[string]*route{}
	for _, rt := range routes() {
		s.routes = append(s.routes, &rt)
		s.byPattern[rt.pattern] = &rt
	}
	s.bodies = newSharedBodies(s.limiters.sent)
	s.restores = &restoreRuns{server: s, pause: restorePause, running: map[string]*restoreRun{}}
	s.drain, s.stop = context.WithCancel(context.Background())
	s.streams = s.newStreams()
	return s
}

// drainTimeout is how long requests may take to finish after the server stops.
const drainTimeout = 10 * time.Second

// Run serves ln, and the clients of InProcessClient, until ctx ends. Then it lets
// requests finish and closes ln. The error is never nil. A Server runs once.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
		IdleTimeout:       2 * time.Minute,
		ConnContext:       withInproc,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	if s.streams != nil {
		var wakes sync.WaitGroup
		wakes.Go(func() { s.streams.Run(s.drain) })
		defer func() { s.stop(); wakes.Wait() }()
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	go func() { _ = srv.Serve(s.inproc) }() // it ends with srv
	defer s.inproc.Close()
	select {
	case err := <-failed:
		return fmt.Errorf("http server on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	s.stop() // followers end now, other requests have drainTimeout
	defer s.restores.end()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := srv.Shutdown(last); err != nil {
		_ = srv.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http server on %s: %w", ln.Addr(), err)
	}
	return ctx.Err()
}
