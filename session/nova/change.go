package nova

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	dialect "github.com/sesslog/sesslog/core/dialect/nova"
	"github.com/sesslog/sesslog/session"
)

// change appends the lines that build makes from the state, and returns the
// state after them. If another writer changed the session first, build is called
// again. If build returns no lines, nothing changes.
func (ss *Sessions) change(ctx context.Context, id string, build func(v *view) ([][]byte, error)) (dialect.State, error) {
	h, err := ss.session(ctx, id)
	if err != nil {
		return dialect.State{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	key := newUUID() // names the lines, so that an append with an unknown outcome is recognized
	for {
		v := h.view
		if v == nil {
			if v, err = ss.reload(ctx, id, h); err != nil {
				return dialect.State{}, err
			}
			if v.has(key + "-0") {
				return v.state, nil
			}
		}
		es, err := ss.entries(v, key, build)
		if err != nil || len(es) == 0 {
			return v.state, err
		}
		h.view, err = ss.append(ctx, h.id, v, es)
		if gone(err) {
			ss.drop(id)
		}
		if err != nil && !retryable(err) {
			return v.state, err
		}
		if h.view != nil {
			return h.view.state, nil
		}
	}
}

// entries returns what build makes of v, with ids that start with key.
func (ss *Sessions) entries(v *view, key string, build func(v *view) ([][]byte, error)) ([]core.Entry, error) {
	lines, err := build(v)
	if err != nil {
		return nil, err
	}
	es := make([]core.Entry, len(lines))
	now := isoTime(ss.cfg.Now())
	for i, line := range lines {
		if es[i], err = (dialect.Dialect{}).Fill(line, core.Fields{ID: fmt.Sprintf("%s-%d", key, i), Time: now}); err != nil {
			return nil, err
		}
	}
	return es, nil
}

// append stores entries after v and returns the view after them. The view is
// nil if the session has to be loaded to know it.
func (ss *Sessions) append(ctx context.Context, id core.SessionID, v *view, es []core.Entry) (*view, error) {
	lines := make([][]byte, len(es))
	for i := range es {
		lines[i] = es[i].Line
	}
	rec, err := ss.cfg.Log.Append(ctx, id, session.Writing{Head: core.MainHead, After: v.cursor}, lines)
	if err != nil || rec.Stored < len(es) {
		return nil, err
	}
	if line, _ := (dialect.Dialect{}).Complete(v.header, v.entries, es); line != nil {
		return nil, nil // the log added it
	}
	return v.with(es, rec.Cursor), nil
}

// retryable reports whether loading the session tells what to do about err: the
// session has changed, or the outcome is unknown.
func retryable(err error) bool {
	_, moved := errors.AsType[*core.ConflictError](err)
	return moved || errors.Is(err, core.ErrUncertain)
}

// A Task is what an agent needs to run a task in a session.
type Task struct {
	SessionID         string
	ResumeFromSession string // the same id, by the name that the agent's kit asks for
	Context           string // for the prompt, see dialect.State.Text
	State             dialect.State
	Model             string
}

// RunTask records that a task runs: one turn, and made if it is not nil. It
// compresses a state that is over its limits in the same append. It does not
// store what the user says. Errors are those of GetOrCreate.
func (ss *Sessions) RunTask(ctx context.Context, id string, made *dialect.Decision) (Task, error) {
	line, err := dialect.NewTask(1, made, ss.cfg.Prune)
	if err != nil {
		return Task{}, err
	}
	s, err := ss.add(ctx, id, line)
	if err != nil {
		return Task{}, err
	}
	ss.cfg.Logger.Debug("nova task", "session", id, "turn", s.TurnCount, "decisions", len(s.Decisions))
	return Task{SessionID: id, ResumeFromSession: id, Context: s.Text(), State: s, Model: s.Model}, nil
}

// AddDecision adds a decision and returns the state after it.
func (ss *Sessions) AddDecision(ctx context.Context, id string, d dialect.Decision) (dialect.State, error) {
	line, err := dialect.NewDecision(d)
	if err != nil {
		return dialect.State{}, err
	}
	return ss.add(ctx, id, line)
}

// AddArtifact records the path of an artifact and returns the state after it.
func (ss *Sessions) AddArtifact(ctx context.Context, id, name, path string) (dialect.State, error) {
	line, err := dialect.NewArtifact(name, path)
	if err != nil {
		return dialect.State{}, err
	}
	return ss.add(ctx, id, line)
}

// AddTokens counts n used tokens and returns the state after them. A negative n
// counts as 0.
func (ss *Sessions) AddTokens(ctx context.Context, id string, n int64) (dialect.State, error) {
	return ss.add(ctx, id, dialect.NewTokens(n))
}

// Update sets the fields that people may set, see dialect.NewUpdate, and returns
// the state after it.
func (ss *Sessions) Update(ctx context.Context, id string, updates []byte) (dialect.State, error) {
	line, err := dialect.NewUpdate(updates)
	if err != nil {
		return dialect.State{}, err
	}
	return ss.add(ctx, id, line)
}

func (ss *Sessions) add(ctx context.Context, id string, line []byte) (dialect.State, error) {
	return ss.change(ctx, id, func(*view) ([][]byte, error) { return [][]byte{line}, nil })
}

// PruneIfNeeded compresses a state that is over its limits, and reports whether
// it did.
func (ss *Sessions) PruneIfNeeded(ctx context.Context, id string) (bool, error) {
	pruned := false
	_, err := ss.change(ctx, id, func(v *view) ([][]byte, error) {
		if pruned = v.state.ShouldPrune(ss.cfg.Prune); !pruned {
			return nil, nil
		}
		return [][]byte{dialect.NewCompress(ss.cfg.Prune)}, nil
	})
	return pruned && err == nil, err
}

// Fork makes a session that continues from parent, which counts it, and returns
// its id.
func (ss *Sessions) Fork(ctx context.Context, parent string) (string, error) {
	h, err := ss.session(ctx, parent)
	if err != nil {
		return "", err
	}
	child := ss.cfg.NewID()
	f := session.Fork{ID: core.SessionIDFor("nova", child), Whole: true, By: ss.cfg.By, Key: newUUID()}
	err = retry(func() error {
		_, err := ss.cfg.Log.Fork(ctx, h.id, f)
		return err
	})
	if gone(err) {
		ss.drop(parent)
	}
	if err != nil {
		return "", err
	}
	ss.hold(child, &held{id: f.ID})
	ss.cfg.Logger.Info("nova session forked", "session", child, "parent", parent)
	return child, nil
}
