package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/pi"
	"github.com/sesslog/sesslog/stream"
)

// Load implements stream.Snapshots.
func (k *kept) Load(ctx context.Context, m *core.Manifest) (plain []byte, checked func() error, err error) {
	plain, err = k.Get(ctx, m.SHA256)
	return plain, func() error { return nil }, err
}

// A checkpoint of a past that the log has forgotten is the session's last
// record. What it says it covers is not dropped on its word: the session is
// read from its real base, until a checkpoint of its own covers it.
func TestAStrayCheckpointLetsNothingBeDropped(t *testing.T) {
	t.Parallel()
	ctx, b, k := t.Context(), newBroker(), &kept{}
	l := openLog(t, dial(t, b, "one"), k)
	node := func() *stream.Sessions {
		return stream.NewSessions(stream.Config{Log: l, Blobs: k, Snapshots: k, Dialects: dialect.All()})
	}
	birth := stream.Birth{ID: "session1", Origin: core.Origin{Dialect: "pi"}}
	var err error
	if birth.Header, err = (pi.Dialect{}).Header(pi.Dialect{}.NewHeader(core.HeaderFields{ID: "session1", Time: "2026-01-02T03:04:05.678Z", CWD: "/w"})); err != nil {
		t.Fatal(err)
	}
	s, err := node().Create(ctx, birth)
	if err != nil {
		t.Fatal(err)
	}
	say := func(s *stream.Session, id string) {
		t.Helper()
		line := fmt.Sprintf(`{"type":"message","id":%q,"message":{"role":"user","content":"hi"}}`, id)
		if _, err := s.Append(ctx, stream.Append{Lines: [][]byte{[]byte(line)}}); err != nil {
			t.Fatal(err)
		}
	}
	take := func(ctx context.Context, s *stream.Session) error {
		d := s.Draft(func(seq uint64, sum core.Digest) string { return fmt.Sprint(seq, sum) })
		if _, err := k.Put(ctx, d.Plain); err != nil {
			return err
		}
		return s.Checkpoint(ctx, d)
	}
	say(s, "a")
	say(s, "b")
	if err := take(ctx, s); err != nil {
		t.Fatal(err)
	}
	stray, err := l.Last(ctx, "session1")
	if err != nil {
		t.Fatal(err)
	}
	shard := b.streams[fmt.Sprintf("SESS_main_%02d", l.Shard("session1"))]
	b.mu.Lock() // the checkpoint and b are forgotten
	shard.msgs, shard.last = shard.msgs[:2], 2
	b.mu.Unlock()
	other, err := node().Open(ctx, "session1")
	if err != nil {
		t.Fatal(err)
	}
	say(other, "c")
	if _, err := l.Append(ctx, "session1", 3, stray); err != nil { // it was late
		t.Fatal(err)
	}
	if err := node().Truncate(ctx, l, l.Shard("session1"), 4, take); err != nil {
		t.Fatal(err)
	}
	got, err := node().Open(ctx, "session1")
	if err != nil {
		t.Fatal(err)
	}
	_ = got.View(func(st *core.State) error {
		var ids []string
		for i := range st.Entries {
			ids = append(ids, st.Entries[i].ID)
		}
		if have := strings.Join(ids, " "); have != "a c" {
			t.Errorf("the session has the lines %q, want those of the log's own records", have)
		}
		return nil
	})
}

// The answer to a read is several messages. Where one is lost, the first
// included, the read is made again; nobody is given a gap. Without its last one
// an answer is that of a replica that lags, which every reader reckons with.
func TestABatchThatLostAMessageIsAskedForAgain(t *testing.T) {
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
