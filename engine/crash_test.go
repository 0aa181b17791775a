package engine_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream/streamtest"
)

var errDied = errors.New("this process is dead")

// A mortal is a process that crashes at its nth request to the log or the object
// store. If late is set, the request is executed and its answer lost; otherwise it is
// never sent.
type mortal struct {
	log   core.Log
	blobs *streamtest.Blobs

	mu   sync.Mutex
	n    int // requests before the crash; 0 means no crash
	late bool
	dead bool
}

// ask sends one request unless the process has crashed.
func (m *mortal) ask(f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDied
	}
	if m.n--; m.n != 0 {
		return f()
	}
	m.dead = true
	if m.late {
		_ = f()
	}
	return errDied
}

func (m *mortal) Name() string { return m.log.Name() }

func (m *mortal) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (pos core.Pos, err error) {
	err = m.ask(func() error { pos, err = m.log.Append(ctx, id, after, r); return err })
	return pos, err
}

func (m *mortal) Last(ctx context.Context, id core.SessionID) (r *core.Record, err error) {
	err = m.ask(func() error { r, err = m.log.Last(ctx, id); return err })
	return r, err
}

func (m *mortal) At(ctx context.Context, id core.SessionID, pos core.Pos) (r *core.Record, err error) {
	err = m.ask(func() error { r, err = m.log.At(ctx, id, pos); return err })
	return r, err
}

func (m *mortal) Read(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	if err := m.ask(func() error { return nil }); err != nil {
		return func(yield func(*core.Record, error) bool) { yield(nil, err) }
	}
	return m.log.Read(ctx, id, after, upTo)
}

func (m *mortal) Follow(ctx context.Context, id core.SessionID, after core.Pos) iter.Seq2[*core.Record, error] {
	return m.log.Follow(ctx, id, after)
}

func (m *mortal) Put(ctx context.Context, p []byte) (d core.Digest, err error) {
	err = m.ask(func() error { d, err = m.blobs.Put(ctx, p); return err })
	return d, err
}

func (m *mortal) Get(ctx context.Context, d core.Digest) (b []byte, err error) {
	err = m.ask(func() error { b, err = m.blobs.Get(ctx, d); return err })
	return b, err
}

func (m *mortal) Load(ctx context.Context, man *core.Manifest) (plain []byte, checked func() error, err error) {
	err = m.ask(func() error { plain, checked, err = m.blobs.Load(ctx, man); return err })
	return plain, checked, err
}

func (m *mortal) sessions() *engine.Sessions {
	return engine.NewSessions(engine.Config{
		Log: full(m), Blobs: m, Snapshots: m, Dialects: dialect.All(), Host: "host", Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	})
}

// crashSession is the session that life writes, and crashFork its fork.
const crashSession, crashFork core.SessionID = "session-1", "session-2"

// life is a list of requests that are safe to retry: each sets its ids explicitly.
var life = []struct {
	name string
	do   func(ctx context.Context, m *mortal, ss *engine.Sessions) error
}{
	{"create", func(ctx context.Context, _ *mortal, ss *engine.Sessions) error {
		h, err := pi.Dialect{}.Header([]byte(crashHeader))
		if err != nil {
			return err
		}
		_, err = ss.Create(ctx, engine.CreateRequest{ID: crashSession, Origin: core.Origin{Dialect: "pi", Key: "made"}, Header: h})
		return err
	}},
	{"append", appends("", message("a"), message("b"))},
	{"append an image", appends("", strings.Replace(message("i"), `"hi"`, `[{"type":"image","mimeType":"image/png","data":"`+base64.StdEncoding.EncodeToString([]byte(strings.Repeat("pixels", 300)))+`"}]`, 1))},
	{"append what is kept as a blob", appends("", large("l"))},
	{"claim", claims("writer-0001", false)},
	{"append by the holder", appends("writer-0001", message("c"))},
	{"take over", claims("writer-0002", true)},
	{"append by the next", appends("writer-0002", message("d"))},
	{"amend", func(ctx context.Context, _ *mortal, ss *engine.Sessions) error {
		return with(ctx, ss, func(s *engine.Session) error {
			a := engine.Amend{Writer: "writer-0002", Change: func(st *core.State) ([]core.Entry, error) {
				e, _ := st.Entry("b")
				e.Line = []byte(strings.Replace(string(e.Line), `"hi"`, `"ho"`, 1))
				return []core.Entry{e}, nil
			}}
			_, err := s.Amend(ctx, a)
			return err
		})
	}},
	{"checkpoint", checkpoints},
	{"move", func(ctx context.Context, _ *mortal, ss *engine.Sessions) error {
		return with(ctx, ss, func(s *engine.Session) error { return s.Move(ctx, "side", "", core.LeafAt("a")) })
	}},
	{"fork", func(ctx context.Context, _ *mortal, ss *engine.Sessions) error {
		return with(ctx, ss, func(s *engine.Session) error {
			_, err := ss.Fork(ctx, s, session.Fork{ID: crashFork, Whole: true, Key: "forked"})
			return err
		})
	}},
	{"release", func(ctx context.Context, _ *mortal, ss *engine.Sessions) error {
		return with(ctx, ss, func(s *engine.Session) error {
			return s.Release(ctx, core.MainHead, "writer-0002", core.Notice{By: "me"})
		})
	}},
	{"import", func(ctx context.Context, m *mortal, ss *engine.Sessions) error {
		raw := []byte(crashHeader + "\n" + entry("x", "") + "\n" + entry("y", "x") + "\n")
		raw = []byte(strings.Replace(string(raw), string(crashSession), "imported-1", 1))
		f, err := pi.Dialect{}.File(raw)
		if err != nil {
			return err
		}
		_, err = ss.Import(ctx, f, raw, core.Origin{}, engine.ImportOptions{})
		return err
	}},
	{"a second checkpoint", checkpoints},
}

