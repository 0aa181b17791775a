package nova

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
	dialect "github.com/sesslog/sesslog/core/dialect/nova"
	"github.com/sesslog/sesslog/core/prune"
	"github.com/sesslog/sesslog/session"
)

// Config configures Sessions. Log is required; other zero fields mean their
// default.
type Config struct {
	Log session.Log

	By           string           // who changes sessions, for notices
	Prune        dialect.Limits   // beyond which a state is compressed; default dialect.DefaultLimits
	Cleanup      *prune.Limits    // default one day and 100 sessions
	CleanupEvery time.Duration    // how often Run cleans up; default one hour
	Now          func() time.Time // default time.Now
	NewID        func() string    // default a random UUID
	Logger       *slog.Logger     // default slog.Default()
}

// Sessions are the Nova sessions of one program. Its methods are safe for
// concurrent use.
type Sessions struct {
	cfg Config

	mu   sync.Mutex
	held map[string]*held // by Nova's own id
}

// New returns the sessions of cfg.Log. It holds none yet.
func New(cfg Config) *Sessions {
	if cfg.Prune == (dialect.Limits{}) {
		cfg.Prune = dialect.DefaultLimits
	}
	if cfg.Cleanup == nil {
		cfg.Cleanup = &prune.Limits{MaxAge: 24 * time.Hour, Keep: 100}
	}
	if cfg.CleanupEvery <= 0 {
		cfg.CleanupEvery = time.Hour
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = newUUID
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Sessions{cfg: cfg, held: map[string]*held{}}
}

// newUUID returns a random UUID of version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0F|0x40, b[8]&0x3F|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Options describe a new session.
type Options struct {
	ID    string // of a new session; default a new UUID
	Model string // default dialect.DefaultModel
	Agent string
	Tags  []string
	CWD   string // the project's directory
}

// GetOrCreate returns the id of a session that exists. If id is nil it makes
// one, which is durable when GetOrCreate returns; core.ErrExists if o.ID is taken. Otherwise it opens the session
// id and ignores o. It returns core.ErrInvalid if dialect.CheckID refuses id
// (the empty one too), and core.ErrNotFound, with the ids that are held, if
// there is no such session.
func (ss *Sessions) GetOrCreate(ctx context.Context, id *string, o Options) (string, error) {
	if id != nil {
		_, err := ss.session(ctx, *id)
		return *id, err
	}
	if o.ID == "" {
		o.ID = ss.cfg.NewID()
	} else if err := dialect.CheckID(o.ID); err != nil {
		return "", err
	}
	now := dialect.Time(ss.cfg.Now())
	s := dialect.State{SessionID: o.ID, CreatedAt: now, LastUpdated: now, Model: o.Model, AgentName: o.Agent}
	if s.Model == "" {
		s.Model = dialect.DefaultModel
	}
	for _, tag := range o.Tags {
		if !slices.Contains(s.Tags, tag) {
			s.Tags = append(s.Tags, tag)
		}
	}
	if err := ss.create(ctx, s, o.CWD); err != nil {
		return "", err
	}
	ss.cfg.Logger.Info("nova session made", "session", s.SessionID)
	return s.SessionID, nil
}

// create makes a session from a state, and holds it.
func (ss *Sessions) create(ctx context.Context, s dialect.State, cwd string) error {
	d := dialect.Dialect{}
	line, err := dialect.NewState(s)
	if err != nil {
		return err
	}
	e, err := d.Fill(line, core.Fields{ID: newUUID(), Time: isoTime(ss.cfg.Now())})
	if err != nil {
		return err
	}
	id := core.SessionIDFor(d.Name(), s.SessionID)
	n := session.New{
		ID: id, Dialect: d.Name(), By: ss.cfg.By, Key: newUUID(),
		Header: d.NewHeader(core.HeaderFields{ID: s.SessionID, Time: s.CreatedAt, CWD: cwd}),
		Lines:  [][]byte{e.Line},
	}
	err = retry(func() error {
		_, err := ss.cfg.Log.Create(ctx, n)
		return err
	})
	if err != nil {
		return err
	}
	ss.hold(s.SessionID, &held{id: id})
	return nil
}

// tries is how often a request with an unknown outcome is sent.
const tries = 3

// retry calls f again while the outcome of its request is unknown.
func retry(f func() error) error {
	for range tries - 1 {
		if err := f(); !errors.Is(err, core.ErrUncertain) {
			return err
		}
	}
	return f()
}

func isoTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// session returns the session id, which it loads unless it is held.
func (ss *Sessions) session(ctx context.Context, id string) (*held, error) {
	if err := dialect.CheckID(id); err != nil {
		return nil, err
	}
	ss.mu.Lock()
	h, ok := ss.held[id]
	ss.mu.Unlock()
	if ok {
		return h, nil
	}
	h = &held{id: core.SessionIDFor("nova", id)}
	v, err := ss.load(ctx, h.id)
	if errors.Is(err, core.ErrNotFound) {
		return nil, fmt.Errorf("session %q does not exist; available are: %s: %w", id, ss.available(), core.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	h.view = v
	return ss.hold(id, h), nil
}

// hold keeps h and returns it, or returns the one that is held already.
func (ss *Sessions) hold(id string, h *held) *held {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if first, ok := ss.held[id]; ok {
		return first
	}
	ss.held[id] = h
	return h
}

func (ss *Sessions) drop(id string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.held, id)
}

// Held returns the ids of the sessions that this program holds, sorted.
func (ss *Sessions) Held() []string {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return slices.Sorted(maps.Keys(ss.held))
}

// mostNamed limits how many sessions an error names.
const mostNamed = 20

func (ss *Sessions) available() string {
	ids := ss.Held()
	if len(ids) == 0 {
		return "none"
	}
	if more := len(ids) - mostNamed; more > 0 {
		ids = append(ids[:mostNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(ids, ", ")
}

// State returns a session's current state in the log. The caller owns it.
func (ss *Sessions) State(ctx context.Context, id string) (dialect.State, error) {
	v, err := ss.current(ctx, id)
	if err != nil {
		return dialect.State{}, err
	}
	return v.state, nil
}

// ByTag returns the ids of the held sessions that have the tag, sorted.
func (ss *Sessions) ByTag(ctx context.Context, tag string) ([]string, error) {
	var ids []string
	for _, id := range ss.Held() {
		s, err := ss.State(ctx, id)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if slices.Contains(s.Tags, tag) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// gone reports whether err says that a session is in the trash or was erased.
func gone(err error) bool { return errors.Is(err, core.ErrDeleted) || errors.Is(err, core.ErrNotFound) }
