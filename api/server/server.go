package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/api/access/tokenstore"
	"github.com/sesslog/sesslog/blobstore"
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
	Tokens  *tokenstore.Store // the log's tokens; nil where the node knows none
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
	Observe func(Answered)
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
	inproc  *pipeListener

	routes    []*route
	byPattern map[string]*route

	limiters limiters
	bodies   *sharedBodies
	usage    *tokenUsage
	restores *restoreRuns
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
	s := &Server{cfg: cfg, started: time.Now(), inproc: newPipeListener(), limiters: newLimiters(cfg.MaxBody), usage: newTokenUsage()}
	s.byPattern = map[string]*route{}
	for _, rt := range routes() {
		s.routes = append(s.routes, &rt)
		s.byPattern[rt.pattern] = &rt
	}
	s.bodies = newSharedBodies(s.limiters.large)
	s.restores = &restoreRuns{server: s, pause: restorePause, running: map[string]*restoreRun{}}
	s.drain, s.stop = context.WithCancel(context.Background())
	return s
}

// drainTimeout is how long requests may take to finish once the server stops.
const drainTimeout = 10 * time.Second

// Run answers on ln, and to the clients that Inside returned, until ctx ends, then
// lets requests finish. It closes ln. The error is never nil. A Server runs once.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
		IdleTimeout:       2 * time.Minute,
		ConnContext:       withInproc,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
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
	s.stop() // followers end now, the others have drainTimeout
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