const crashHeader = `{"type":"session","version":3,"id":"session-1","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}`

func with(ctx context.Context, ss *engine.Sessions, f func(*engine.Session) error) error {
	s, err := ss.Open(ctx, crashSession)
	if err != nil {
		return err
	}
	return f(s)
}

func appends(writer string, lines ...string) func(context.Context, *mortal, *engine.Sessions) error {
	return func(ctx context.Context, _ *mortal, ss *engine.Sessions) error {
		return with(ctx, ss, func(s *engine.Session) error {
			_, err := s.Append(ctx, engine.Append{Writer: writer, Lines: rawLines(lines)})
			return err
		})
	}
}

func claims(writer string, takeOver bool) func(context.Context, *mortal, *engine.Sessions) error {
	return func(ctx context.Context, _ *mortal, ss *engine.Sessions) error {
		return with(ctx, ss, func(s *engine.Session) error {
			_, _, err := s.Claim(ctx, core.ClaimRequest{Writer: writer, TakeOver: takeOver})
			return err
		})
	}
}

func checkpoints(ctx context.Context, m *mortal, ss *engine.Sessions) error {
	return with(ctx, ss, func(s *engine.Session) error {
		d := draft(s)
		if _, err := m.Put(ctx, d.Plain); err != nil {
			return err
		}
		return s.Checkpoint(ctx, d)
	})
}

// live runs all requests in one process. If it crashes, another process retries the
// interrupted request and continues.
func live(ctx context.Context, t *testing.T, l core.Log, b *streamtest.Blobs, n int, late bool) (died string) {
	t.Helper()
	m := &mortal{log: l, blobs: b, n: n, late: late}
	ss := m.sessions()
	for _, step := range life {
		err := step.do(ctx, m, ss)
		if m.dead {
			died = step.name
			m = &mortal{log: l, blobs: b}
			ss = m.sessions()
			err = step.do(ctx, m, ss)
		}
		if err != nil {
			t.Fatalf("crash at request %d (late: %v), in %q; then %s: %v", n, late, died, step.name, err)
		}
	}
	return died
}

// remains is everything that a reader sees at the end.
func remains(t *testing.T, l core.Log, b *streamtest.Blobs) string {
	t.Helper()
	var out strings.Builder
	for _, id := range []core.SessionID{crashSession, crashFork, "imported-1"} {
		in := inspect(t, node(l, b), id)
		if len(in.Faults)+len(in.Orphans) > 0 || in.State == nil {
			t.Fatalf("session %s: %v, %v", id, in.Faults, in.Orphans)
		}
		fmt.Fprintf(&out, "%s %s", id, in.State.Render())
		for _, name := range in.State.HeadNames() {
			h := in.State.Heads[name]
			fmt.Fprintf(&out, "%s at %+v held %v\n", name, h.Leaf, h.Claim != nil)
		}
	}
	return out.String()
}

func TestRetryAfterCrashAtAnyRequestGivesSameState(t *testing.T) {
	t.Parallel()
	l, b := memlog.New("test"), streamtest.NewBlobs()
	if died := live(t.Context(), t, l, b, 0, false); died != "" {
		t.Fatalf("unexpected crash in %q", died)
	}
	want := remains(t, l, b)
	deaths := map[string]int{}
	points := 0
	for _, late := range []bool{false, true} {
		for n := 1; ; n++ {
			l, b := memlog.New("test"), streamtest.NewBlobs()
			died := live(t.Context(), t, l, b, n, late)
			if died == "" {
				break
			}
			deaths[died]++
			points++
			if got := remains(t, l, b); got != want {
				t.Fatalf("crash at request %d (late: %v), in %q: the result differs\ngot\n%.3000s\nwant\n%.3000s", n, late, died, got, want)
			}
		}
	}
	for _, step := range life {
		if deaths[step.name] == 0 {
			t.Errorf("no crash in %q", step.name)
		}
	}
	t.Logf("%d crashes: %v", points, deaths)
}
