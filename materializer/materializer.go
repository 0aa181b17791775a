package materializer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/spans"
	"github.com/sesslog/sesslog/stream"
)

// Config is what a Materializer needs to know.
type Config struct {
	Log       *stream.Log
	Sessions  *engine.Sessions // of Log
	Cache     *Cache
	Snapshots *Snapshots
	Directory Directory
	Policy    Policy
	// Node is this node's name among those that Crew tells.
	Node string
	// Crew returns the nodes whose materializers are at work, this one among them.
	// It is asked every CrewEvery. Optional: without it, this node does all.
	Crew func(context.Context) ([]string, error)
	// Spread is how long a checkpoint may be put off at random while nobody knows
	// who else is at work, so that of several nodes that see the same session one
	// is first and the others find the work done. 0 where there is one node.
	Spread time.Duration
	// Garbage is how many bytes of a shard that nobody needs are left there,
	// besides as many as are needed; where there are more, the shard is truncated.
	// 0 for DefaultGarbage, less than 0 for never.
	Garbage int64
	// Grace is how long a snapshot stays when a later one took its place. 0 for
	// DefaultGrace, less than 0 for ever.
	Grace time.Duration
	// Checkpointed is told of each checkpoint that was tried, and how long that
	// took. It must not block. Optional.
	Checkpointed func(took time.Duration, err error)
	Tracer       trace.Tracer // makes spans of records taken in and of snapshots; default none
	Logger       *slog.Logger // default slog.Default()
}

// A Materializer keeps the rows and the snapshots of a log up to date.
type Materializer struct {
	cfg   Config
	tasks sync.WaitGroup

	mu    sync.Mutex
	seen  map[int]Floor    // by shard: up to where records are taken in
	past  map[int]core.Pos // by shard: up to where messages were met, records or not
	doubt map[int]core.Pos // by shard that lost records: up to where it is read anew
	tails map[core.SessionID]*tail
	due   *dueSessions
	asked map[int]chan struct{} // by shard that is to be read anew; closed when that begins
	late  map[*tail]bool        // those whose row is late

	absent map[core.SessionID]absent // that were passed by

	grew chan struct{} // closed and replaced when seen moves

	mine       atomic.Pointer[[]bool] // by shard: this node looks after it
	crewKnown  atomic.Bool
	truncators []*truncator    // by shard
	again      []chan struct{} // by shard: tells who follows it to look at asked

	writing chan struct{} // a place for each snapshot being made: it is the whole session, twice
}

// maxWriting bounds the snapshots that are made at once.
const maxWriting = 4

// A tail is a session with something left to do for it.
type tail struct {
	shard   int
	trace   string    // of the last record taken in that somebody keeps the trace of
	since   time.Time // its first record that no snapshot of this node covers, about
	changed time.Time
	rowDue  time.Time // before then its row costs too much to make again
	late    core.Pos  // of the first record that is not in its row; 0 for none
	last    core.Pos  // of the last record taken in
	busy    bool      // a checkpoint is due, or on its way
	retry   time.Time // a checkpoint failed; not again before then
}

// retryAfter is how long a checkpoint that failed is left alone.
const retryAfter = 20 * time.Second

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
	cfg.Garbage = cmp.Or(cfg.Garbage, DefaultGarbage)
	cfg.Grace = cmp.Or(cfg.Grace, DefaultGrace)
	m := &Materializer{
		cfg:   cfg,
		seen:  map[int]Floor{},
		past:  map[int]core.Pos{},
		doubt: map[int]core.Pos{},
		tails: map[core.SessionID]*tail{},
		due:   newDueSessions(),
		late:  map[*tail]bool{},
		asked: map[int]chan struct{}{},

		absent: map[core.SessionID]absent{},

		grew: make(chan struct{}),

		writing: make(chan struct{}, maxWriting),
	}
	for shard := range cfg.Log.Shards() {
		m.seen[shard] = cfg.Directory.Floor(shard)
		m.truncators = append(m.truncators, newTruncator(shard))
		m.again = append(m.again, make(chan struct{}, 1))
	}
	m.assume(cfg.Crew == nil)
	// What the last run left without a snapshot gets one when it stays idle.
	for _, id := range cfg.Directory.Behind() {
		m.tails[id] = &tail{shard: cfg.Log.Shard(id), since: time.Now(), changed: time.Now()}
	}
	return m
}

