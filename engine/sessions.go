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
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/internal/spans"
	"github.com/sesslog/sesslog/session"
)

// Snapshots fetches what checkpoints name.
type Snapshots interface {
	// Load returns the plain canonical JSONL of m's snapshot. core.ErrNotFound
	// when it is gone, core.ErrCorrupt when it is not what m names. checked
	// waits until a digest of m was compared, and returns core.ErrCorrupt when
	// it is another: before it has returned nil, nothing that was made of plain may
	// be let out. Nobody else compares the digest.
	Load(ctx context.Context, m *core.Manifest) (plain []byte, checked func() error, err error)
}

// Presence tells other processes that this one is at work; *stream.Presence is one.
type Presence interface {
	Beat(context.Context, session.Presence) error
	Leave(ctx context.Context, id string) error
}

// Config is what Sessions needs to know. A nil or zero optional field means its
// default.
type Config struct {
	Log       Log
	Blobs     core.Blobs
	Snapshots Snapshots
	Dialects  core.Dialects
	Presence  Presence // tells others of a Local's claims; optional

	Host    string        // this node, as claims and notices name it
	Timeout time.Duration // how long a record is tried before its outcome is unknown; default 30 s
	// RetryTimeout is how long a write is tried that cannot have been stored yet;
	// then it is core.ErrUnavailable. Default 12 s: a cluster takes up to 9 to
	// elect a leader.
	RetryTimeout time.Duration
	// Grace is that of the store that Blobs keeps them in: a write that took longer
	// than half of it puts its blobs again. 0 where nobody collects blobs.
	Grace time.Duration
	// FlushEvery is how often the brokers flush to disk what they acknowledged; 0
	// for before every answer. Until then a power cut makes them forget it.
	FlushEvery time.Duration
	// Concurrency is how many sessions Truncate sees to at a time. Default 8; 1 for a
	// simulation that is to play the same again.
	Concurrency int
	Observer    Observer         // told what becomes of writes; optional
	Tracer      trace.Tracer     // makes spans of appends; default none
	Now         func() time.Time // default time.Now
	NewID       func() string    // default a new ULID
	Logger      *slog.Logger     // default slog.Default()
}

// Sessions opens and makes the sessions of one log. It keeps none of them: see
// materializer.Cache.
type Sessions struct {
	cfg           Config
	workers       *workers
	lost          losses
	limit         queueLimit // of all sessions' appends
	truncateBytes int64      // bytes of the sessions that Truncate sees to at a time
}

// NewSessions returns the sessions of cfg.Log.
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
	cfg.Tracer = spans.Or(cfg.Tracer)
	return &Sessions{cfg: cfg, truncateBytes: defaultTruncateBytes, workers: newWorkers()}
}

// Open loads a session as its log's leader has it. core.ErrNotFound when there
// is none, core.ErrCorrupt when its records or its snapshot are damaged.
func (ss *Sessions) Open(ctx context.Context, id core.SessionID) (*Session, error) {
	v, err := ss.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return ss.session(v), nil
}

// A CreateRequest is a session to be made.
type CreateRequest struct {
	ID      core.SessionID
	Origin  core.Origin // Time, Host and By are filled in where they are empty
	Header  core.Header
	Entries []core.Entry // as the log keeps them, see Keep
}

// Create makes a session. core.ErrExists when there is one of that id already,
// whatever it holds, unless it was made under the same Origin.Key: that is the
// session then. When the answer was lost and the log now has this very session,
// that is success. It is noted in the lineage journal of ctx, and loses its
// parents where ctx says that lineage is not recorded.
func (ss *Sessions) Create(ctx context.Context, b CreateRequest) (*Session, error) {
	s, err := ss.create(ctx, b)
	if !errors.Is(err, core.ErrExists) || b.Origin.Key == "" {
		return s, err
	}
	there, oerr := ss.Open(ctx, b.ID)
	if oerr == nil && there.st.Origin.Key == b.Origin.Key {
		return there, nil
	}
	return nil, err
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
		Count: len(b.Entries), Body: body,
	}
	r.Chain = st.Chain.Next(r)
	if err := st.Apply(r); err != nil { // before it is stored: what is in the log can be read
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ss.cfg.Timeout)
	defer cancel()
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
			// Where nothing is there, the server could not read its own last record.
		case errors.Is(err, core.ErrUncertain):
			uncertain = true
		}
		again := errors.Is(err, core.ErrUncertain) || errors.Is(err, core.ErrNotFound) || uncertain && errors.Is(err, core.ErrUnavailable)
		if again && retry.Pause(ctx) == nil {
			continue
		}
		if uncertain {
			return 0, fmt.Errorf("make session %s: %v; whether it is there only reading tells: %w", id, err, core.ErrUncertain)
		}
		return 0, fmt.Errorf("make session %s: %w", id, err)
	}
}

// first returns the first record of a session that is still there.
func (ss *Sessions) firstRecord(ctx context.Context, id core.SessionID) (*core.Record, error) {
	last, err := ss.cfg.Log.LastLink(ctx, id)
	if err != nil {
		return nil, err
	}
	for r, err := range ss.cfg.Log.Read(ctx, id, 0, last.Pos) {
		return r, err
	}
	return nil, fmt.Errorf("records of session %s do not arrive: %w", id, core.ErrUnavailable)
}

// StoreImages returns es as the log keeps them: images of core.MinBlob characters and
// more are blobs, durable before Keep returns. n is how many images that were.
// core.ErrFull where the log's server has no room for new entries: their images
// are not to take what is left.
func (ss *Sessions) StoreImages(ctx context.Context, es []core.Entry) (kept []core.Entry, n int, err error) {
	kept = make([]core.Entry, len(es))
	for i := range es {
		kept[i] = es[i]
		line, blobs := core.Externalize(es[i].Line)
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

// Inline returns a line, or any other JSON made of entries, with its images put
// back. An image that is gone is core.ErrCorrupt: the line is there and says that
// the image is, and core.ErrNotFound would be said of the session.
func (ss *Sessions) Inline(ctx context.Context, line []byte) ([]byte, error) {
	return core.Inline(line, func(d core.Digest) ([]byte, error) {
		b, err := ss.cfg.Blobs.Get(ctx, d)
		if errors.Is(err, core.ErrNotFound) {
			return nil, fmt.Errorf("it is gone: %v: %w", err, core.ErrCorrupt)
		}
		return b, err
	})
}

// Resolve is Inline with the images that the agent keeps in a store of its own
// put in their places, too; what is not here stays a reference.
func (ss *Sessions) Resolve(ctx context.Context, v []byte) ([]byte, error) {
	return core.Resolve(v, func(d core.Digest) ([]byte, error) { return ss.cfg.Blobs.Get(ctx, d) })
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
// observer. Closing either closes both.
func (ss *Sessions) WithLog(log Log, blobs core.Blobs) *Sessions {
	cfg := ss.cfg
	cfg.Log, cfg.Blobs, cfg.Observer = log, blobs, Observer{}
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
