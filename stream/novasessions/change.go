package novasessions

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/nova"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/stream"
)

// A view is a session as it stood at a cursor. Its entries are the log's.
type view struct {
	state   nova.State
	header  core.Header
	entries []core.Entry
	cursor  core.Cursor
	claimed bool
}

// look returns the session as it is known here. core.ErrDeleted where it is in
// the trash.
func look(s *stream.Session) (view, error) {
	var v view
	err := s.View(func(st *core.State) error {
		v.header, v.entries, v.cursor = st.Header, st.Entries, st.Cursor()
		h := st.Heads[core.MainHead]
		v.claimed = h != nil && h.Claim != nil
		return st.Writable()
	})
	v.state = nova.Fold(v.header, v.entries)
	return v, err
}

// change appends the lines that build makes of the state, and returns the state
// behind them. Where another change came first, build is asked again. No lines
// are no change.
func (ss *Sessions) change(ctx context.Context, id string, build func(v view) ([][]byte, error)) (nova.State, error) {
	s, err := ss.session(ctx, id)
	if err != nil {
		return nova.State{}, err
	}
	mine := newUUID() // names the lines, so that a change of unknown outcome is found again
	for {
		v, err := look(s)
		if gone(err) {
			ss.drop(id)
		}
		if err != nil || v.has(mine+"-0") {
			return v.state, err
		}
		lines, err := build(v)
		if err != nil || len(lines) == 0 {
			return v.state, err
		}
		_, err = s.Append(ctx, stream.Append{
			After: &v.cursor, Lines: lines, Time: isoTime(ss.cfg.Now()),
			ID: func(i int) string { return fmt.Sprintf("%s-%d", mine, i) },
		})
		if err != nil && !again(err) {
			return v.state, err
		}
		if err != nil {
			if err := s.Refresh(ctx); err != nil {
				return v.state, err
			}
		}
	}
}

// again reports whether a look at the session tells what to do about err: it
// moved on, or the answer was lost.
func again(err error) bool {
	_, moved := errors.AsType[*core.ConflictError](err)
	return moved || errors.Is(err, core.ErrUncertain)
}

// has reports whether an entry of this id is there, which would be a late one.
func (v view) has(id string) bool {
	for i := len(v.entries) - 1; i >= 0; i-- {
		if v.entries[i].ID == id {
			return true
		}
	}
	return false
}

// with is the state once line is there too, written at time.
func (v view) with(line []byte, time string) (nova.State, error) {
	e, err := nova.Dialect{}.Fill(line, core.Fields{ID: "next", Time: time})
	if err != nil {
		return nova.State{}, err
	}
	return nova.Fold(v.header, append(v.entries[:len(v.entries):len(v.entries)], e)), nil
}

// A Task is what an agent needs to run a task in a session.
type Task struct {
	SessionID         string
	ResumeFromSession string // the same, by the name that the agent's kit asks for
	Context           string // for the prompt, see nova.State.Text
	State             nova.State
	Model             string
}

// RunTask notes that a task runs: a turn, and the decision where there is one.
// A state that is over its limits is compressed with it. What the user says is
// not kept: a state holds no content. core.ErrNotFound as for GetOrCreate.
func (ss *Sessions) RunTask(ctx context.Context, id string, made *nova.Decision) (Task, error) {
	task, err := nova.NewTask(1, made)
	if err != nil {
		return Task{}, err
	}
	s, err := ss.change(ctx, id, func(v view) ([][]byte, error) {
		next, err := v.with(task, isoTime(ss.cfg.Now()))
		if err != nil {
			return nil, err
		}
		if next.ShouldPrune(ss.cfg.Prune) {
			return [][]byte{task, nova.NewCompress(ss.cfg.Prune)}, nil
		}
		return [][]byte{task}, nil
	})
	if err != nil {
		return Task{}, err
	}
	ss.cfg.Logger.Debug("nova task", "session", id, "turn", s.TurnCount, "decisions", len(s.Decisions))
	return Task{SessionID: id, ResumeFromSession: id, Context: s.Text(), State: s, Model: s.Model}, nil
}

// AddDecision notes a decision and returns the state behind it.
func (ss *Sessions) AddDecision(ctx context.Context, id string, d nova.Decision) (nova.State, error) {
	line, err := nova.NewDecision(d)
	if err != nil {
		return nova.State{}, err
	}
	return ss.add(ctx, id, line)
}

// AddArtifact notes where an artifact is and returns the state behind it.
func (ss *Sessions) AddArtifact(ctx context.Context, id, name, path string) (nova.State, error) {
	line, err := nova.NewArtifact(name, path)
	if err != nil {
		return nova.State{}, err
	}
	return ss.add(ctx, id, line)
}

// AddTokens notes that n tokens were used, below 0 none, and returns the state
// behind it.
func (ss *Sessions) AddTokens(ctx context.Context, id string, n int64) (nova.State, error) {
	return ss.add(ctx, id, nova.NewTokens(n))
}

// Update sets what people may set of a session, see nova.NewUpdate, and returns
// the state behind it.
func (ss *Sessions) Update(ctx context.Context, id string, updates []byte) (nova.State, error) {
	line, err := nova.NewUpdate(updates)
	if err != nil {
		return nova.State{}, err
	}
	return ss.add(ctx, id, line)
}

func (ss *Sessions) add(ctx context.Context, id string, line []byte) (nova.State, error) {
	return ss.change(ctx, id, func(view) ([][]byte, error) { return [][]byte{line}, nil })
}

// PruneIfNeeded compresses a state that is over its limits, and reports whether
// it did.
func (ss *Sessions) PruneIfNeeded(ctx context.Context, id string) (bool, error) {
	pruned := false
	_, err := ss.change(ctx, id, func(v view) ([][]byte, error) {
		if pruned = v.state.ShouldPrune(ss.cfg.Prune); !pruned {
			return nil, nil
		}
		return [][]byte{nova.NewCompress(ss.cfg.Prune)}, nil
	})
	return pruned && err == nil, err
}

// Fork makes a session that goes on from another and returns its id. The other
// counts it. Where only that fails, the id comes with the error.
func (ss *Sessions) Fork(ctx context.Context, parent string) (string, error) {
	s, err := ss.session(ctx, parent)
	if err != nil {
		return "", err
	}
	if err := s.Refresh(ctx); err != nil {
		return "", err
	}
	v, err := look(s)
	if err != nil {
		return "", err
	}
	child := v.state.Fork(ss.cfg.NewID(), nova.Time(ss.cfg.Now()))
	from := core.Lineage{Session: s.ID(), Cursor: v.cursor, Kind: string(lineage.Fork)}
	from.Entry, _ = nova.Dialect{}.Leaf(v.entries).ID()
	if err := ss.create(ctx, child, v.header.CWD, core.Origin{Parents: []core.Lineage{from}}); err != nil {
		return "", err
	}
	ss.cfg.Logger.Info("nova session forked", "session", child.SessionID, "parent", parent)
	line, err := nova.NewForked(child.SessionID)
	if err == nil {
		_, err = ss.add(ctx, parent, line)
	}
	if err != nil {
		err = fmt.Errorf("session %s is there, its parent does not count it: %w", child.SessionID, err)
	}
	return child.SessionID, err
}
