package materializer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/materializer/verify"
	"github.com/sesslog/sesslog/session/catalog"
)

// manual configures a materializer that does nothing on its own.
var manual = materializer.Config{Policy: materializer.Policy{MinTail: 1 << 40, Idle: time.Hour}, Garbage: 10 << 10, Grace: -1}

// settled truncates a shard until there is nothing left to do.
func settled(t *testing.T, m *materializer.Materializer, shard int) (w report.ShardWork) {
	t.Helper()
	return settledAt(t, m, shard, manual.Garbage)
}

// settledAt is settled for an allowance.
func settledAt(t *testing.T, m *materializer.Materializer, shard int, garbage int64) (w report.ShardWork) {
	t.Helper()
	await(t, "a shard without much garbage", func() bool {
		before := m.Shards()[shard]
		var err error
		if w, err = m.Truncate(t.Context(), shard); err != nil {
			t.Fatal(err)
		}
		return w.Freed == before.Freed && w.Surveyed.Equal(before.Surveyed) && w.Garbage <= w.Live+garbage
	})
	return w
}

// sound fails the test unless every session of the log reads as in want, without
// faults.
func (r *rig) sound(t *testing.T, d *index.Index, m *materializer.Materializer, want map[core.SessionID][]byte) {
	t.Helper()
	v := &verify.Verifier{Log: r.log, Sessions: r.sessions, Cache: r.cache, Materializer: m, Directory: d, Snapshots: r.snapshots, Blobs: r.blobs}
	ids, problems, err := v.Shards(t.Context())
	if err != nil || len(problems) > 0 || len(ids) < len(want) {
		t.Fatalf("%d sessions, problems %v: %v", len(ids), problems, err)
	}
	for id, plain := range want {
		report, err := v.Verify(t.Context(), id)
		if err != nil || len(report.Problems) > 0 {
			t.Errorf("session %s: %v, %v", id, report, err)
			continue
		}
		s, err := r.sessions.Open(t.Context(), id)
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(rendered(s), plain) {
			t.Errorf("session %s is other bytes", id)
		}
	}
}