// Run works until ctx ends. When it returns, none of its goroutines is left and
// what is cheap to save is saved. The error is never nil.
func (m *Materializer) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for shard := range m.cfg.Log.Shards() {
		g.Go(func() error { return m.follow(ctx, shard) })
		g.Go(func() error { return m.truncate(ctx, m.truncators[shard]) })
	}
	g.Go(func() error { return m.share(ctx) })
	g.Go(func() error { return m.collect(ctx) })
	g.Go(func() error { return m.sweep(ctx) })
	for range maxWriting {
		g.Go(func() error { return m.write(ctx) })
	}
	g.Go(func() error { return m.comeBack(ctx) })
	g.Go(func() error { return m.cfg.Directory.Run(ctx) })
	err := g.Wait()
	m.tasks.Wait()
	return err
}

// follow takes in a shard's records, and starts over where it was when the
// stream breaks.
func (m *Materializer) follow(ctx context.Context, shard int) error {
	for {
		err := m.followOnce(ctx, shard)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m.restart(shard)
		if errors.Is(err, errRebuild) {
			continue
		}
		m.cfg.Logger.Warn("shard cannot be followed; trying again", "shard", shard, "err", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *Materializer) followOnce(ctx context.Context, shard int) error {
	if err := m.check(ctx, shard); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m.tasks.Go(func() { m.watchLoss(ctx, cancel, shard) })
	for ch, err := range m.cfg.Log.Watch(ctx, shard, m.Seen(shard)) {
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		if ch.Session != "" {
			if err := m.takeTraced(ctx, shard, ch); err != nil {
				return err
			}
			m.advance(shard, Floor{ch.Pos, ch.Chain})
		}
		m.pass(shard, ch.Pos)
	}
	return nil
}

// take brings a changed session up to date. A session that cannot be read is
// named and passed over: one bad session never stops a node.
func (m *Materializer) take(ctx context.Context, shard int, ch stream.Change) error {
	if m.cfg.Directory.Seq(ch.Session) >= ch.Seq {
		return nil
	}
	if m.isAbsent(ch.Session) {
		m.passBy(shard, ch, nil)
		return nil
	}
	s, err := m.cfg.Cache.Get(ctx, ch.Session)
	if err == nil && (seqOf(s) < ch.Seq || m.isInDoubt(shard, ch.Pos)) {
		err = s.Refresh(ctx)
	}
	switch {
	case errors.Is(err, core.ErrDeleted), err == nil && isErased(s): // what is in the trash can be read
		m.bury(ch.Session, ch.Seq)
		return nil
	case err == nil:
		m.update(ctx, shard, s, ch.Pos)
		return nil
	case ctx.Err() == nil && storeAway(err):
		m.passBy(shard, ch, err)
		return nil
	case ctx.Err() != nil, errors.Is(err, core.ErrUnavailable):
		return err // the log, not the session
	case errors.Is(err, core.ErrDeleted): // it was erased
		return nil
	}
	m.unreadable(ch, err)
	return nil
}

func (m *Materializer) unreadable(ch stream.Change, err error) {
	m.cfg.Logger.Error("session cannot be read; look with: sessctl verify "+string(ch.Session),
		"session", ch.Session, "pos", ch.Pos, "err", err)
}

// update renews a session's row and has its snapshot written where that is due.
// Making the row of a long session takes a while, so it is made again only
// after twenty times as long.
func (m *Materializer) update(ctx context.Context, shard int, s *engine.Session, pos core.Pos) {
	now := time.Now()
	m.mu.Lock()
	t := m.tails[s.ID()]
	if t == nil {
		t = &tail{since: now}
		m.tails[s.ID()] = t
	}
	t.shard, t.changed, t.last = shard, now, pos
	if text := spans.Text(ctx); text != "" {
		t.trace = text
	}
	if t.late == 0 {
		t.late = pos
		m.late[t] = true
	}
	due := !now.Before(t.rowDue)
	m.mu.Unlock()
	if due {
		m.renew(s)
	}
	m.consider(ctx, s, 0)
}

// renew makes a session's row.
func (m *Materializer) renew(s *engine.Session) {
	start := time.Now()
	var at core.Pos
	var v View
	_ = s.View(func(st *core.State) error {
		v, at = ViewOf(st), st.Pos
		return nil
	})
	m.cfg.Directory.Put(v)
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tails[s.ID()]
	if t == nil {
		return
	}
	t.rowDue = time.Now().Add(20 * time.Since(start))
	if t.last > at { // more has come meanwhile
		t.late = at + 1
		return
	}
	t.late = 0
	delete(m.late, t)
}

// consider sees to it that a checkpoint is written where one is due and none is
// on its way.
func (m *Materializer) consider(ctx context.Context, s *engine.Session, idle time.Duration) {
	due := false
	_ = s.View(func(st *core.State) error {
		due = m.cfg.Policy.due(st, idle)
		return nil
	})
	due = due || s.Strays() > 0
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tails[s.ID()]
	if t == nil || t.busy || !due || !m.owns(t.shard) || time.Now().Before(t.retry) {
		return
	}
	t.busy = true
	m.enqueue(dueSession{s.ID(), idle, t.trace})
}

// checkpoint writes a session's snapshot and the record that names it, unless
// another node has done so meanwhile.
func (m *Materializer) checkpoint(ctx context.Context, id core.SessionID, idle time.Duration) error {
	s, err := m.cfg.Cache.Fresh(ctx, id)
	if err != nil {
		return err
	}
	due := false
	_ = s.View(func(st *core.State) error {
		due = m.cfg.Policy.due(st, idle)
		return nil
	})
	if s.Strays() > 0 {
		if err := s.Adopt(ctx); err != nil {
			return fmt.Errorf("lines of strays: %w", err)
		}
		due = true
	}
	if !due {
		return nil
	}
	_, err = m.Checkpoint(ctx, s)
	return err
}

// Checkpoint writes a snapshot of s as it is in memory and the record that
// names it, and returns the manifest. Where the latest checkpoint covers as
// much, nothing is stored; where its snapshot has the same bytes, the record
// names that.
func (m *Materializer) Checkpoint(ctx context.Context, s *engine.Session) (man *core.Manifest, err error) {
	for range checkpointTries {
		if man, err = m.checkpointOnce(ctx, s); !errors.Is(err, engine.ErrOvertaken) {
			return man, err
		}
	}
	return nil, fmt.Errorf("%w: %w", err, core.ErrUnavailable)
}

// checkpointTries is how often a snapshot is made that others overtake.
const checkpointTries = 5

func (m *Materializer) checkpointOnce(ctx context.Context, s *engine.Session) (_ *core.Manifest, err error) {
	began := time.Now()
	defer func() { m.cfg.Checkpointed(time.Since(began), err) }()
	ctx, span := m.cfg.Tracer.Start(ctx, "checkpoint", trace.WithAttributes(spans.Session(s.ID())))
	defer func() { spans.End(span, err) }()
	select {
	case m.writing <- struct{}{}:
		defer func() { <-m.writing }()
	case <-ctx.Done():
		return nil, fmt.Errorf("snapshot of session %s: %w: %w", s.ID(), ctx.Err(), core.ErrUnavailable)
	}
	d := s.Draft(func(seq uint64, sum core.Digest) string {
		return SnapshotKey(m.cfg.Log.Name(), s.ID(), seq, sum)
	})
	span.SetAttributes(attribute.String("sess.cursor", core.CursorOf(d.Manifest.Seq, d.Manifest.Chain).String()), attribute.Int("sess.bytes", len(d.Plain)))
	if err := m.keep(ctx, d); err != nil {
		return nil, fmt.Errorf("snapshot of session %s: %w", s.ID(), err)
	}
	if err := s.Checkpoint(ctx, d); err != nil {
		// Where the brokers flush late they may yet forget that it was erased.
		if errors.Is(err, core.ErrDeleted) && m.cfg.Sessions.FlushEvery() == 0 {
			m.withdraw(ctx, d)
		}
		return nil, fmt.Errorf("checkpoint of session %s: %w", s.ID(), err)
	}
	if m.isForbidden(s, d) {
		m.withdraw(ctx, d)
	}
	m.covered(s.ID(), began)
	return d.Manifest, nil
}

// covered notes that a snapshot has what a session's tail had at that time.
func (m *Materializer) covered(id core.SessionID, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tails[id]; t != nil {
		t.since, t.trace = at, ""
	}
}

// Waiting returns how many sessions of the shards that this node looks after have
// records that no snapshot covers and that a snapshot is to cover, and since when
// the oldest of those wait, by this node's clock; the zero time where none do.
func (m *Materializer) Waiting() (sessions int, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tails {
		if !m.owns(t.shard) {
			continue
		}
		sessions++
		if since.IsZero() || t.since.Before(since) {
			since = t.since
		}
	}
	return sessions, since
}

// isForbidden reports whether the snapshot that was made for d has lines that were
// redacted while it was made, and a later one took its place: then it goes at
// once. Any other whose checkpoint another node's came before goes with the old
// ones, for what that node's says may name it, and may yet be read; so does this one
// where the brokers flush late.
func (m *Materializer) isForbidden(s *engine.Session, d *engine.Draft) (forbidden bool) {
	own := SnapshotKey(m.cfg.Log.Name(), s.ID(), d.Manifest.Seq, d.Manifest.SHA256)
	if m.cfg.Sessions.FlushEvery() > 0 || d.Manifest.Object != own {
		return false
	}
	_ = s.View(func(st *core.State) error {
		isNamed := slices.Contains(st.Snapshot.Objects(), written(d.Manifest))
		forbidden = len(st.Redacted) > len(d.Manifest.Redacted) && !isNamed && st.Checkpointed > d.Manifest.Seq
		return nil
	})
	return forbidden
}

// written is the key of the object that was written for m, "" where none was.
func written(m *core.Manifest) string {
	if len(m.Parts) == 0 {
		return m.Object
	}
	return m.Parts[len(m.Parts)-1].Object
}

// withdraw removes a snapshot that no checkpoint names: what it holds may have
// been erased or redacted while it was made.
func (m *Materializer) withdraw(ctx context.Context, d *engine.Draft) {
	key := written(d.Manifest)
	if key == "" {
		return
	}
	if err := m.cfg.Snapshots.Remove(ctx, key); err != nil {
		m.cfg.Logger.Warn("snapshot that nobody needs is left behind", "object", key, "err", err)
	}
}

// Writing returns how many snapshots are being made, and how many can be at once.
func (m *Materializer) Writing() (now, limit int) { return len(m.writing), cap(m.writing) }

// sweep looks after sessions that fell idle, and after the room that all of them
// take, once a second.
func (m *Materializer) sweep(ctx context.Context) error {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			m.sweepOnce(ctx)
			m.cfg.Cache.shrink()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *Materializer) sweepOnce(ctx context.Context) {
	now := time.Now()
	for id, idle := range m.left(now) {
		if m.isAbsent(id) {
			continue
		}
		s, err := m.cfg.Cache.Get(ctx, id)
		if err != nil {
			m.putOff(id, err) // take has named it, or will
			continue
		}
		m.renew(s)
		m.consider(ctx, s, idle)
		m.forget(s)
	}
}

// putOff leaves a session that cannot be read alone for a while, and for good
// where it was erased.
func (m *Materializer) putOff(id core.SessionID, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tails[id]
	if t == nil {
		return
	}
	t.retry = time.Now().Add(retryAfter)
	if errors.Is(err, core.ErrDeleted) && !t.busy {
		delete(m.late, t)
		delete(m.tails, id)
	}
}

// left returns the sessions whose row is late, or that fell idle and are this
// node's to look after, and for how long each was left alone. Those of other
// nodes are forgotten; who takes a shard over finds them by their rows.
func (m *Materializer) left(now time.Time) map[core.SessionID]time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[core.SessionID]time.Duration{}
	for id, t := range m.tails {
		idle := now.Sub(t.changed)
		isIdle, isLate := idle >= m.cfg.Policy.Idle, t.late != 0 && !now.Before(t.rowDue)
		switch {
		case t.busy || now.Before(t.retry):
		case isLate, isIdle && m.owns(t.shard):
			out[id] = idle
		case isIdle && t.late == 0:
			delete(m.tails, id)
		}
	}
	return out
}

// forget drops a session for which nothing is left to do.
func (m *Materializer) forget(s *engine.Session) {
	left := true
	_ = s.View(func(st *core.State) error {
		left = m.cfg.Policy.due(st, m.cfg.Policy.Idle)
		return nil
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tails[s.ID()]; t != nil && !left && !t.busy && t.late == 0 {
		delete(m.tails, s.ID())
	}
}

// Seen is up to where a shard's records are taken in.
func (m *Materializer) Seen(shard int) core.Pos { return m.floor(shard).Pos }

// Past is up to where a shard was read, whether records lie there or not.
func (m *Materializer) Past(shard int) core.Pos {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(m.past[shard], m.seen[shard].Pos)
}

// pass notes that a shard was read up to pos.
func (m *Materializer) pass(shard int, pos core.Pos) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.past[shard] = pos
	close(m.grew)
	m.grew = make(chan struct{})
}

func (m *Materializer) floor(shard int) Floor {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[shard]
}

func (m *Materializer) advance(shard int, seen Floor) {
	m.mu.Lock()
	m.seen[shard], m.past[shard] = seen, seen.Pos
	close(m.grew)
	m.grew = make(chan struct{})
	floor := seen
	for t := range m.late {
		if t.shard == shard && t.late-1 < floor.Pos {
			floor = Floor{Pos: t.late - 1}
		}
	}
	m.mu.Unlock()
	m.cfg.Directory.SetFloor(shard, floor)
}

// CatchUp returns when every record that was in the log when it was called is
// in the rows, or with ctx's error.
func (m *Materializer) CatchUp(ctx context.Context) error {
	for shard := range m.cfg.Log.Shards() {
		st, err := m.cfg.Log.State(ctx, shard)
		if err != nil {
			return err
		}
		if st.Behind(m.Past(shard)) == 0 {
			continue
		}
		if err := m.waitFor(ctx, shard, st.Last); err != nil {
			return err
		}
	}
	for _, id := range m.lateOnes() {
		if m.isAbsent(id) {
			return fmt.Errorf("session %s was passed by because the object store did not answer: %w", id, core.ErrUnavailable)
		}
		s, err := m.cfg.Cache.Get(ctx, id)
		if errors.Is(err, core.ErrDeleted) {
			continue // it is about to be buried
		}
		if err != nil {
			return err
		}
		m.renew(s)
	}
	m.cfg.Directory.Sync(ctx)
	return nil
}

// Behind returns an upper bound for the number of sessions with changes that are not
// in the directory yet. A shard that does not answer counts as one.
func (m *Materializer) Behind(ctx context.Context) int {
	n := len(m.lateOnes())
	for shard := range m.cfg.Log.Shards() {
		st, err := m.cfg.Log.State(ctx, shard)
		if err != nil {
			n++
			continue
		}
		n += int(min(st.Behind(m.Past(shard)), st.Sessions))
	}
	return n
}

// lateOnes returns the sessions whose row was put off.
func (m *Materializer) lateOnes() []core.SessionID {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []core.SessionID
	for id, t := range m.tails {
		if m.late[t] {
			ids = append(ids, id)
		}
	}
	return ids
}

func (m *Materializer) waitFor(ctx context.Context, shard int, pos core.Pos) error {
	for {
		m.mu.Lock()
		done, grew := m.seen[shard].Pos >= pos || m.past[shard] >= pos, m.grew
		m.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-grew:
		case <-ctx.Done():
			return fmt.Errorf("shard %d is taken in up to %d, its end is %d: %w", shard, m.Seen(shard), pos, ctx.Err())
		}
	}
}

// coveredOf is the seq that the latest checkpoint's snapshot covers.
func seqOf(s *engine.Session) (seq uint64) {
	_ = s.View(func(st *core.State) error {
		seq = st.Seq
		return nil
	})
	return seq
}
