package backup_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/backup"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/blobstoretest"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// noise returns about n bytes of incompressible text.
func noise(seed uint64, n int) string {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n*3/4)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return base64.StdEncoding.EncodeToString(b)
}

// fill creates one session of each kind on a node, and returns their ids.
func fill(t *testing.T, n *node) []string {
	t.Helper()
	ctx := t.Context()
	plain := n.bring(t, string(harness.Generate(1, harness.Shape{Turns: 4}).Bytes))
	n.say(t, plain, "one")
	covered := n.bring(t, string(harness.Generate(2, harness.Shape{Turns: 6, Images: 3}).Bytes))
	if _, err := n.Checkpoint(ctx, covered); err != nil {
		t.Fatal(err)
	}
	grown := n.bring(t, string(harness.Generate(3, harness.Shape{Turns: 4, Images: 2}).Bytes))
	n.say(t, grown, "before")
	if _, err := n.Checkpoint(ctx, grown); err != nil {
		t.Fatal(err)
	}
	n.say(t, grown, "after")
	image := harness.ImageMessage(9, "look", 4000)
	if _, err := n.Append(ctx, grown, []byte(image), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Claim(ctx, grown, core.ClaimRequest{Agent: "pi", Host: "desk"}); err != nil {
		t.Fatal(err)
	}
	n.sayAsHolder(t, grown)
	large := n.bring(t, `{"type":"session","version":3,"id":"large-2026","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/home/me"}
{"type":"message","id":"a1b2c3d4","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"`+noise(1, 400<<10)+`"}}
`)
	n.say(t, large, noise(2, 500<<10))
	old := n.bring(t, `{"type":"session","id":"old-2025","timestamp":"2025-01-05T09:00:00.000Z","cwd":"/home/me"}
{"type":"message","timestamp":"2025-01-05T09:00:01.000Z","message":{"role":"user","content":"hello"}}
this is no entry
{"type":"message","timestamp":"2025-01-05T09:00:02.000Z","message":{"role":"user","content":"again"}}
`)
	trash := n.bring(t, string(harness.Generate(5, harness.Shape{Turns: 2}).Bytes))
	if err := n.Delete(ctx, trash, api.Notice{By: "me", Why: "done"}); err != nil {
		t.Fatal(err)
	}
	ids := []string{plain, covered, grown, large, old, trash}
	slices.Sort(ids)
	return ids
}

// sayAsHolder appends to head main as the writer that holds its claim.
func (n *node) sayAsHolder(t *testing.T, id string) {
	t.Helper()
	heads, err := n.Heads(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range heads.Heads {
		if h.Claim != nil {
			line := `{"type":"message","message":{"role":"user","content":"mine"}}`
			if _, err := n.Append(t.Context(), id, []byte(line), client.AppendOptions{Writer: h.Claim.Writer}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// take makes a backup, which must have no problems.
func take(t *testing.T, n *node, repo *backup.Repo) *backup.Taken {
	t.Helper()
	taken, err := taker(n, repo).Take(t.Context())
	if err != nil {
		t.Fatalf("backup: %v", err)
	}
	if len(taken.Problems) > 0 {
		t.Fatalf("backup: %+v", taken.Problems)
	}
	return taken
}

func taker(n *node, repo *backup.Repo) *backup.Taker {
	return &backup.Taker{Node: n.Client, Repo: repo, Host: "test", Now: time.Now}
}

// restoreAll restores every session of a run.
func restoreAll(t *testing.T, n *node, repo *backup.Repo, at string) map[string]*backup.Restored {
	t.Helper()
	run, err := repo.Pick(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	r := backup.Restorer{Node: n.Client, Repo: repo, Run: run}
	done := map[string]*backup.Restored{}
	for i := range run.Sessions {
		s := &run.Sessions[i]
		if done[string(s.ID)], err = r.Restore(t.Context(), s); err != nil {
			t.Fatalf("restore %s: %v", s.ID, err)
		}
	}
	return done
}

// ends returns the ends of all sessions of a node.
func (n *node) ends(t *testing.T) map[string]string {
	t.Helper()
	ends := map[string]string{}
	for shard, shards := 0, 1; shard < shards; shard++ {
		e, err := n.Ends(t.Context(), shard)
		if err != nil {
			t.Fatal(err)
		}
		shards = e.Shards
		for _, s := range e.Sessions {
			ends[string(s.Session)] = fmt.Sprintf("%d-%s", s.Seq, s.Chain)
		}
	}
	return ends
}

// content returns a session as agents and readers see it.
func (n *node) content(t *testing.T, id string) string {
	t.Helper()
	var out strings.Builder
	for _, original := range []bool{false, true} {
		r, err := n.Export(t.Context(), id, original)
		if err != nil {
			fmt.Fprintf(&out, "error: %v\n", errors.Is(err, core.ErrNotFound))
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("export %s: %v", id, err)
		}
		out.Write(b)
	}
	heads, err := n.Heads(t.Context(), id)
	if err != nil {
		t.Fatalf("heads of %s: %v", id, err)
	}
	b, err := json.Marshal(heads.Heads)
	if err != nil {
		t.Fatal(err)
	}
	return out.String() + string(b)
}

// same fails unless b has the sessions of a, intact, with the same chains and
// byte-identical content.
func same(t *testing.T, a, b *node, ids []string) {
	t.Helper()
	wantEnds, haveEnds := a.ends(t), b.ends(t)
	for _, id := range ids {
		if haveEnds[id] != wantEnds[id] {
			t.Errorf("session %s ends at %s, want %s", id, haveEnds[id], wantEnds[id])
		}
		if have, want := b.content(t, id), a.content(t, id); have != want {
			i := 0
			for i < min(len(have), len(want)) && have[i] == want[i] {
				i++
			}
			t.Errorf("session %s is another from byte %d on: %.300q, want %.300q", id, i, have[i:], want[i:])
		}
		r, err := b.Verify(t.Context(), id)
		if err != nil || len(r.Problems) > 0 {
			t.Errorf("verify %s: %v, %+v", id, err, r.Problems)
		}
	}
}

func newRepo(t *testing.T) (*backup.Repo, blobstore.Bucket) {
	t.Helper()
	b, err := fsblob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return backup.NewRepo(b), b
}

func TestRestoreIsByteIdentical(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	ids := fill(t, a)
	repo, bucket := newRepo(t)
	taken := take(t, a, repo)
	if taken.Sessions != len(ids) || !taken.Strict {
		t.Errorf("taken %+v", taken)
	}
	for id, r := range restoreAll(t, b, backup.NewRepo(bucket), "") {
		if r.Relation != report.Absent || r.Stored == 0 {
			t.Errorf("%s: %+v", id, r)
		}
	}
	same(t, a, b, ids)
	for _, id := range ids { // and it lives
		if _, err := b.Heads(t.Context(), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	b.say(t, ids[slices.IndexFunc(ids, func(id string) bool { return id == "old-2025" })], "going on")
	if _, err := b.Checkpoint(t.Context(), "old-2025"); err != nil {
		t.Error(err)
	}
	for id, r := range restoreAll(t, b, backup.NewRepo(bucket), "") {
		want := report.Same
		if id == "old-2025" {
			want = report.Ahead
		}
		if r.Relation != want || r.Stored+r.Blobs != 0 || r.Snapshot {
			t.Errorf("restored again: %s: %+v", id, r)
		}
	}
}

func TestUnchangedSessionsAreNotRead(t *testing.T) {
	t.Parallel()
	a := startNode(t)
	ids := fill(t, a)
	repo, bucket := newRepo(t)
	first := take(t, a, repo)
	if first.Read == 0 || first.Sent == 0 || first.Unchanged != 0 {
		t.Errorf("the first backup: %+v", first)
	}
	second := take(t, a, backup.NewRepo(bucket))
	if second.Read != 0 || second.Sent != 0 || second.Objects != 0 || second.Unchanged != len(ids) {
		t.Errorf("the second backup: %+v", second)
	}
	a.say(t, "old-2025", "news")
	third := take(t, a, backup.NewRepo(bucket))
	if third.Unchanged != len(ids)-1 || third.Read == 0 || third.Read > 2000 {
		t.Errorf("the third backup: %+v", third)
	}
	b := startNode(t)
	restoreAll(t, b, backup.NewRepo(bucket), "")
	same(t, a, b, ids)

	// An earlier backup is still what it was.
	c := startNode(t)
	restoreAll(t, c, backup.NewRepo(bucket), first.Run)
	if a.ends(t)["old-2025"] == c.ends(t)["old-2025"] {
		t.Error("the first backup contains later records")
	}
	// The missing records can be restored later.
	if r := restoreAll(t, c, backup.NewRepo(bucket), "")["old-2025"]; r.Relation != report.Behind || r.Stored != 1 {
		t.Errorf("restore of the missing records: %+v", r)
	}
	same(t, a, c, ids)
}

// objects returns all keys of a bucket.
func objects(t *testing.T, b blobstore.Bucket) []string {
	t.Helper()
	var keys []string
	for info, err := range b.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

func get(t *testing.T, b blobstore.Bucket, key string) []byte {
	t.Helper()
	r, err := b.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func put(t *testing.T, b blobstore.Bucket, key string, p []byte) {
	t.Helper()
	if err := b.Put(t.Context(), key, bytes.NewReader(p), int64(len(p))); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyNamesEveryCorruptObject(t *testing.T) {
	t.Parallel()
	a := startNode(t)
	fill(t, a)
	repo, bucket := newRepo(t)
	take(t, a, repo)
	a.say(t, "old-2025", "news")
	take(t, a, repo)
	all := func() string {
		var problems []string
		r := backup.NewRepo(bucket)
		names, err := r.Runs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			run, err := r.Run(t.Context(), n)
			if err != nil {
				problems = append(problems, err.Error())
				continue
			}
			checked, err := r.Verify(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range checked.Problems {
				problems = append(problems, p.Detail)
			}
		}
		return strings.Join(problems, "\n")
	}
	if problems := all(); problems != "" {
		t.Fatalf("before: %s", problems)
	}
	keys := objects(t, bucket)
	for i, key := range keys {
		whole := get(t, bucket, key)
		flipped := bytes.Clone(whole)
		flipped[(i*7919)%len(flipped)] ^= 1 << (i % 8)
		for what, bytes := range map[string][]byte{"flipped": flipped, "cut": whole[:len(whole)-1], "longer": append(slices.Clip(whole), 0)} {
			put(t, bucket, key, bytes)
			if problems := all(); !strings.Contains(problems, key) {
				t.Errorf("%s %s is not reported: %q", key, what, problems)
			}
		}
		put(t, bucket, key, whole)
	}
	if len(keys) < 12 {
		t.Errorf("only %d objects", len(keys))
	}
}

func TestCorruptBackupIsNotRestoredAndFullBackupRepairsIt(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	ids := fill(t, a)
	repo, bucket := newRepo(t)
	take(t, a, repo)
	for _, key := range objects(t, bucket) {
		p := get(t, bucket, key)
		p[len(p)/2] ^= 4
		if strings.HasPrefix(key, "objects/") {
			put(t, bucket, key, p)
		}
	}
	run, err := backup.NewRepo(bucket).Pick(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	r := backup.Restorer{Node: b.Client, Repo: backup.NewRepo(bucket), Run: run}
	for i := range run.Sessions {
		if _, err := r.Restore(t.Context(), &run.Sessions[i]); !errors.Is(err, core.ErrCorrupt) || !strings.Contains(err.Error(), "objects/") {
			t.Errorf("restore: %v", err)
		}
	}
	if ends := b.ends(t); len(ends) != 0 {
		t.Errorf("stored despite the error: %v", ends)
	}
	again := taker(a, backup.NewRepo(bucket))
	again.Full = true
	if taken, err := again.Take(t.Context()); err != nil || len(taken.Problems) > 0 || taken.Sent == 0 {
		t.Fatalf("full backup: %v, %+v", err, taken)
	}
	restoreAll(t, b, backup.NewRepo(bucket), "")
	same(t, a, b, ids)
}

func TestInterruptedBackupIsResumed(t *testing.T) {
	t.Parallel()
	a := startNode(t)
	ids := fill(t, a)
	whole := memblob.New()
	once := take(t, a, backup.NewRepo(whole))
	bucket := memblob.New()
	var sent int64
	interrupted := 0
	for most := 1; ; most++ {
		// Each attempt may write a limited number of objects before the bucket fails.
		writes, ctx := 0, t.Context()
		failing := blobstoretest.Failing{Bucket: bucket, Before: func(_ context.Context, op blobstoretest.Op, key string) error {
			if op == blobstoretest.Put {
				if writes++; writes > 2 {
					return errors.New("the cable was pulled")
				}
			}
			return nil
		}}
		taken, err := taker(a, backup.NewRepo(failing)).Take(ctx)
		if err == nil {
			sent += taken.Sent
			break
		}
		interrupted++
		if most > 100 {
			t.Fatalf("the backup never completes: %v", err)
		}
	}
	if interrupted < 3 {
		t.Errorf("interrupted %d times", interrupted)
	}
	if sent >= once.Sent {
		t.Errorf("the last attempt sent %d bytes, a complete backup %d", sent, once.Sent)
	}
	b := startNode(t)
	restoreAll(t, b, backup.NewRepo(bucket), "")
	same(t, a, b, ids)
}

func TestRestoreRejectsDivergedSession(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	id := a.bring(t, string(harness.Generate(1, harness.Shape{Turns: 3}).Bytes))
	repo, bucket := newRepo(t)
	first := take(t, a, repo)
	restoreAll(t, b, repo, "")
	a.say(t, id, "this way")
	take(t, a, repo)
	b.say(t, id, "that way")
	before := b.ends(t)[id]

	run, err := repo.Pick(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	r := backup.Restorer{Node: b.Client, Repo: backup.NewRepo(bucket), Run: run}
	done, err := r.Restore(t.Context(), &run.Sessions[0])
	if !errors.Is(err, core.ErrConflict) || done.Relation != report.Diverged {
		t.Fatalf("restore: %v, %+v", err, done)
	}
	for _, c := range []core.Cursor{done.Shared, done.Log, done.History} {
		if c == (core.Cursor{}) || !strings.Contains(err.Error(), c.String()) {
			t.Errorf("%q does not name %s", err, c)
		}
	}
	if now := b.ends(t)[id]; now != before {
		t.Errorf("the session was at %s, now at %s", before, now)
	}
	if r := restoreAll(t, b, repo, first.Run)[id]; r.Relation != report.Ahead {
		t.Errorf("the first backup: %+v", r)
	}
}

func TestRestoreRejectsOtherLog(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNodeOf(t, "other")
	fill(t, a)
	repo, _ := newRepo(t)
	take(t, a, repo)
	run, err := repo.Pick(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	r := backup.Restorer{Node: b.Client, Repo: repo, Run: run}
	for i := range run.Sessions {
		if _, err := r.Restore(t.Context(), &run.Sessions[i]); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), `log.name "main"`) {
			t.Errorf("restore: %v", err)
		}
	}
	if ends := b.ends(t); len(ends) != 0 {
		t.Errorf("stored: %v", ends)
	}
	if _, err := taker(b, repo).Take(t.Context()); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a backup of another log in the same place: %v", err)
	}
}

func TestRestoreRepairsLostBlobsAndSnapshots(t *testing.T) {
	t.Parallel()
	a := startNode(t)
	ids := fill(t, a)
	want := map[string]string{}
	for _, id := range ids {
		want[id] = a.content(t, id)
	}
	repo, _ := newRepo(t)
	take(t, a, repo)
	for i, key := range objects(t, a.bucket) {
		if i%2 == 0 {
			if err := a.bucket.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			continue
		}
		p := get(t, a.bucket, key)
		p[len(p)/3] ^= 32
		put(t, a.bucket, key, p)
	}
	for id, r := range restoreAll(t, a, repo, "") {
		if r.Relation != report.Same || r.Stored != 0 {
			t.Errorf("%s: %+v", id, r)
		}
	}
	for _, id := range ids {
		r, err := a.Verify(t.Context(), id)
		if err != nil {
			t.Fatalf("verify %s: %v", id, err)
		}
		for _, p := range r.Problems { // a backup omits bodies of records that are no longer needed
			if p.Next != "nothing is lost: a later snapshot covers it" {
				t.Errorf("verify %s: %+v", id, p)
			}
		}
		if a.content(t, id) != want[id] {
			t.Errorf("%s differs", id)
		}
	}
}

func TestCheckpointAfterLastBackupIncludesSnapshot(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	id := a.bring(t, string(harness.Generate(1, harness.Shape{Turns: 3, Images: 1}).Bytes))
	repo, _ := newRepo(t)
	take(t, a, repo)
	for range 2 { // the snapshot covers exactly the records of the backup
		if _, err := a.Checkpoint(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		take(t, a, repo)
		a.say(t, id, "more")
		take(t, a, repo)
	}
	restoreAll(t, b, repo, "")
	same(t, a, b, []string{id})
	run, err := repo.Pick(t.Context(), "")
	if err != nil || run.Sessions[0].Snapshot == nil {
		t.Errorf("%v, %+v", err, run.Sessions[0])
	}
}

// A checkpoint without new lines references the existing snapshot.
func TestRestoreWithOlderSnapshot(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	id := a.bring(t, string(harness.Generate(1, harness.Shape{Turns: 3}).Bytes))
	for _, agent := range []string{"pi", "omp"} {
		if _, err := a.Checkpoint(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Claim(t.Context(), id, core.ClaimRequest{Agent: agent, Host: "desk", TakeOver: true}); err != nil {
			t.Fatal(err)
		}
	}
	last, err := a.Checkpoint(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if seq := materializer.SnapshotSeq(last.Object); seq == 0 || seq >= last.Seq {
		t.Fatalf("the snapshot of record %d is %s", last.Seq, last.Object)
	}
	repo, bucket := newRepo(t)
	take(t, a, repo)
	restoreAll(t, b, backup.NewRepo(bucket), "")
	same(t, a, b, []string{id})
}

// A manifest with very many blobs is stored as a separate body.
func TestRestoreWithLargeManifest(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var redacted []string
	for range 9000 { // their ids are in the manifest and do not compress
		id := make([]byte, 45)
		for i := range id {
			id[i] = byte(rng.Uint32())
		}
		redacted = append(redacted, base64.RawURLEncoding.EncodeToString(id))
	}
	var file strings.Builder
	file.WriteString(`{"type":"session","version":3,"id":"large-2026","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/home/me"}` + "\n")
	for _, id := range redacted {
		fmt.Fprintf(&file, `{"type":"message","id":%q,"parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"x"}}`+"\n", id)
	}
	id := a.bring(t, file.String())
	s, err := a.Config.Sessions.Open(t.Context(), core.SessionID(id))
	if err != nil {
		t.Fatal(err)
	}
	for ids := range slices.Chunk(redacted, 1000) {
		if err := s.Redact(t.Context(), engine.Redaction{IDs: ids, Text: "gone", Notice: core.Notice{By: "ada"}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Checkpoint(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	last := a.last(t, id)
	if _, err := a.Config.Log.Forget(t.Context(), core.SessionID(id), last.Base); err != nil {
		t.Fatal(err)
	}
	if len(last.Body) < 2*stream.SpillSize {
		t.Fatalf("the manifest has %d bytes", len(last.Body))
	}
	repo, bucket := newRepo(t)
	if taken := take(t, a, repo); len(taken.Problems) > 0 {
		t.Fatalf("%+v", taken.Problems)
	}
	restoreAll(t, b, backup.NewRepo(bucket), "")
	same(t, a, b, []string{id})
}

func TestConcurrentRestoresStoreEachRecordOnce(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	ids := fill(t, a)
	repo, bucket := newRepo(t)
	take(t, a, repo)
	run, err := repo.Pick(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var stored, records atomic.Int64
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			r := backup.Restorer{Node: b.Client, Repo: backup.NewRepo(bucket), Run: run}
			for i := range run.Sessions {
				s := &run.Sessions[i]
				done, err := r.Restore(t.Context(), s)
				if err != nil {
					t.Errorf("restore %s: %v", s.ID, err)
					return
				}
				stored.Add(int64(done.Stored))
				for _, p := range s.Records {
					records.Add(int64(p.To - p.From + 1))
				}
			}
		})
	}
	wg.Wait()
	if want := records.Load() / 3; stored.Load() != want {
		t.Errorf("%d records stored, want %d", stored.Load(), want)
	}
	same(t, a, b, ids)
}
