package durablestreams

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
)

// Config is what the protocol needs of the server that it is part of.
type Config struct {
	Sessions *engine.Sessions
	// Open returns a session in the state of the log's leader, Cached one that may lag.
	// Both return api.ErrForbidden unless the caller of ctx may use it.
	Open, Cached func(ctx context.Context, id core.SessionID) (*engine.Session, error)
	// Keep keeps a session that was created.
	Keep func(*engine.Session)
	// MayUse returns api.ErrForbidden unless the caller of ctx may use the session.
	MayUse func(ctx context.Context, id core.SessionID) error
	// Delete moves a session to the trash.
	Delete func(ctx context.Context, s *engine.Session, n core.Notice) error
	// Body reads the body of a request. The caller calls release when it no longer uses it.
	Body func(r *http.Request) (body []byte, release func(), err error)
	// Follow yields the records of a session after a position as they are stored.
	Follow func(ctx context.Context, id core.SessionID, after core.Pos) iter.Seq2[*storage.Lazy, error]

	Rows     Rows     // for subscriptions
	Webhooks Webhooks // that these may have
	// Secret is what the key of the webhooks' signatures is made of, equal on all nodes.
	// Without one, it is random.
	Secret []byte
	Logger *slog.Logger

	Sent    *memory.Budget // bodies on their way to readers
	Memory  *memory.Budget // what is derived of streams
	MaxLine int            // bytes of an entry's line
	Poll    time.Duration  // how long a long-poll waits
	// CORS lets pages of other origins read. Only safe if callers show a token.
	CORS bool
	// Stopping ends when the server begins to stop.
	Stopping context.Context
}

// A Handler serves the protocol. Its methods are safe for concurrent use.
type Handler struct {
	cfg        Config
	now        func() time.Time
	key        *signingKey
	webhooks   *http.Client
	delivering chan struct{} // has a member per webhook that is called
	working    chan struct{} // and per call of a worker
	nudged     chan struct{}

	mu          sync.Mutex
	streams     map[core.SessionID]*stream
	derived     *memory.Lease // of their size
	size        int64         // of streams
	queues      map[core.SessionID]*queue
	generations map[string]int // the last one known of a path
	touches     map[core.SessionID]*touch
	due         map[core.SessionID]bool   // subscriptions that the waker advances
	grown       map[core.SessionID]string // streams that it looks at, by their path
	subscribed  bool                      // there are subscriptions
}

// New returns a Handler.
func New(cfg Config) *Handler {
	return &Handler{
		cfg: cfg, now: time.Now,
		key: newSigningKey(cfg.Secret), webhooks: newWebhookClient(cfg.Webhooks),
		delivering: make(chan struct{}, maxDeliveries), working: make(chan struct{}, maxWorkers), nudged: make(chan struct{}, 1), due: map[core.SessionID]bool{}, grown: map[core.SessionID]string{},
		streams: map[core.SessionID]*stream{}, derived: cfg.Memory.Lease(), queues: map[core.SessionID]*queue{},
		generations: map[string]int{}, touches: map[core.SessionID]*touch{},
	}
}

// IsLive reports whether a request waits for what will be appended.
func IsLive(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Get("live") != ""
}

// Serve answers a request for the stream called path. It returns errors that the protocol
// does not define, before anything was written.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, path string) error {
	h.setCommon(w)
	return answered(w, h.serve(w, r, path))
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, path string) error {
	if isReserved(path) {
		return asControl(h.control(w, r, path))
	}
	if err := checkPath(path); err != nil {
		return err
	}
	switch r.Method {
	case http.MethodPut:
		return h.create(w, r, path)
	case http.MethodPost:
		return h.append(w, r, path)
	case http.MethodDelete:
		return h.delete(w, r, path)
	case http.MethodHead:
		return h.head(w, r, path)
	}
	return h.read(w, r, path)
}

// Preflight answers the request that a browser sends before one of another origin. Without
// Config.CORS the browser then refuses to send that.
func (h *Handler) Preflight(w http.ResponseWriter, _ *http.Request) {
	h.setCommon(w)
	w.Header().Set("Access-Control-Allow-Methods", "GET, HEAD, PUT, POST, DELETE")
	w.Header().Set("Access-Control-Allow-Headers", strings.Join([]string{
		"Authorization", "Content-Type", "If-None-Match", headerSeq, headerTTL, headerExpires, headerClosed,
		headerProducer, headerProducerEpoch, headerProducerSeq, headerForkedFrom, headerForkOffset, headerForkSub,
	}, ", "))
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

func (h *Handler) setCommon(w http.ResponseWriter) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	// A stream has the content type that its writer chose, on the origin of the page.
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	if h.cfg.CORS {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", strings.Join([]string{
			"ETag", "Location", headerNext, headerUpToDate, headerClosed, headerCursor, headerTTL, headerExpires, headerEncoding,
			headerProducerEpoch, headerProducerSeq, headerExpectedSeq, headerReceivedSeq, headerStream,
		}, ", "))
	}
}

// urlOf returns the URL of a stream as the caller of r can reach it.
func urlOf(r *http.Request, path string) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return (&url.URL{Scheme: scheme, Host: r.Host, Path: Prefix + path}).String()
}

// isMissing reports whether a session does not exist, or was erased.
func isMissing(err error) bool {
	return errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrCorrupt)
}
