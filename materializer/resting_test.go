package materializer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

// A countingBucket counts the bytes that are put into it.
type countingBucket struct {
	blobstore.Bucket
	put atomic.Int64
}

func (b *countingBucket) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	b.put.Add(size)
	return b.Bucket.Put(ctx, key, src, size)
}

// front truncates a shard up to its end, as a truncator does.
func (r *rig) front(t *testing.T, m *materializer.Materializer, shard int) {
	t.Helper()
	st, err := r.log.State(t.Context(), shard)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.sessions.Truncate(t.Context(), r.log, shard, st.Last, func(ctx context.Context, s *engine.Session) error {
		_, err := m.Checkpoint(ctx, s)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// latest returns the manifest from which a session is read.
func (r *rig) latest(t *testing.T, id core.SessionID) *core.Manifest {
	t.Helper()
	m, err := r.sessions.Manifest(t.Context(), id)
	if err != nil || m == nil {
		t.Fatalf("session %s is read from %v: %v", id, m, err)
	}
	return m
}

// large creates a session of size bytes for which the policy has written as much as
// it ever does, so that no whole snapshot is due.
func (r *rig) large(t *testing.T, m *materializer.Materializer, id string, size int) *engine.Session {
	t.Helper()
	s := r.create(t, id)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		grow(t, rng, s, func(*rand.Rand) (int, int) { return size / 5, 1 })
		if _, err := m.Checkpoint(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 { // in the last round it is not due
		grow(t, rng, s, func(*rand.Rand) (int, int) { return 100, 1 })
		if _, err := m.Checkpoint(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if len(r.latest(t, s.ID()).Parts) > 0 {
			return s
		}
	}
	t.Fatal("every snapshot is written whole")
	return nil
}

// A large session gets a line, and the front of its shard is truncated, repeatedly:
// what is put into the bucket is proportional to the session's size.
func TestLargeSessionIsNotRewrittenForEachTruncation(t *testing.T) {
	t.Parallel()
	counted := &countingBucket{Bucket: memblob.New()}
	r := newRigOn(t, counted)
	m, d, _ := r.runAs(t, manual)
	s := r.large(t, m, "session-large", 1<<20)
	rng := rand.New(rand.NewPCG(2, 2))
	n := 25
	if *long {
		n = 2000
	}
	most := 0
	for range n {
		grow(t, rng, s, func(rng *rand.Rand) (int, int) { return 10_000 + rng.IntN(30_000), 1 })
		r.front(t, m, r.log.Shard(s.ID()))
		most = max(most, len(r.latest(t, s.ID()).Parts))
	}
	size := int64(len(rendered(s)))
	t.Logf("%d bytes put for %d: %.2f times, up to %d parts", counted.put.Load(), size, float64(counted.put.Load())/float64(size), most)
	if put := counted.put.Load(); put > mostTimes*size {
		t.Errorf("%d bytes were put for a session of %d", put, size)
	}
	if most < 3 {
		t.Errorf("no snapshot had a change that is an object")
	}
	r.sound(t, d, m, map[core.SessionID][]byte{s.ID(): rendered(s)})
	if _, _, err := m.Collect(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	r.sound(t, d, m, map[core.SessionID][]byte{s.ID(): rendered(s)})
}

// Replaced entries are changes, too: what is put into object storage is
// proportional to the input and the session's size.
func TestIncrementalSnapshotHasReplacedLines(t *testing.T) {
	t.Parallel()
	counted := &countingBucket{Bucket: memblob.New()}
	r := newRigOn(t, counted)
	m, d, _ := r.runAs(t, manual)
	s := r.large(t, m, "session-large", 1<<20)
	rng := rand.New(rand.NewPCG(3, 3))
	sent := int64(len(rendered(s)))
	n := 20
	if *long {
		n = 1000
	}
	rested := 0
	for range n {
		var e core.Entry
		_ = s.View(func(st *core.State) error { e = st.Entries[rng.IntN(len(st.Entries))]; return nil })
		line := replacement(e, noise(rng, 1+rng.IntN(30_000)))
		var a engine.Amend
		a.Lines([][]byte{line})
		if _, err := s.Amend(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		sent += int64(len(line))
		add(t, s, 100)
		r.front(t, m, r.log.Shard(s.ID()))
		if len(r.latest(t, s.ID()).Parts) > 0 {
			rested++
		}
	}
	size, put := int64(len(rendered(s))), counted.put.Load()
	t.Logf("%d bytes put for %d of %d sent: %.2f times both", put, size, sent, float64(put)/float64(size+sent))
	if put > mostTimes*(size+sent) {
		t.Errorf("%d bytes were put for a session of %d of which %d were sent", put, size, sent)
	}
	if rested < n/2 {
		t.Errorf("%d of %d snapshots rested on a former one", rested, n)
	}
	r.sound(t, d, m, map[core.SessionID][]byte{s.ID(): rendered(s)})
}

// replacement returns another line for e, with that text.
func replacement(e core.Entry, text string) []byte {
	parent := "null"
	if e.Parent != "" {
		parent = fmt.Sprintf("%q", e.Parent)
	}
	return fmt.Appendf(nil, `{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":%q}}`, e.ID, parent, text)
}

// withChange appends to s until a change of its snapshot is an object.
func (r *rig) withChange(t *testing.T, m *materializer.Materializer, s *engine.Session) *core.Manifest {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 4))
	for range 20 {
		grow(t, rng, s, func(*rand.Rand) (int, int) { return 20_000, 1 })
		r.front(t, m, r.log.Shard(s.ID()))
		if latest := r.latest(t, s.ID()); len(latest.Objects()) > 2 {
			return latest
		}
	}
	t.Fatal("no change became an object")
	return nil
}

// A missing or corrupt part is detected, reported, and repaired if the records
// exist. A whole snapshot in its place serves as well.
func TestCorruptPartOfSnapshotIsReported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, d, _ := r.runAs(t, manual)
	s := r.large(t, m, "session-large", 1<<20)
	latest := r.withChange(t, m, s)
	want := rendered(s)
	whole := *latest
	whole.SetParts(nil)
	for _, key := range latest.Objects()[1:] {
		src, err := r.bucket.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		object, err := io.ReadAll(src)
		if err != nil || src.Close() != nil {
			t.Fatal(err)
		}
		put := func(b []byte) {
			if err := r.bucket.Put(t.Context(), key, bytes.NewReader(b), int64(len(b))); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 10 {
			harmed := bytes.Clone(object)
			harmed[len(object)*i/10] ^= 1
			put(harmed)
			if got, err := r.snapshots.Read(t.Context(), latest); !errors.Is(err, core.ErrCorrupt) && !bytes.Equal(got, want) {
				t.Errorf("%s with a bit turned: %v", key, err)
			}
		}
		if err := r.bucket.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if _, err := r.sessions.Open(t.Context(), s.ID()); !errors.Is(err, core.ErrCorrupt) || !strings.Contains(err.Error(), "snapshot") {
			t.Errorf("%s is gone: %v", key, err)
		}
		if err := r.snapshots.Save(t.Context(), &whole, want); err != nil {
			t.Fatal(err)
		}
		r.sound(t, d, m, map[core.SessionID][]byte{s.ID(): want})
		if err := r.bucket.Delete(t.Context(), whole.Object); err != nil {
			t.Fatal(err)
		}
		put(object)
	}
	// The later records exist: the next snapshot does not rest on the missing part.
	if err := r.bucket.Delete(t.Context(), latest.Parts[0].Object); err != nil {
		t.Fatal(err)
	}
	add(t, s, 100)
	if _, err := m.Checkpoint(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if parts := r.latest(t, s.ID()).Parts; len(parts) > 0 {
		t.Errorf("it rests on %+v", parts)
	}
	r.sound(t, d, m, map[core.SessionID][]byte{s.ID(): rendered(s)})
}

// Parts of the latest snapshot are kept. A change that was merged into another is
// not.
func TestCollectKeepsPartsInUse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, d, _ := r.runAs(t, manual)
	s := r.large(t, m, "session-large", 1<<20)
	r.withChange(t, m, s)
	for range 3 {
		latest := r.withChange(t, m, s)
		dead := materializer.ChangeKey("main", s.ID(), latest.Seq-1, core.Digest{1})
		if err := r.bucket.Put(t.Context(), dead, bytes.NewReader(nil), 0); err != nil {
			t.Fatal(err)
		}
		later := materializer.SnapshotKey("main", s.ID(), latest.Seq+1, core.Digest{1}) // so that every other snapshot is checked
		if err := r.bucket.Put(t.Context(), later, bytes.NewReader(nil), 0); err != nil {
			t.Fatal(err)
		}
		if _, _, err := m.Collect(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		left := map[string]bool{}
		kept, err := r.snapshots.Kept(t.Context(), "main", s.ID())
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range kept {
			left[k.Key] = true
		}
		for _, key := range latest.Objects()[1:] {
			if !left[key] {
				t.Errorf("%s is gone", key)
			}
		}
		if left[dead] || !left[later] || len(left) != len(latest.Objects()) {
			t.Errorf("kept are %v of %v", left, latest.Objects())
		}
		if err := r.bucket.Delete(t.Context(), later); err != nil {
			t.Fatal(err)
		}
		r.sound(t, d, m, map[core.SessionID][]byte{s.ID(): rendered(s)})
	}
}

// A delayed snapshot must not name parts that another one has superseded: they may
// be deleted before it is stored.
func TestIncrementalSnapshotIsRefusedAfterLaterSnapshot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, d, _ := r.runAs(t, manual)
	s := r.large(t, m, "session-large", 1<<20)
	add(t, s, 100)
	late, err := r.sessions.Open(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	key := func(seq uint64, sum core.Digest) string { return materializer.SnapshotKey("main", s.ID(), seq, sum) }
	draft := late.Draft(key)
	add(t, late, 100) // and a draft that covers more than the other node's
	more := late.Draft(key)
	other := s.Draft(key)
	for _, d := range []*engine.Draft{draft, more} {
		if err := r.snapshots.Keep(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if len(d.Manifest.Parts) == 0 {
			t.Fatal("it is written whole")
		}
	}
	if err := r.snapshots.Save(t.Context(), other.Manifest, other.Plain); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Collect(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := late.Checkpoint(t.Context(), draft); err != nil {
		t.Errorf("a snapshot that covers as much: %v", err)
	}
	if err := late.Checkpoint(t.Context(), more); !errors.Is(err, engine.ErrStaleDraft) {
		t.Errorf("one that rests on what is gone: %v", err)
	}
	if _, err := m.Checkpoint(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	r.sound(t, d, m, map[core.SessionID][]byte{s.ID(): rendered(late)})
}

// A manifest can contain lines: one with redacted lines is not stored.
func TestIncrementalSnapshotIsRefusedAfterRedaction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, d, _ := r.runAs(t, manual)
	s := r.large(t, m, "session-large", 1<<20)
	add(t, s, 100)
	late, err := r.sessions.Open(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	draft := late.Draft(func(seq uint64, sum core.Digest) string { return materializer.SnapshotKey("main", s.ID(), seq, sum) })
	if err := r.snapshots.Keep(t.Context(), draft); err != nil || len(draft.Manifest.Parts) == 0 {
		t.Fatalf("%+v: %v", draft.Manifest, err)
	}
	var id string
	_ = s.View(func(st *core.State) error { id = st.Entries[len(st.Entries)-1].ID; return nil })
	if err := s.Redact(t.Context(), engine.Redaction{IDs: []string{id}, Text: "gone", Notice: core.Notice{By: "ada"}}); err != nil {
		t.Fatal(err)
	}
	if err := late.Checkpoint(t.Context(), draft); !errors.Is(err, engine.ErrStaleDraft) {
		t.Errorf("one with what was redacted: %v", err)
	}
	if _, err := m.Checkpoint(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	if parts := r.latest(t, s.ID()).Parts; len(parts) > 0 {
		t.Errorf("it rests on %+v", parts)
	}
	r.sound(t, d, m, map[core.SessionID][]byte{s.ID(): rendered(late)})
}

// Parts in a manifest are untrusted input.
func TestInvalidPartsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, _, _ := r.runAs(t, manual)
	s := r.large(t, m, "session-large", 1<<20)
	good := r.latest(t, s.ID())
	if _, err := r.snapshots.Read(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	inline := good.Parts[len(good.Parts)-1]
	for name, parts := range map[string][]core.Part{
		"begins with a change":       {inline},
		"two that are carried":       {good.Parts[0], inline, inline},
		"of another session":         {{Object: "snapshots/main/session-other/00000000000000000001-0000000000000000.jsonl.zst", Size: 1}, inline},
		"no snapshot at all":         {{Object: "blobs/sha256/00/00"}, inline},
		"upwards":                    {{Object: "snapshots/main/session-large/../x"}, inline},
		"a size below nothing":       {good.Parts[0], {Size: -1, Inline: inline.Inline}},
		"a size that takes memory":   {good.Parts[0], {Size: 1 << 40, Inline: inline.Inline}},
		"a digest of something else": {good.Parts[0], {Size: inline.Size, Inline: inline.Inline}},
		"very many":                  append(bytesOf(good.Parts[0], 50), inline),
		"the first one alone":        good.Parts[:1],
	} {
		bad := *good
		bad.SetParts(parts)
		if _, err := r.snapshots.Read(t.Context(), &bad); !errors.Is(err, core.ErrCorrupt) && !errors.Is(err, core.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		_, checked, err := r.snapshots.Load(t.Context(), &bad)
		if err == nil {
			err = checked()
		}
		if !errors.Is(err, core.ErrCorrupt) && !errors.Is(err, core.ErrNotFound) {
			t.Errorf("%s, loaded: %v", name, err)
		}
	}
}

func bytesOf(p core.Part, n int) (parts []core.Part) {
	for range n {
		parts = append(parts, p)
	}
	return parts
}
