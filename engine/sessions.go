package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/image"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/internal/spans"
	"github.com/sesslog/sesslog/session"
)

// Snapshots loads the snapshots that checkpoints name.
type Snapshots interface {
	// Load returns the plain canonical JSONL of m's snapshot: core.ErrNotFound if it is
	// missing, core.ErrCorrupt if it is not what m names. checked waits for the comparison
	// of digests. Nothing derived from plain may be used before checked returns nil: no
	// other code compares the digest.
	Load(ctx context.Context, m *core.Manifest) (plain []byte, checked func() error, err error)
}

// Presence announces this process to others; *stream.Presence implements it.
type Presence interface {
	Beat(context.Context, session.Presence) error
	Leave(ctx context.Context, id string) error
}

// Config configures Sessions. Zero optional fields have the documented default.
type Config struct {
	Log       Log
	Blobs     storage.Blobs
	Snapshots Snapshots
	Dialects  core.Dialects
	Presence  Presence // announces a Local's claims; optional

	Host    string        // the name of this node in claims and notices
	Timeout time.Duration // how long a record in doubt is retried; default 30 s
	// RetryTimeout is how long a write is retried that cannot have been stored; then it is
	// core.ErrUnavailable. Default 12 s, longer than an election in a cluster.
	RetryTimeout time.Duration
	// Grace is the grace period of the blob collector: a write that takes longer than half
	// of it stores its blobs again. 0 if no collector runs.
	Grace time.Duration
	// FlushEvery is how often the brokers flush acknowledged records to disk, 0 for before
	// each answer. A power failure loses what is not flushed.
	FlushEvery time.Duration
	// SoleWriter says that all records of the log go through this process, to a server that
	// loses none while the process runs. A checkpoint then does not read again what the
	// session has in memory.
	SoleWriter bool
	// Concurrency is how many sessions Truncate processes concurrently. Default 8; 1 for
	// reproducible simulations.
	Concurrency int
	Witness     Witness          // default NoWitness
	Observer    Observer         // optional
	Tracer      trace.Tracer     // makes spans of appends; default none
	Now         func() time.Time // default time.Now
	NewID       func() string    // default a new ULID
	Logger      *slog.Logger     // default slog.Default()
}

// Sessions opens and creates the sessions of one log. It does not cache them: see
// materializer.Cache.
type Sessions struct {
	cfg           Config
	workers       *workers
	lost          losses
	limit         queueLimit // of all sessions' appends
	truncateBytes int64      // bytes of concurrently truncated sessions
}

