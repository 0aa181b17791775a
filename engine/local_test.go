package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/sessiontest"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// OP-33, OMP-29, OMP-38, OMP-39: package session keeps its guarantees over this log,
// in memory and on a server.
func TestSessionsOverMemoryLog(t *testing.T) {
	t.Parallel()
	sessiontest.Run(t, func(t *testing.T) sessiontest.Place { return place(memlog.New("test")) })
}

func TestSessionsOverServerLog(t *testing.T) {
	t.Parallel()
	server := embeddedtest.Start(t)
	sessiontest.Run(t, func(t *testing.T) sessiontest.Place {
		return place(streamtest.Open(t, streamtest.Connect(t, server), stream.LogConfig{}))
	})
}

func place(l core.Log) sessiontest.Place {
	f := &finder{Log: l}
	f.sessions = node(f, streamtest.NewBlobs())
	return sessiontest.Place{
		Log:     engine.NewLocal(f.sessions, f),
		Records: func(t *testing.T, id core.SessionID) int { return len(records(t, l, id)) },
	}
}

// A finder records the sessions made through it, in order of their last change.
type finder struct {
	core.Log
	sessions *engine.Sessions

	mu  sync.Mutex
	ids []core.SessionID
}

func (f *finder) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	pos, err := f.Log.Append(ctx, id, after, r)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ids = append(slices.DeleteFunc(f.ids, func(other core.SessionID) bool { return other == id }), id)
	}
	return pos, err
}

func (f *finder) Find(ctx context.Context, q session.Query) (found []session.Found, err error) {
	f.mu.Lock()
	ids := slices.Clone(f.ids)
	f.mu.Unlock()
	for _, id := range slices.Backward(ids) {
		s, err := f.sessions.Open(ctx, id)
		if err != nil {
			return nil, err
		}
		_ = s.View(func(st *core.State) error {
			row := session.Found{ID: id, Dialect: st.Dialect.Name(), CWD: st.Header.CWD, Summary: st.Dialect.Summary(st.Header, st.Entries)}
			if (q.CWD == "" || q.CWD == row.CWD) && (q.Dialect == "" || q.Dialect == row.Dialect) && strings.Contains(row.Name, q.Text) {
				found = append(found, row)
			}
			return nil
		})
		if q.Limit > 0 && len(found) >= q.Limit {
			break
		}
	}
	return found, nil
}

// OP-10: a line that an agent cannot read is rejected in an append, and kept if it
// comes in a file.
func TestAppendRefusesWhatTheAgentWouldNotRead(t *testing.T) {
	_, ss, _ := inMemory()
	s := createOperator(t, ss)
	for line, want := range map[string]error{
		`{"type":"thinking_level_change","thinking_level":"high"}`:      nil,
		`{"type":"thinking_level_change","thinking_level":"very high"}`: core.ErrInvalid,
		`{"type":"model_change","model_id":"m"}`:                        core.ErrInvalid,
		`{"type":"unheard_of"}`:                                         core.ErrInvalid,
	} {
		if _, err := appendLines(t.Context(), s, line); !errors.Is(err, want) {
			t.Errorf("%s: error is %v, want %v", line, err, want)
		}
		if _, err := s.Append(t.Context(), engine.Append{Lines: rawLines([]string{line}), Loose: true}); err != nil {
			t.Errorf("%s, loose: %v", line, err)
		}
	}
}

// OP-22: an Operator session's position is the target of its leaf entry, and the next
// line of the same append has that parent.
func TestLineAfterLeafEntryFollowsItsTarget(t *testing.T) {
	_, ss, _ := inMemory()
	s := createOperator(t, ss)
	first := mustAppend(t, s, "", "", operatorMessage, operatorMessage)
	rec := mustAppend(t, s, "", "", `{"type":"leaf","target_id":"`+first.IDs[0]+`"}`, operatorMessage)
	e, _ := state(t, s).Entry(rec.IDs[1])
	testkit.Equal(t, "parent", first.IDs[0], e.Parent)
	mustAppend(t, s, "", "", `{"type":"leaf","target_id":"`+first.IDs[1]+`"}`)
	rec = mustAppend(t, s, "", "", operatorMessage)
	e, _ = state(t, s).Entry(rec.IDs[0])
	testkit.Equal(t, "parent in the next append", first.IDs[1], e.Parent)
	if len(e.ID) != 8 {
		t.Errorf("the id %q is not in Operator's format", e.ID)
	}
}

const operatorMessage = `{"type":"message","message":{"role":"user","contents":[{"type":"text","content":"hi"}]}}`

func createOperator(t *testing.T, ss *engine.Sessions) *engine.Session {
	t.Helper()
	s, err := ss.CreateStrict(t.Context(), session.New{
		ID: "operator1", Dialect: "operator", Header: []byte(`{"type":"session","version":3,"id":"operator1","timestamp":1.5,"cwd":"/w"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
