package sim

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream"
)

// Load implements engine.Snapshots.
func (k *kept) Load(ctx context.Context, m *core.Manifest) (plain []byte, checked func() error, err error) {
	plain, err = k.Get(ctx, m.SHA256)
	return plain, func() error { return nil }, err
}

// A past is a log in which session1 has the lines a and c, and then an orphan checkpoint
// of a lost history, which had b.
type past struct {
	t      *testing.T
	b      *broker
	blobs  *kept
	log    *stream.Log
	shard  *jstream
	stray  core.Pos
	before core.Pos // position of the record before the checkpoint
}

func (p *past) node() *engine.Sessions {
	return engine.NewSessions(engine.Config{Log: p.log, Blobs: p.blobs, Snapshots: p.blobs, Dialects: dialect.All(), Logger: slog.New(slog.DiscardHandler)})
}

func (p *past) say(s *engine.Session, id string) {
	p.t.Helper()
	line := fmt.Sprintf(`{"type":"message","id":%q,"message":{"role":"user","content":"hi"}}`, id)
	if _, err := s.Append(p.t.Context(), engine.Append{Lines: [][]byte{[]byte(line)}}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *past) checkpoint(ctx context.Context, s *engine.Session) error {
	d := s.Draft(func(seq uint64, sum core.Digest) string { return fmt.Sprint(seq, sum) })
	if _, err := p.blobs.Put(ctx, d.Plain); err != nil {
		return err
	}
	return s.Checkpoint(ctx, d)
}

// wantLines opens the session as a new reader does.
func (p *past) wantLines(want string) {
	p.t.Helper()
	s, err := p.node().Open(p.t.Context(), "session1")
	if err != nil {
		p.t.Fatal(err)
	}
	_ = s.View(func(st *core.State) error {
		var ids []string
		for i := range st.Entries {
			ids = append(ids, st.Entries[i].ID)
		}
		if have := strings.Join(ids, " "); have != want {
			p.t.Errorf("the session has the lines %q, want those of the log's own records, %q", have, want)
		}
		return nil
	})
}

func forgottenPast(t *testing.T) *past {
	t.Helper()
	ctx, b, k := t.Context(), newBroker(), &kept{}
	p := &past{t: t, b: b, blobs: k, log: openLog(t, dial(t, b, "one"), k)}
	birth := engine.CreateRequest{ID: "session1", Origin: core.Origin{Dialect: "pi"}}
	var err error
	if birth.Header, err = (pi.Dialect{}).Header(pi.Dialect{}.NewHeader(core.HeaderFields{ID: "session1", Time: "2026-01-02T03:04:05.678Z", CWD: "/w"})); err != nil {
		t.Fatal(err)
	}
	s, err := p.node().Create(ctx, birth)
	if err != nil {
		t.Fatal(err)
	}
	p.say(s, "a")
	p.say(s, "b")
	if err := p.checkpoint(ctx, s); err != nil {
		t.Fatal(err)
	}
	stray, err := p.log.Last(ctx, "session1")
	if err != nil {
		t.Fatal(err)
	}
	p.shard = b.streams[fmt.Sprintf("SESS_main_%02d", p.log.Shard("session1"))]
	b.mu.Lock() // lose the checkpoint and b
	p.shard.msgs, p.shard.last = p.shard.msgs[:2], 2
	b.mu.Unlock()
	other, err := p.node().Open(ctx, "session1")
	if err != nil {
		t.Fatal(err)
	}
	p.say(other, "c")
	p.before = 3
	if p.stray, err = p.log.Append(ctx, "session1", p.before, stray); err != nil { // a delayed request
		t.Fatal(err)
	}
	return p
}

// The session's last record is a checkpoint of a history that the log has lost. Truncate
// does not trust it: the session is read from its real base until another checkpoint
// covers it.
func TestOrphanCheckpointAllowsNoTruncation(t *testing.T) {
	t.Parallel()
	p := forgottenPast(t)
	if err := p.node().Truncate(t.Context(), p.log, p.log.Shard("session1"), p.stray, p.checkpoint); err != nil {
		t.Fatal(err)
	}
	p.wantLines("a c")
}

// The checkpoint is not a base either if a leader without a quorum lacks the record before
// it: that does not mean that the record was truncated.
func TestOrphanCheckpointIsNoBaseIfLeaderLacksRecords(t *testing.T) {
	t.Parallel()
	p := forgottenPast(t)
	asked := 0
	p.b.mu.Lock()
	p.b.twists = func(q *pub) *twist {
		verb, _, _ := api(q.subject)
		if verb != "STREAM.MSG.GET" || string(q.data) != fmt.Sprintf(`{"seq":%d}`, p.before) {
			return nil
		}
		if asked++; asked > 2 {
			return nil
		}
		return &twist{lag: 2}
	}
	p.b.mu.Unlock()
	p.wantLines("a c")
	if asked == 0 {
		t.Error("nobody asked for the record before the checkpoint")
	}
}

// The answer to a read is several messages. If one is lost, even the first, the read is
// repeated and no reader sees a gap. Without its last message, an answer looks like that
// of a lagging replica, which every reader handles.
func TestIncompleteBatchIsRetried(t *testing.T) {
	t.Parallel()
	for lost := range 2 {
		b := newBroker()
		l := openLog(t, dial(t, b, "one"), &kept{})
		var after core.Pos
		for i := range 3 {
			r := &core.Record{Kind: core.KindAppend, Seq: uint64(i + 1), Head: core.MainHead, Writer: "w"}
			r.Chain = core.Chain{}.Next(r)
			var err error
			if after, err = l.Append(t.Context(), "session1", after, r); err != nil {
				t.Fatal(err)
			}
		}
		n := -1
		b.mu.Lock()
		b.loses = func(d *delivery) bool { n++; return n == lost }
		b.mu.Unlock()
		var got []uint64
		for r, err := range l.Read(t.Context(), "session1", 0, after) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.Seq)
		}
		if fmt.Sprint(got) != "[1 2 3]" {
			t.Errorf("message %d of the answer was lost, the reader has the records %v", lost+1, got)
		}
	}
}
