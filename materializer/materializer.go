package materializer

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/spans"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/stream"
)

// Config configures a Materializer.
type Config struct {
	Log       *stream.Log
	Sessions  *engine.Sessions // of Log
	Cache     *Cache
	Snapshots *Snapshots
	Directory Directory
	Guard     *Guard // of Log; default a new one
	Policy    Policy
	// Node is this node's name among those that Members returns.
	Node string
	// Members returns the nodes whose materializers run, including this one. It is
	// called every membersEvery. If it is nil, this node owns all shards.
	Members func(context.Context) ([]string, error)
	// Spread is the longest random delay of a checkpoint while the other nodes are
	// unknown, so that of several nodes that see the same session one is first and
	// the others find the work done. 0 if there is one node.
	Spread time.Duration
	// Garbage is how many bytes of garbage a shard may hold in addition to as many
	// bytes as are live. With more, it is truncated. 0 for defaultGarbage, negative
	// for never.
	Garbage int64
	// Grace is how long a superseded snapshot is kept. 0 for defaultGrace, negative
	// for ever.
	Grace time.Duration
	// Checkpointed is called after each attempt of a checkpoint. It must not block.
	// Optional.
	Checkpointed func(took time.Duration, err error)
	// Changed is called for each new row of a session, with the row before it, which
	// is zero but for its id if there was none. The shard waits for it. After an error,
	// the row is reported again before it is stored. Optional.
	Changed func(ctx context.Context, before, now *catalog.Row) error
	Tracer  trace.Tracer // traces records and snapshots; default none
	Logger  *slog.Logger // default slog.Default()
}

// A Materializer keeps the rows and the snapshots of a log up to date.
type Materializer struct {
	cfg   Config
	tasks sync.WaitGroup

	mu         sync.Mutex
	seen       map[int]Floor    // by shard: up to which record it is processed
	past       map[int]core.Pos // by shard: up to which message it is read, record or not
	suspect    map[int]core.Pos // by shard that lost records: up to where memory cannot be trusted
	work       map[core.SessionID]*pendingWork
	due        *dueSessions
	rebuilds   map[int]chan struct{} // by shard whose rebuild was requested; closed when it begins
	rowPending map[*pendingWork]bool // work whose row is pending
	pendingIn  map[int]int           // by shard: how many of them there are

	deferred map[core.SessionID]deferred // deferred until the object store answers

	moved chan struct{} // closed when seen or past moves; nil if there is no waiter

	owned        atomic.Pointer[[]bool] // by shard: this node owns it
	membersKnown atomic.Bool
	truncators   []*truncator    // by shard
	wake         []chan struct{} // by shard: tells its follower to look at rebuilds

	writing chan struct{} // a slot for each snapshot in progress: it takes twice the session's size
}

// New returns a Materializer. It does nothing until Run.
func New(cfg Config) *Materializer {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Checkpointed == nil {
		cfg.Checkpointed = func(time.Duration, error) {}
	}
	cfg.Tracer = spans.Or(cfg.Tracer)
	cfg.Policy = cfg.Policy.withDefaults()
	cfg.Garbage = cmp.Or(cfg.Garbage, defaultGarbage)
	cfg.Grace = cmp.Or(cfg.Grace, defaultGrace)
	if cfg.Guard == nil {
		cfg.Guard = NewGuard(cfg.Log, cfg.Snapshots, cfg.Logger)
	}
	rows := RowReader(cfg.Directory)
	cfg.Guard.directory.Store(&rows)
	m := &Materializer{
		cfg:        cfg,
		seen:       map[int]Floor{},
		past:       map[int]core.Pos{},
		suspect:    map[int]core.Pos{},
		work:       map[core.SessionID]*pendingWork{},
		due:        newDueSessions(),
		rowPending: map[*pendingWork]bool{},
		pendingIn:  map[int]int{},
		rebuilds:   map[int]chan struct{}{},

		deferred: map[core.SessionID]deferred{},

		writing: make(chan struct{}, maxWriting),
	}
	for shard := range cfg.Log.Shards() {
		m.seen[shard] = cfg.Directory.Floor(shard)
		m.truncators = append(m.truncators, newTruncator(shard))
		m.wake = append(m.wake, make(chan struct{}, 1))
	}
	m.ownAll(context.Background(), cfg.Members == nil)
	// Sessions that the last run left without a snapshot get one when idle.
	for _, id := range cfg.Directory.Behind() {
		m.work[id] = &pendingWork{shard: cfg.Log.Shard(id), since: time.Now(), changed: time.Now()}
	}
	return m
}

// Guard returns what knows of losses.
func (m *Materializer) Guard() *Guard { return m.cfg.Guard }

// Run works until ctx ends. When it returns, all its goroutines have ended. The
// error is never nil.
func (m *Materializer) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for shard := range m.cfg.Log.Shards() {
		g.Go(func() error { return m.follow(ctx, shard) })
		g.Go(func() error { return m.truncate(ctx, m.truncators[shard]) })
	}
	g.Go(func() error { return m.share(ctx) })
	g.Go(func() error { return m.collect(ctx) })
	g.Go(func() error { return m.guard(ctx) })
	g.Go(func() error { return m.sweep(ctx) })
	g.Go(func() error { return m.rows(ctx) })
	for range maxWriting {
		g.Go(func() error { return m.write(ctx) })
	}
	g.Go(func() error { return m.retryDeferred(ctx) })
	g.Go(func() error { return m.cfg.Directory.Run(ctx) })
	err := g.Wait()
	m.tasks.Wait()
	return err
}
