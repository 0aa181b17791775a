package novasessions

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
	"github.com/sesslog/sesslog/core/dialect/nova"
	"github.com/sesslog/sesslog/stream"
)

// Config is what Sessions needs to know. A zero optional field means its
// default.
type Config struct {
	Sessions *stream.Sessions

	By           string            // who it is that changes sessions, for notices
	Prune        nova.Limits       // beyond what a state is compressed; default nova.DefaultLimits
	Cleanup      *core.PruneLimits // default a day and 100 sessions
	CleanupEvery time.Duration     // how often Run cleans up; default an hour
	Now          func() time.Time  // default time.Now
	NewID        func() string     // default a random UUID
	Logger       *slog.Logger      // default slog.Default()
}

// Sessions are the sessions of Nova that a program has at hand. Its methods may
// be called from several goroutines.
type Sessions struct {
	cfg Config

	mu   sync.Mutex
	held map[string]*stream.Session // by Nova's own id
}

// New returns the sessions of cfg.Sessions, none of them held yet.
func New(cfg Config) *Sessions {
	if cfg.Prune == (nova.Limits{}) {
		cfg.Prune = nova.DefaultLimits
	}
	if cfg.Cleanup == nil {
		cfg.Cleanup = &core.PruneLimits{MaxAge: 24 * time.Hour, Keep: 100}
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
	return &Sessions{cfg: cfg, held: map[string]*stream.Session{}}
}

// newUUID returns a random UUID, of version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0F|0x40, b[8]&0x3F|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Options are what a new session is made with.
type Options struct {
	Model string // default nova.DefaultModel
	Agent string
	Tags  []string
	CWD   string // the project's directory
}

// GetOrCreate returns the id of a session that is there from now on. Without an
// id that is a new one, durable when it returns. With an id it is that session,
// and o is not looked at: core.ErrInvalid for an id that nova.CheckID refuses,
// the empty one too, core.ErrNotFound naming the sessions held here.
func (ss *Sessions) GetOrCreate(ctx context.Context, id *string, o Options) (string, error) {
	if id != nil {
		_, err := ss.session(ctx, *id)
		return *id, err
	}
	now := nova.Time(ss.cfg.Now())
	s := nova.State{SessionID: ss.cfg.NewID(), CreatedAt: now, LastUpdated: now, Model: o.Model, AgentName: o.Agent}
	if s.Model == "" {
		s.Model = nova.DefaultModel
	}
	for _, tag := range o.Tags {
		if !slices.Contains(s.Tags, tag) {
			s.Tags = append(s.Tags, tag)
		}
	}
	if err := ss.create(ctx, s, o.CWD, core.Origin{}); err != nil {
		return "", err
	}
	ss.cfg.Logger.Info("nova session made", "session", s.SessionID)
	return s.SessionID, nil
}

// create makes a session of a state, and holds it.
func (ss *Sessions) create(ctx context.Context, s nova.State, cwd string, o core.Origin) error {
	d := nova.Dialect{}
	created := isoTime(ss.cfg.Now())
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: s.SessionID, Time: s.CreatedAt, CWD: cwd, Parent: s.ForkParentID}))
	if err != nil {
		return err
	}
	line, err := nova.NewState(s)
	if err != nil {
		return err
	}
	e, err := d.Fill(line, core.Fields{ID: newUUID(), Time: created})
	if err != nil {
		return err
	}
	o.Dialect, o.By = d.Name(), ss.cfg.By
	made, err := ss.cfg.Sessions.Create(ctx, stream.Birth{
		ID: core.SessionIDFor(d.Name(), s.SessionID), Origin: o, Header: h, Entries: []core.Entry{e},
	})
	if err != nil {
		return err
	}
	ss.hold(s.SessionID, made)
	return nil
}

func isoTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// session returns a session that is held, or opens it.
func (ss *Sessions) session(ctx context.Context, id string) (*stream.Session, error) {
	if err := nova.CheckID(id); err != nil {
		return nil, err
	}
	ss.mu.Lock()
	s, ok := ss.held[id]
	ss.mu.Unlock()
	if ok {
		return s, nil
	}
	s, err := ss.cfg.Sessions.Open(ctx, core.SessionIDFor("nova", id))
	if errors.Is(err, core.ErrNotFound) {
		return nil, fmt.Errorf("session %q is not here; available are: %s: %w", id, ss.available(), core.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	err = s.View(func(st *core.State) error {
		if d := st.Dialect.Name(); d != "nova" {
			return fmt.Errorf("session %q is one of %s, not of nova: %w", id, d, core.ErrInvalid)
		}
		return st.Writable()
	})
	if err != nil {
		return nil, err
	}
	return ss.hold(id, s), nil
}

// hold keeps s, unless another goroutine was first: then that one's.
func (ss *Sessions) hold(id string, s *stream.Session) *stream.Session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if first, ok := ss.held[id]; ok {
		return first
	}
	ss.held[id] = s
	return s
}

func (ss *Sessions) drop(id string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.held, id)
}

// Held returns the ids of the sessions held here, in order.
func (ss *Sessions) Held() []string {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return slices.Sorted(maps.Keys(ss.held))
}

// mostNamed is how many sessions an error names.
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

// State returns a session's state as the log has it. The caller owns it.
func (ss *Sessions) State(ctx context.Context, id string) (nova.State, error) {
	s, err := ss.session(ctx, id)
	if err != nil {
		return nova.State{}, err
	}
	if err := s.Refresh(ctx); err != nil {
		return nova.State{}, err
	}
	v, err := look(s)
	return v.state, err
}

// ByTag returns the ids of the sessions held here that have the tag, in order.
func (ss *Sessions) ByTag(ctx context.Context, tag string) ([]string, error) {
	var ids []string
	for _, id := range ss.Held() {
		s, err := ss.State(ctx, id)
		if gone(err) {
			ss.drop(id)
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

// gone reports whether err says that a session is in the trash, or erased.
func gone(err error) bool { return errors.Is(err, core.ErrDeleted) || errors.Is(err, core.ErrNotFound) }
