package novasessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/nova"
	"github.com/sesslog/sesslog/stream"
)

// Config is what Sessions needs to know. A zero field that is not said to be
// needed means its default.
type Config struct {
	Sessions *stream.Sessions // needed; its dialects must have Nova
	NewID    func() string    // needed: of new sessions, UUIDs for Nova

	Limits  nova.Limits   // when a state is compressed; default nova.DefaultLimits
	MaxAge  time.Duration // since the last change, then a session is cleaned up; default 24 h
	MaxOpen int           // sessions that stay at most; default 100
	Every   time.Duration // between cleanups of Run; default 10 min

	By, Host string           // who cleans up, for people who read the log
	Now      func() time.Time // default time.Now
	Logger   *slog.Logger     // default slog.Default(); it is told counts, never what a state says
}

// Sessions are the Nova sessions that a program has open. Its methods may be
// called from several goroutines.
type Sessions struct {
	cfg Config

	mu   sync.Mutex
	open map[string]*stream.Session
}

// New returns an empty holder. Nothing runs until Run is called.
func New(cfg Config) *Sessions {
	if cfg.Limits == (nova.Limits{}) {
		cfg.Limits = nova.DefaultLimits()
	}
	if cfg.MaxAge == 0 {
		cfg.MaxAge = 24 * time.Hour
	}
	if cfg.MaxOpen == 0 {
		cfg.MaxOpen = 100
	}
	if cfg.Every == 0 {
		cfg.Every = 10 * time.Minute
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Sessions{cfg: cfg, open: map[string]*stream.Session{}}
}

// Options are of a new session; a resumed one has its own.
type Options struct {
	Model string // default nova.DefaultModel
	Agent string
	Tags  []string
}

// GetOrCreate resumes the session that id names, from memory or from the log,
// or makes one where id is nil. It returns the session's id. core.ErrInvalid
// for an id that breaks the rule, also the empty one; core.ErrNotFound, naming
// the open sessions, for one that is nowhere.
func (s *Sessions) GetOrCreate(ctx context.Context, id *string, o Options) (string, error) {
	if id != nil {
		return *id, s.resume(ctx, *id)
	}
	st, err := nova.New(s.cfg.NewID(), s.now(), o.Model, o.Agent, o.Tags)
	if err != nil {
		return "", err
	}
	return st.SessionID, s.create(ctx, st, nil)
}

func (s *Sessions) resume(ctx context.Context, id string) error {
	if err := nova.CheckID(id); err != nil {
		return err
	}
	if _, err := s.session(id); err == nil {
		return nil
	}
	sess, err := s.cfg.Sessions.Open(ctx, core.SessionIDFor("nova", id))
	if errors.Is(err, core.ErrNotFound) {
		return s.missing(id)
	}
	if err != nil {
		return err
	}
	err = sess.View(func(st *core.State) error {
		if st.Deleted != nil || st.Erased != nil {
			return fmt.Errorf("%w (it was cleaned up)", s.missing(id))
		}
		if d := st.Dialect.Name(); d != "nova" {
			return fmt.Errorf("session %q is one of %s, not of Nova: %w", id, d, core.ErrInvalid)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[id] == nil {
		s.open[id] = sess
	}
	s.cfg.Logger.Info("resumed Nova session", "session", id)
	return nil
}

// create makes the session of a first state.
func (s *Sessions) create(ctx context.Context, st nova.State, from *core.Lineage) error {
	h, first, err := nova.Begin(st, "")
	if err != nil {
		return err
	}
	line, err := nova.Whole(st)
	if err != nil {
		return err
	}
	whole, err := nova.Dialect{}.Fill(line, core.Fields{ID: "first", Time: s.now()})
	if err != nil {
		return err
	}
	sess, err := s.cfg.Sessions.Create(ctx, stream.Birth{
		ID:      core.SessionID(st.SessionID),
		Origin:  core.Origin{Dialect: "nova", From: from, By: s.cfg.By},
		Header:  h,
		Entries: []core.Entry{first, whole},
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[st.SessionID] = sess
	s.cfg.Logger.Info("made Nova session", "session", st.SessionID)
	return nil
}

// A Result is what a program needs to have an agent do a task.
type Result struct {
	SessionID string
	Resume    string // what the agent resumes from
	Context   string // for the system prompt
	State     nova.State
	Model     string
}

// RunTask counts a turn, with the decision where d is not nil, and compresses
// a state that is due; all of it is durable when it returns. The task itself is
// kept nowhere. core.ErrNotFound where the session is not open.
func (s *Sessions) RunTask(ctx context.Context, id string, d *nova.Decision) (Result, error) {
	line, err := nova.Task(d, s.cfg.Limits)
	if err != nil {
		return Result{}, err
	}
	st, err := s.change(ctx, id, line)
	if err != nil {
		return Result{}, err
	}
	s.cfg.Logger.Debug("task in Nova session", "session", id, "turn", st.TurnCount, "decisions", len(st.Decisions))
	return Result{SessionID: id, Resume: id, Context: st.Text(), State: st, Model: st.Model}, nil
}

// Fork makes a session that inherits the state of parent and is independent of
// it from then on. It returns the child's id. core.ErrNotFound where the parent
// is not open. The child is there before the parent counts it.
func (s *Sessions) Fork(ctx context.Context, parent string) (string, error) {
	st, err := s.State(ctx, parent)
	if err != nil {
		return "", fmt.Errorf("fork: parent %w", err)
	}
	sess, err := s.session(parent)
	if err != nil {
		return "", err
	}
	from := &core.Lineage{Session: sess.ID(), Kind: "fork"}
	_ = sess.View(func(st *core.State) error {
		from.Cursor = st.Cursor()
		from.Entry, _ = st.Leaf(core.MainHead).ID()
		return nil
	})
	child := st.Child(s.cfg.NewID(), s.now())
	if err := s.create(ctx, child, from); err != nil {
		return "", err
	}
	line, err := nova.Fork(child.SessionID)
	if err != nil {
		return "", err
	}
	if _, err := s.change(ctx, parent, line); err != nil {
		return child.SessionID, fmt.Errorf("session %s was forked, but its parent does not count it: %w", child.SessionID, err)
	}
	return child.SessionID, nil
}

// Cleanup drops a session from memory and puts it in the trash of the log, with
// why. core.ErrNotFound where it is not open. A log that refuses is logged and
// no error, as with Nova: the session is out of memory.
func (s *Sessions) Cleanup(ctx context.Context, id, why string) error {
	s.mu.Lock()
	sess := s.open[id]
	delete(s.open, id)
	s.mu.Unlock()
	if sess == nil {
		return s.missing(id)
	}
	err := sess.Delete(ctx, core.Notice{By: s.cfg.By, Host: s.cfg.Host, Time: s.cfg.Now().UTC(), Why: why})
	if err != nil {
		s.cfg.Logger.Error("cleaned-up Nova session stays in the log", "session", id, "err", err)
		return nil
	}
	s.cfg.Logger.Info("cleaned up Nova session", "session", id, "why", why)
	return nil
}

// State returns the session's state as the log has it now. It is the caller's
// own: changing it changes no session. core.ErrNotFound where it is not open.
func (s *Sessions) State(ctx context.Context, id string) (nova.State, error) {
	sess, err := s.session(id)
	if err != nil {
		return nova.State{}, err
	}
	if err := sess.Refresh(ctx); err != nil {
		return nova.State{}, err
	}
	return folded(sess), nil
}

// Update sets fields of the state, see nova.Update, and returns what came out.
func (s *Sessions) Update(ctx context.Context, id string, updates json.RawMessage) (nova.State, error) {
	line, err := nova.Update(updates)
	if err != nil {
		return nova.State{}, err
	}
	return s.change(ctx, id, line)
}

// Change appends a line that a function of package nova made, such as
// nova.AddArtifact, and returns the state that came out.
func (s *Sessions) Change(ctx context.Context, id string, line []byte) (nova.State, error) {
	return s.change(ctx, id, line)
}

// PruneIfNeeded compresses the state where it is due, and reports whether it
// was.
func (s *Sessions) PruneIfNeeded(ctx context.Context, id string) (bool, error) {
	st, err := s.State(ctx, id)
	if err != nil || !st.ShouldPrune(s.cfg.Limits) {
		return false, err
	}
	line, err := nova.Compress(s.cfg.Limits, true)
	if err != nil {
		return false, err
	}
	_, err = s.change(ctx, id, line)
	return err == nil, err
}

// A Settings is what was said of a session when it was made.
type Settings struct {
	CreatedAt string
	Tags      []string
	Parent    string // the session it was forked from, empty for none
}

// Settings returns those of an open session.
func (s *Sessions) Settings(ctx context.Context, id string) (Settings, error) {
	st, err := s.State(ctx, id)
	return Settings{CreatedAt: st.CreatedAt, Tags: st.Tags, Parent: st.ForkParentID}, err
}

// List returns the ids of the open sessions that have every one of tags, all
// where there are none, in order.
func (s *Sessions) List(tags ...string) []string {
	var ids []string
	for id, sess := range s.all() {
		st := folded(sess)
		if !slices.ContainsFunc(tags, func(t string) bool { return !slices.Contains(st.Tags, t) }) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// change appends one line and returns the state behind it.
func (s *Sessions) change(ctx context.Context, id string, line []byte) (nova.State, error) {
	sess, err := s.session(id)
	if err != nil {
		return nova.State{}, err
	}
	if _, err := sess.Append(ctx, stream.Append{Lines: [][]byte{line}}); err != nil {
		return nova.State{}, err
	}
	return folded(sess), nil
}

func folded(sess *stream.Session) (st nova.State) {
	_ = sess.View(func(v *core.State) error {
		st = nova.Fold(v.Header, v.Entries)
		return nil
	})
	return st
}

func (s *Sessions) session(id string) (*stream.Session, error) {
	s.mu.Lock()
	sess := s.open[id]
	s.mu.Unlock()
	if sess == nil {
		return nil, s.missing(id)
	}
	return sess, nil
}

func (s *Sessions) all() map[string]*stream.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.open)
}

// named is how many open sessions an error names.
const named = 20

func (s *Sessions) missing(id string) error {
	ids := slices.Sorted(maps.Keys(s.all()))
	there := "none is open"
	if len(ids) > 0 {
		there = "open are: " + strings.Join(ids[:min(named, len(ids))], ", ")
	}
	if len(ids) > named {
		there += fmt.Sprintf(" and %d more", len(ids)-named)
	}
	return fmt.Errorf("session %q, %s: %w", id[:min(len(id), 140)], there, core.ErrNotFound)
}

func (s *Sessions) now() string { return s.cfg.Now().UTC().Format("2006-01-02T15:04:05.000000Z") }