func TestGarbageIsBoundedByLiveBytesAndAllowance(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, d, _ := r.runAs(t, manual)
	want := map[core.SessionID][]byte{}
	var all []*engine.Session
	for i := range 20 {
		all = append(all, r.create(t, fmt.Sprintf("session-%02d", i)))
	}
	for range 6 {
		for _, s := range all {
			for range 3 {
				add(t, s, 2000)
			}
			if _, err := m.Checkpoint(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, s := range all {
		add(t, s, 10)
		want[s.ID()] = rendered(s)
	}
	for shard := range r.log.Shards() {
		before, err := r.log.State(t.Context(), shard)
		if err != nil {
			t.Fatal(err)
		}
		w := settled(t, m, shard)
		after, err := r.log.State(t.Context(), shard)
		if err != nil {
			t.Fatal(err)
		}
		if w.Freed == 0 || after.Bytes >= before.Bytes || int64(after.Bytes) > 2*w.Live+10<<10+w.Live/5 {
			t.Errorf("shard %d had %d bytes and has %d: %+v", shard, before.Bytes, after.Bytes, w)
		}
		if before.Sessions != after.Sessions {
			t.Errorf("shard %d had %d sessions and has %d", shard, before.Sessions, after.Sessions)
		}
	}
	r.sound(t, d, m, want)
	for _, s := range all { // sessions that were open all the time still work
		add(t, s, 10)
	}
}

func TestTruncationEndsBeforeUnreadableSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, d, _ := r.runAs(t, manual)
	shard := r.log.Shard("bad-session")
	good := r.inShard(t, shard)
	for range 10 {
		add(t, good, 10_000)
	}
	if _, err := m.Checkpoint(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"dialect":"klingon"}` + "\n" + `{"type":"session"}`)
	rec := &core.Record{Kind: core.KindOpen, Seq: 1, Head: core.MainHead, Writer: "w", Body: body}
	rec.Chain = core.ChainStart(r.log.Name(), "bad-session").Next(rec)
	bad, err := r.log.Append(t.Context(), "bad-session", 0, rec)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		add(t, good, 10_000)
	}
	if _, err := m.Checkpoint(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	var w report.ShardWork
	await(t, "what lies before it to go", func() bool {
		if w, err = m.Truncate(t.Context(), shard); err != nil {
			t.Fatal(err)
		}
		return w.Freed > 0
	})
	if len(w.InWay) != 1 || w.InWay[0].Session != "bad-session" || w.InWay[0].Until.Before(time.Now()) {
		t.Errorf("in the way: %+v", w.InWay)
	}
	st, err := r.log.State(t.Context(), shard)
	if err != nil {
		t.Fatal(err)
	}
	if st.First > bad || st.First <= 1 {
		t.Errorf("the shard begins at %d, the session that cannot be read at %d", st.First, bad)
	}
	r.sound(t, d, m, map[core.SessionID][]byte{good.ID(): rendered(good)})
}

// inShard creates a session in a shard.
func (r *rig) inShard(t *testing.T, shard int) *engine.Session {
	t.Helper()
	for i := 0; ; i++ {
		id := fmt.Sprintf("in-shard-%d-%d", shard, i)
		if r.log.Shard(core.SessionID(id)) == shard {
			return r.create(t, id)
		}
	}
}

func TestCheckpointOfSameLinesReusesSnapshot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, d, _ := r.runAs(t, manual)
	s := r.create(t, "session-one")
	add(t, s, 1000)
	first, err := m.Checkpoint(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Claim(t.Context(), core.ClaimRequest{Agent: "me"}); err != nil {
		t.Fatal(err)
	}
	again, err := m.Checkpoint(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if again.Seq <= first.Seq || again.Object != first.Object || again.Written != first.Written {
		t.Errorf("%+v\nbehind\n%+v", again, first)
	}
	// A missing snapshot is written again.
	if err := r.bucket.Delete(t.Context(), first.Object); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Checkpoint(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	r.sound(t, d, m, map[core.SessionID][]byte{"session-one": rendered(s)})
}

func TestCollectDeletesOnlySupersededSnapshots(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, d, _ := r.runAs(t, manual)
	s := r.create(t, "session-one")
	var objects []string
	for range 3 {
		add(t, s, 1000)
		man, err := m.Checkpoint(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, man.Object)
	}
	// A snapshot whose checkpoint was never stored.
	orphan := materializer.SnapshotKey("main", "session-one", 7, core.Digest{1})
	if err := r.bucket.Put(t.Context(), orphan, bytes.NewReader(nil), 0); err != nil {
		t.Fatal(err)
	}
	kept := func() (keys []string) {
		for info, err := range r.bucket.List(t.Context(), "snapshots/") {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, info.Key)
		}
		return keys
	}
	if n, _, err := m.Collect(t.Context(), time.Hour); err != nil || n != 0 {
		t.Errorf("%d deleted within the grace: %v", n, err)
	}
	if n, _, err := m.Collect(t.Context(), 0); err != nil || n != 2 {
		t.Errorf("%d deleted: %v", n, err)
	}
	if got, want := fmt.Sprint(kept()), fmt.Sprint([]string{objects[2], orphan}); got != want {
		t.Errorf("kept are %s, want %s", got, want)
	}
	r.sound(t, d, m, map[core.SessionID][]byte{"session-one": rendered(s)})

	// While the latest snapshot cannot be read, the one before it is kept.
	add(t, s, 1000)
	last, err := m.Checkpoint(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.bucket.Put(t.Context(), last.Object, bytes.NewReader([]byte("noise")), 5); err != nil {
		t.Fatal(err)
	}
	if n, _, err := m.Collect(t.Context(), 0); err != nil || n != 0 {
		t.Errorf("%d deleted: %v", n, err)
	}
	if fresh, err := r.sessions.Open(t.Context(), "session-one"); err != nil || !bytes.Equal(rendered(fresh), rendered(s)) {
		t.Errorf("it cannot be read any more: %v", err)
	}
}

// Two nodes write the same snapshot, and one of them is delayed: it does not
// withdraw what the other's checkpoint names, unless that must not exist.
func TestDelayedNodeWithdrawsOnlyRedactedSnapshot(t *testing.T) {
	t.Parallel()
	for _, redact := range []bool{false, true} {
		r := newRig(t)
		m, _, _ := r.runAs(t, manual)
		s := r.create(t, "session-one")
		add(t, s, 1000)
		late, err := r.sessions.Open(t.Context(), "session-one")
		if err != nil {
			t.Fatal(err)
		}
		first, err := m.Checkpoint(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, 1000)
		if redact {
			var id string
			_ = s.View(func(st *core.State) error { id = st.Entries[0].ID; return nil })
			if err := s.Redact(t.Context(), engine.Redaction{IDs: []string{id}, Text: "gone", Notice: core.Notice{By: "ada"}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.Checkpoint(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Checkpoint(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		if _, err := r.bucket.Stat(t.Context(), first.Object); errors.Is(err, blobstore.ErrNotFound) != redact {
			t.Errorf("redacted %v: the first snapshot: %v", redact, err)
		}
	}
}

// A node that is killed while it writes a snapshot cannot withdraw it when the
// session is erased meanwhile.
func TestSnapshotsOfErasedSessionAreCollected(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, _, _ := r.runAs(t, manual)
	s := r.create(t, "session-one")
	add(t, s, 1000)
	if err := s.Erase(t.Context(), core.Notice{By: "ada"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := materializer.SnapshotKey("main", "session-one", 2, core.Digest{1})
	if err := r.bucket.Put(t.Context(), left, bytes.NewReader(nil), 0); err != nil {
		t.Fatal(err)
	}
	if n, _, err := m.Collect(t.Context(), time.Hour); err != nil || n != 1 {
		t.Errorf("%d deleted: %v", n, err)
	}
	if _, err := r.bucket.Stat(t.Context(), left); !errors.Is(err, blobstore.ErrNotFound) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestRebuildRestoresRowsAndPrompts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, d, _ := r.runAs(t, manual)
	for i := range 10 {
		s := r.create(t, fmt.Sprintf("session-%02d", i))
		add(t, s, 5000)
		if _, err := m.Checkpoint(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for shard := range r.log.Shards() { // rows must come from what is left of the log
		settled(t, m, shard)
	}
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := allRows(t, d)
	if err != nil {
		t.Fatal(err)
	}
	prompts := allPrompts(t, d)
	d.Put(materializer.View{Row: catalog.Row{ID: "nobody-knows", Seq: 1 << 40}})
	if err := m.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := allRows(t, d)
	if err != nil {
		t.Fatal(err)
	}
	if again := allPrompts(t, d); len(prompts) == 0 || fmt.Sprintf("%+v", prompts) != fmt.Sprintf("%+v", again) {
		t.Errorf("there were\n%+v\nand are\n%+v", prompts, again)
	}
	if len(before) != 10 || fmt.Sprintf("%+v", before) != fmt.Sprintf("%+v", after) {
		t.Errorf("there were\n%+v\nand are\n%+v", before, after)
	}
}

func allPrompts(t *testing.T, d *index.Index) []catalog.Prompt {
	t.Helper()
	page, err := d.Prompts(t.Context(), catalog.PromptQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return page.Prompts
}

// A checkpoint of lost history supersedes nothing.
func TestOrphanCheckpointSupersedesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, _, stop := r.runAs(t, manual)
	s := r.create(t, "session-one")
	add(t, s, 1000)
	if _, err := m.Checkpoint(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	add(t, s, 1000)
	live, err := m.Checkpoint(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	last, err := r.log.Last(t.Context(), "session-one")
	if err != nil {
		t.Fatal(err)
	}
	plain := rendered(s)
	stray := *live
	stray.Seq, stray.Object = 50, materializer.SnapshotKey("main", "session-one", 50, core.DigestOf(plain))
	if err := r.snapshots.Save(t.Context(), &stray, plain); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(stray)
	if err != nil {
		t.Fatal(err)
	}
	stop() // it would recover the orphan
	rec := &core.Record{Kind: core.KindCheckpoint, Head: core.MainHead, Seq: 51, Writer: "w", Base: last.Pos, Body: body, Chain: core.Chain{1}}
	if _, err := r.log.Append(t.Context(), "session-one", last.Pos, rec); err != nil {
		t.Fatal(err)
	}
	if n, _, err := m.Collect(t.Context(), 0); err != nil || n != 0 {
		t.Errorf("%d deleted: %v", n, err)
	}
	fresh, err := r.sessions.Open(t.Context(), "session-one")
	if err != nil || !bytes.Equal(rendered(fresh), plain) {
		t.Errorf("it reads differently: %v", err)
	}
}