// NewSessions returns the sessions of cfg.Log. The caller must Close them.
func NewSessions(cfg Config) *Sessions {
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.RetryTimeout == 0 {
		cfg.RetryTimeout = 12 * time.Second
	}
	if cfg.Concurrency == 0 {
		cfg.Concurrency = defaultConcurrency
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = func() string { return ulid.Make().String() }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Witness == nil {
		cfg.Witness = NoWitness{}
	}
	cfg.Tracer = spans.Or(cfg.Tracer)
	return &Sessions{cfg: cfg, truncateBytes: defaultTruncateBytes, workers: newWorkers()}
}

// Open loads a session from the log's leader. It returns core.ErrNotFound if there
// is none, and core.ErrCorrupt if its records or its snapshot are damaged.
func (ss *Sessions) Open(ctx context.Context, id core.SessionID) (*Session, error) {
	v, err := ss.load(ctx, id)
	switch {
	case errors.Is(err, core.ErrNotFound):
		ss.cfg.Witness.Opened(ctx, id, 0)
		return nil, ss.lostOr(ctx, id, err)
	case err != nil:
		return nil, err
	}
	ss.cfg.Witness.Opened(ctx, id, v.st.Seq)
	return ss.session(v), nil
}

// lostOr returns the Witness's error for a session that the log does not know, and
// err if that has none.
func (ss *Sessions) lostOr(ctx context.Context, id core.SessionID, err error) error {
	if lost := ss.cfg.Witness.Refuse(ctx, id); lost != nil {
		return lost
	}
	return err
}

// Dialect returns the dialect of that name, nil if this process does not know it.
func (ss *Sessions) Dialect(name string) core.Dialect {
	if d, ok := ss.cfg.Dialects[name]; ok {
		return d
	}
	return nil
}

// CreateRequest asks for a new session.
type CreateRequest struct {
	ID      core.SessionID
	Origin  core.Origin // empty Time and Host are filled in
	Header  core.Header
	Entries []core.Entry // with stored images, see StoreImages
}

// Create makes a session. It returns core.ErrExists if one with that id exists,
// unless that was made with the same Origin.Key and Request: then it returns that one.
// It adds the session to the lineage journal of ctx, and drops its parents if ctx
// disables lineage.
func (ss *Sessions) Create(ctx context.Context, b CreateRequest) (*Session, error) {
	s, err := ss.create(ctx, b)
	if !errors.Is(err, core.ErrExists) || b.Origin.Key == "" {
		return s, err
	}
	there, oerr := ss.Open(ctx, b.ID)
	if oerr != nil || there.st.Origin.Key != b.Origin.Key {
		return nil, err
	}
	if asked := there.st.Origin.Request; asked != b.Origin.Request && !asked.IsZero() {
		return nil, fmt.Errorf("another request with this key made session %s; use a new key for another session: %w", b.ID, core.ErrExists)
	}
	return there, nil
}

func (ss *Sessions) create(ctx context.Context, b CreateRequest) (*Session, error) {
	if _, err := core.ParseSessionID(string(b.ID)); err != nil {
		return nil, err
	}
	o := b.Origin
	if o.Time.IsZero() {
		o.Time = ss.cfg.Now().UTC()
	}
	if o.Host == "" {
		o.Host = ss.cfg.Host
	}
	if !lineage.IsRecording(ctx) {
		o.Parents, o.From, o.Kind = nil, nil, ""
	}
	body, err := core.OpenBody(o, b.Header, b.Entries)
	if err != nil {
		return nil, err
	}
	st := core.NewState(ss.cfg.Log.Name(), b.ID, ss.cfg.Dialects)
	r := &core.Record{
		Kind: core.KindOpen, Seq: 1, Head: core.MainHead, Writer: ss.cfg.NewID(),
		Count: len(b.Entries), Body: body, Time: ss.cfg.Now().UTC(),
	}
	r.Chain = st.Chain.Next(r)
	if err := st.Apply(r); err != nil { // before it is stored, so that the log has only valid records
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ss.cfg.Timeout)
	defer cancel()
	ss.cfg.Witness.Opened(ctx, b.ID, 0) // the log may have lost a session of this id
	if err := ss.refuse(ctx, b.ID, core.KindOpen); err != nil {
		return nil, err
	}
	pos, err := ss.putFirst(ctx, b.ID, r)
	if err != nil {
		return nil, err
	}
	st.Pos, st.Base, r.Pos = pos, pos, pos
	lineage.Note(ctx, b.ID)
	v := view{st: st}
	v.recent.add(r)
	v.setEnd(r)
	return ss.session(v), nil
}

// putFirst stores a session's first record.
func (ss *Sessions) putFirst(ctx context.Context, id core.SessionID, r *core.Record) (core.Pos, error) {
	retryCtx, cancel := ss.retryContext(ctx)
	defer cancel()
	uncertain := false // an earlier try may have been stored
	for {
		if uncertain {
			retryCtx = ctx
		}
		pos, err := ss.cfg.Log.Append(retryCtx, id, 0, r)
		switch {
		case err == nil:
			return pos, nil
		case errors.Is(err, core.ErrConflict):
			var there *core.Record
			if there, err = ss.firstRecord(retryCtx, id); err == nil && there.Chain == r.Chain {
				return there.Pos, nil
			}
			if err == nil {
				return 0, fmt.Errorf("session %s: %w", id, core.ErrExists)
			}
			// If nothing exists, the server could not read its own last record.
		case errors.Is(err, core.ErrUncertain):
			uncertain = true
		}
		again := errors.Is(err, core.ErrUncertain) || errors.Is(err, core.ErrNotFound) || uncertain && errors.Is(err, core.ErrUnavailable)
		if again && retry.Pause(ctx) == nil {
			continue
		}
		if uncertain {
			return 0, fmt.Errorf("make session %s: %v; read the session to find out if it was stored: %w", id, err, core.ErrUncertain)
		}
		return 0, fmt.Errorf("make session %s: %w", id, err)
	}
}

// firstRecord returns the first record of a session that the log still has.
func (ss *Sessions) firstRecord(ctx context.Context, id core.SessionID) (*core.Record, error) {
	last, err := ss.cfg.Log.LastLink(ctx, id)
	if err != nil {
		return nil, err
	}
	for r, err := range ss.cfg.Log.Read(ctx, id, 0, last.Pos) {
		return r, err
	}
	return nil, fmt.Errorf("records of session %s cannot be read: %w", id, core.ErrUnavailable)
}

// StoreImages returns es as the log stores them: images of at least image.MinBlob
// characters are blobs, durable when it returns. n counts them. It returns
// core.ErrFull if the server has no space for new entries.
func (ss *Sessions) StoreImages(ctx context.Context, es []core.Entry) (kept []core.Entry, n int, err error) {
	kept = make([]core.Entry, len(es))
	for i := range es {
		kept[i] = es[i]
		line, blobs := image.Externalize(es[i].Line)
		kept[i].Line = line
		if len(blobs) > 0 {
			if err := ss.cfg.Log.AdmitBlobs(); err != nil {
				return nil, 0, err
			}
		}
		for _, b := range blobs {
			if _, err := ss.cfg.Blobs.Put(ctx, b.Bytes); err != nil {
				return nil, 0, fmt.Errorf("image %s of entry %.64q: %w", b.Digest, es[i].ID, err)
			}
			n++
		}
	}
	return kept, n, nil
}

// Inline returns a line, or JSON made of entries, with its images put back. A
// missing image is core.ErrCorrupt, not core.ErrNotFound, which would mean the
// session.
func (ss *Sessions) Inline(ctx context.Context, line []byte) ([]byte, error) {
	return image.Inline(line, func(d core.Digest) ([]byte, error) {
		b, err := ss.cfg.Blobs.Get(ctx, d)
		if errors.Is(err, core.ErrNotFound) {
			return nil, fmt.Errorf("the blob is missing: %v: %w", err, core.ErrCorrupt)
		}
		return b, err
	})
}

// Resolve is Inline that also inserts the images of the agent's own store. Those
// that are unknown, or that may does not allow, stay references.
func (ss *Sessions) Resolve(ctx context.Context, v []byte, may func(core.Digest) bool) ([]byte, error) {
	return image.Resolve(v, func(d core.Digest) ([]byte, error) {
		if !may(d) {
			return nil, core.ErrNotFound
		}
		return ss.cfg.Blobs.Get(ctx, d)
	})
}

func (ss *Sessions) session(v view) *Session {
	s := &Session{
		ss:        ss,
		id:        v.st.ID,
		view:      v,
		writeLock: make(chan struct{}, 1),
		writer:    ss.cfg.NewID(),
	}
	s.measure()
	return s
}

// WithLog returns a copy of ss over another log, with other blobs and without an
// observer or a witness. Closing either closes both.
func (ss *Sessions) WithLog(log Log, blobs storage.Blobs) *Sessions {
	cfg := ss.cfg
	cfg.Log, cfg.Blobs, cfg.Observer, cfg.Witness = log, blobs, Observer{}, NoWitness{}
	return ss.with(cfg)
}

// WithSnapshots returns a copy of ss that loads snapshots from another source.
// Closing either closes both.
func (ss *Sessions) WithSnapshots(snapshots Snapshots) *Sessions {
	cfg := ss.cfg
	cfg.Snapshots = snapshots
	return ss.with(cfg)
}

func (ss *Sessions) with(cfg Config) *Sessions {
	return &Sessions{cfg: cfg, truncateBytes: ss.truncateBytes, workers: ss.workers}
}
