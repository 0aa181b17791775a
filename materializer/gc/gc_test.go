package gc_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/blobstoretest"
	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/gc"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

const grace = time.Hour

// A rig is a log with a store and a collector, whose clock can be advanced.
type rig struct {
	bucket    blobstore.Bucket
	blobs     *blobstore.Blobs
	log       *stream.Log
	sessions  *engine.Sessions
	snapshots *materializer.Snapshots
	ahead     time.Duration
	mu        sync.Mutex
	deletions []gc.Deletion
	refuse    error // the error of Record
}

func newRig(t *testing.T) *rig { return newRigOn(t, memblob.New(), grace) }

func newRigOn(t *testing.T, bucket blobstore.Bucket, grace time.Duration) *rig {
	t.Helper()
	conn, err := embeddedtest.Start(t).Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	r := &rig{bucket: bucket, blobs: blobstore.New(bucket).WithGrace(grace)}
	kept := materializer.NewBlobs(r.blobs)
	if r.log, err = stream.OpenLog(t.Context(), conn, stream.LogConfig{Blobs: kept, Shards: 2, Grace: grace}); err != nil {
		t.Fatal(err)
	}
	r.snapshots = materializer.NewSnapshots(bucket)
	r.sessions = engine.NewSessions(engine.Config{
		Log: r.log, Blobs: kept, Snapshots: r.snapshots, Dialects: dialect.All(), Grace: grace, Logger: slog.New(slog.DiscardHandler),
	})
	return r
}

func (r *rig) collectorOn(bucket blobstore.Bucket) *gc.Collector {
	return gc.New(gc.Config{
		Log: r.log, Sessions: r.sessions, Bucket: bucket, Blobs: blobstore.New(bucket).WithGrace(r.blobs.Grace()), Node: "here",
		Record: func(_ context.Context, d gc.Deletion) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.refuse == nil {
				r.deletions = append(r.deletions, d)
			}
			return r.refuse
		},
		Logger: slog.New(slog.DiscardHandler),
		Now:    func() time.Time { return time.Now().Add(r.ahead) },
	})
}

func (r *rig) run(t *testing.T, q gc.Request) *report.GC {
	t.Helper()
	report, err := r.collectorOn(r.bucket).Run(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func (r *rig) apply(t *testing.T) *report.GC {
	t.Helper()
	return r.run(t, gc.Request{Apply: true, By: "me", Host: "desk", Why: "to see"})
}

func (r *rig) put(t *testing.T, p []byte) blobstore.Ref {
	t.Helper()
	ref, err := r.blobs.Put(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func (r *rig) has(t *testing.T, ref blobstore.Ref) bool {
	t.Helper()
	_, err := r.blobs.Get(t.Context(), ref)
	if err != nil && !errors.Is(err, blobstore.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

// inPlace reports whether the blob exists outside of the trash.
func (r *rig) inPlace(t *testing.T, ref blobstore.Ref) bool {
	t.Helper()
	_, err := r.bucket.Stat(t.Context(), ref.Key())
	return err == nil
}

func (r *rig) objects(t *testing.T) (keys []string) {
	t.Helper()
	for info, err := range r.bucket.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

func noise(n int) []byte {
	p := make([]byte, n)
	_, _ = rand.Read(p)
	return p
}

func imageLine(id string, raw []byte) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":[{"type":"image","data":%q,"mimeType":"image/png"}]}}`,
		id, base64.StdEncoding.EncodeToString(raw))
}

func textLine(id, text string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":%q}}`, id, text)
}

// imported creates a session of lines.
func (r *rig) imported(t *testing.T, id string, lines ...string) *engine.Session {
	t.Helper()
	raw := []byte(`{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}` + "\n" + strings.Join(lines, "\n") + "\n")
	f, err := dialect.All()["pi"].File(raw)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.sessions.Import(t.Context(), f, raw, core.Origin{}, engine.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return res.Session
}

func appendTo(t *testing.T, s *engine.Session, lines ...string) {
	t.Helper()
	raw := make([][]byte, len(lines))
	for i := range lines {
		raw[i] = []byte(lines[i])
	}
	if _, err := s.Append(t.Context(), engine.Append{Lines: raw}); err != nil {
		t.Fatal(err)
	}
}

// checkpoint writes a snapshot of the session.
func (r *rig) checkpoint(t *testing.T, s *engine.Session) {
	t.Helper()
	var d *engine.Draft
	err := s.View(func(st *core.State) error {
		plain := st.Render()
		d = &engine.Draft{Plain: plain, Manifest: st.Manifest(plain, materializer.SnapshotKey(r.log.Name(), st.ID, st.Seq, core.DigestOf(plain)))}
		return nil
	})
	if err == nil {
		err = r.snapshots.Save(t.Context(), d.Manifest, d.Plain)
	}
	if err == nil {
		err = s.Checkpoint(t.Context(), d)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// record stores a record that package engine does not write.
func (r *rig) record(t *testing.T, id core.SessionID, kind core.Kind, body string) {
	t.Helper()
	s, err := r.sessions.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	rec := &core.Record{Kind: kind, Head: core.MainHead, Writer: "w", Body: []byte(body)}
	var after core.Pos
	_ = s.View(func(st *core.State) error {
		rec.Seq, rec.Base, rec.Epoch, rec.Chain = st.Seq+1, st.Base, st.Epoch, core.Chain{}
		rec.Chain, after = st.Chain.Next(rec), st.Pos
		return nil
	})
	if _, err := r.log.Append(t.Context(), id, after, rec); err != nil {
		t.Fatal(err)
	}
}

func TestUnreferencedBlobIsTrashedThenDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.imported(t, "session1", textLine("a", "nothing here"))
	garbage := r.put(t, noise(1000))

	if rep := r.apply(t); rep.Unreferenced.Blobs != 1 || rep.Young.Blobs != 1 || rep.Moved.Blobs != 0 || !r.inPlace(t, garbage) {
		t.Errorf("a young blob: %+v", rep)
	}
	r.ahead = grace + time.Minute
	if rep := r.apply(t); rep.Moved != (report.Amount{Blobs: 1, Bytes: 1000}) || r.inPlace(t, garbage) {
		t.Errorf("an old blob: %+v", rep)
	}
	r.ahead = grace - time.Minute
	if rep := r.apply(t); rep.Trash.Blobs != 1 || rep.Deleted.Blobs != 0 || !r.has(t, garbage) || len(r.deletions) > 0 {
		t.Errorf("in the trash: %+v, recorded %+v", rep, r.deletions)
	}
	r.ahead = grace + time.Minute
	if rep := r.apply(t); rep.Deleted != (report.Amount{Blobs: 1, Bytes: 1000}) || r.has(t, garbage) {
		t.Errorf("long in the trash: %+v", rep)
	}
	if len(r.deletions) != 1 {
		t.Fatalf("recorded: %+v", r.deletions)
	}
	d := r.deletions[0]
	if d.By != "me" || d.Host != "desk" || d.Why != "to see" || d.Node != "here" || d.Log != "main" || d.Time.IsZero() ||
		len(d.Blobs) != 1 || d.Blobs[0].Digest != core.Digest(garbage) || d.Blobs[0].Size != 1000 || d.Blobs[0].Spare {
		t.Errorf("recorded: %+v", d)
	}
	if rep := r.apply(t); rep.Stored.Blobs+rep.Trash.Blobs+rep.Deleted.Blobs != 0 {
		t.Errorf("nothing is left, and %+v", rep)
	}
}

// Every way in which a session can reference a blob keeps it.
func TestReferencedBlobsStay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	image, covered, replaced, foreign := noise(2000), noise(3000), noise(4000), noise(500)

	tail := r.imported(t, "session1", textLine("a", "hello"))
	appendTo(t, tail, imageLine("img", image))
	snapped := r.imported(t, "session2", imageLine("img", covered), imageLine("other", replaced))
	var a engine.Amend
	a.Lines([][]byte{[]byte(textLine("other", "no image any more"))})
	if _, err := snapped.Amend(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	r.checkpoint(t, snapped)
	r.imported(t, "session3", "no entry at all", textLine("a", "the file is kept"))
	body := base64.StdEncoding.EncodeToString(noise(2 * stream.SpillSize))
	r.imported(t, "session4", textLine("a", body))
	own := r.put(t, foreign)
	r.imported(t, "session5", textLine("a", "blob:"+own.String()))
	trashed := r.imported(t, "session6", imageLine("img", noise(1500)))
	if err := trashed.Delete(t.Context(), core.Notice{}); err != nil {
		t.Fatal(err)
	}

	want := r.objects(t)
	for range 3 {
		r.ahead += 3 * grace
		rep := r.apply(t)
		if rep.Unreferenced.Blobs != 0 || rep.Sessions != 6 || rep.Erased != 0 || len(rep.Missing) > 0 {
			t.Errorf("%+v", rep)
		}
	}
	if have := r.objects(t); !slices.Equal(have, want) {
		t.Errorf("objects are\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	if len(want) < 8 { // seven blobs and a snapshot
		t.Errorf("only %d objects were made", len(want))
	}
}

func TestErasedSessionReferencesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	shared, alone := noise(2000), noise(3000)
	r.imported(t, "session1", imageLine("img", shared), imageLine("own", alone))
	r.imported(t, "session2", imageLine("img", shared))
	r.record(t, "session1", core.KindErase, `{"by":"me"}`)
	r.ahead = 2 * grace
	rep := r.apply(t)
	if rep.Sessions != 1 || rep.Erased != 1 || rep.Moved != (report.Amount{Blobs: 1, Bytes: 3000}) {
		t.Errorf("%+v", rep)
	}
	if !r.inPlace(t, blobstore.RefOf(shared)) || r.inPlace(t, blobstore.RefOf(alone)) {
		t.Error("the wrong blob was moved")
	}
}

func TestBlobReferencedAgainIsMovedBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := noise(2000)
	ref := r.put(t, p)
	r.ahead = 2 * grace
	r.apply(t)
	if r.inPlace(t, ref) {
		t.Fatal("it was not moved")
	}
	// A record that references it without storing it, as a copied line does.
	r.imported(t, "session1", textLine("a", "blob:"+ref.String()))
	if rep := r.run(t, gc.Request{}); rep.PutBack != (report.Amount{Blobs: 1, Bytes: 2000}) || r.inPlace(t, ref) {
		t.Errorf("a dry run: %+v", rep)
	}
	if rep := r.apply(t); rep.PutBack != (report.Amount{Blobs: 1, Bytes: 2000}) || rep.Deleted.Blobs != 0 || !r.inPlace(t, ref) {
		t.Errorf("%+v", rep)
	}
	// The copy in the trash is deleted, and recorded as a spare.
	if rep := r.apply(t); rep.PutBack.Blobs != 0 || rep.Deleted.Blobs != 1 || !r.has(t, ref) {
		t.Errorf("%+v", rep)
	}
	if len(r.deletions) != 1 || !r.deletions[0].Blobs[0].Spare {
		t.Errorf("recorded: %+v", r.deletions)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(t, noise(10))
	r.ahead = 2 * grace
	r.apply(t)
	r.put(t, noise(20))
	before := r.objects(t)
	rep := r.run(t, gc.Request{})
	if rep.Applied || rep.Moved != (report.Amount{Blobs: 1, Bytes: 20}) || rep.Deleted != (report.Amount{Blobs: 1, Bytes: 10}) {
		t.Errorf("%+v", rep)
	}
	if after := r.objects(t); !slices.Equal(before, after) || len(r.deletions) > 0 {
		t.Errorf("objects were %q and are %q, recorded: %v", before, after, r.deletions)
	}
	if done := r.apply(t); done.Moved != rep.Moved || done.Deleted != rep.Deleted {
		t.Errorf("the dry run said %+v, then it was %+v", rep, done)
	}
}

func TestDeletionRequiresRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ref := r.put(t, noise(10))
	r.ahead = 2 * grace
	r.apply(t)
	r.refuse = errors.New("no paper")
	if _, err := r.collectorOn(r.bucket).Run(t.Context(), gc.Request{Apply: true}); !errors.Is(err, r.refuse) {
		t.Errorf("Run = %v", err)
	}
	if !r.has(t, ref) {
		t.Error("it was deleted")
	}
}

func TestShorterGraceIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if _, err := r.collectorOn(r.bucket).Run(t.Context(), gc.Request{Apply: true, Grace: grace - 1}); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("Run = %v", err)
	}
	ref := r.put(t, noise(10))
	r.ahead = 2 * grace
	if rep := r.run(t, gc.Request{Apply: true, Grace: 3 * grace}); rep.Young.Blobs != 1 || !r.inPlace(t, ref) {
		t.Errorf("with a longer grace: %+v", rep)
	}
}

func TestUnreadableSessionStopsTheSweep(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*testing.T, *rig){
		"a record of an unknown kind": func(t *testing.T, r *rig) { r.record(t, "harmed-session", "anneal", `{}`) },
		"a body that is gone": func(t *testing.T, r *rig) {
			for info, err := range r.blobs.List(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if info.Size > stream.SpillSize {
					_ = r.bucket.Delete(t.Context(), info.Ref.Key())
				}
			}
		},
		"a damaged snapshot, the records before it dropped": func(t *testing.T, r *rig) {
			s, err := r.sessions.Open(t.Context(), "harmed-session")
			if err != nil {
				t.Fatal(err)
			}
			shard := r.log.Shard(s.ID())
			r.checkpoint(t, s)
			st, err := r.log.State(t.Context(), shard)
			if err == nil {
				err = r.log.Drop(t.Context(), shard, st.Last-1)
			}
			if err != nil {
				t.Fatal(err)
			}
			for info, err := range r.bucket.List(t.Context(), "snapshots/") {
				if err != nil {
					t.Fatal(err)
				}
				_ = r.bucket.Put(t.Context(), info.Key, strings.NewReader("harm"), 4)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.imported(t, "healthy-session", textLine("a", "b"))
			r.imported(t, "harmed-session", textLine("a", base64.StdEncoding.EncodeToString(noise(2*stream.SpillSize))))
			garbage := r.put(t, noise(10))
			spoil(t, r)
			before := r.objects(t)
			r.ahead = 3 * grace
			_, err := r.collectorOn(r.bucket).Run(t.Context(), gc.Request{Apply: true})
			if err == nil || !strings.Contains(err.Error(), "harmed-session") {
				t.Errorf("Run = %v; want an error that names the session", err)
			}
			if after := r.objects(t); !slices.Equal(before, after) || !r.inPlace(t, garbage) {
				t.Errorf("objects were %q and are %q", before, after)
			}
		})
	}
}

func TestBucketOfAnotherLogIsRefused(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{
		"a log of another name":              "logs/other/20260101T000000.000000000Z",
		"a log of the same name":             "logs/main/20260101T000000.000000000Z",
		"snapshots of a log of another name": "snapshots/other/session1/00000000000000000001-0123456789abcdef.jsonl.zst",
		"snapshots of an unknown session":    "snapshots/main/session9/00000000000000000001-0123456789abcdef.jsonl.zst",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c := r.collectorOn(r.bucket)
			for range 2 {
				if err := c.Sign(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			r.checkpoint(t, r.imported(t, "session1", textLine("a", "b")))
			garbage := r.put(t, noise(10))
			r.ahead = 2 * grace
			if rep := r.run(t, gc.Request{}); rep.Moved.Blobs != 1 {
				t.Errorf("alone in the bucket: %+v", rep)
			}
			if err := r.bucket.Put(t.Context(), key, strings.NewReader("x"), 1); err != nil {
				t.Fatal(err)
			}
			_, err := c.Run(t.Context(), gc.Request{Apply: true})
			if !errors.Is(err, core.ErrConflict) || !r.inPlace(t, garbage) {
				t.Errorf("Run = %v", err)
			}
		})
	}
}

// A log that was restored into the bucket of a lost one finds its signature there.
func TestSignatureOfRemovedLogIsRemovedOnRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.collectorOn(r.bucket)
	if err := c.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	own := r.objects(t)[0]
	const lost, alive = "logs/main/20260101T000000.000000000Z", "logs/other/20260101T000000.000000000Z"
	for _, key := range []string{lost, alive} {
		if err := r.bucket.Put(t.Context(), key, strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
	}
	garbage := r.put(t, noise(10))
	r.ahead = 2 * grace
	for _, bad := range []string{own, "logs/", "logs/main", "snapshots/main/session1", "../" + lost, ""} {
		if _, err := c.Run(t.Context(), gc.Request{Apply: true, Gone: []string{lost, bad}}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%q is gone: %v", bad, err)
		}
	}
	if _, err := c.Run(t.Context(), gc.Request{Apply: true, Gone: []string{lost}}); !errors.Is(err, core.ErrConflict) || !strings.Contains(err.Error(), alive) {
		t.Errorf("with another log that is not gone: %v", err)
	}
	if rep := r.run(t, gc.Request{Gone: []string{alive}}); rep.Moved.Blobs != 1 {
		t.Errorf("a dry run: %+v", rep)
	}
	if rep := r.run(t, gc.Request{Apply: true, Gone: []string{alive}}); rep.Moved.Blobs != 1 || r.inPlace(t, garbage) {
		t.Errorf("%+v", rep)
	}
	r.apply(t) // nothing prevents it any more
}

func TestReportCountsSavedBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	shared, single := noise(2000), noise(3000)
	for _, id := range []string{"session1", "session2", "session3"} {
		r.imported(t, id, imageLine("img", shared), imageLine("again", shared))
	}
	r.imported(t, "session4", imageLine("img", single))
	gone := noise(4000)
	r.imported(t, "session5", imageLine("img", gone))
	if err := r.bucket.Delete(t.Context(), blobstore.RefOf(gone).Key()); err != nil {
		t.Fatal(err)
	}
	rep := r.run(t, gc.Request{})
	if rep.Stored != (report.Amount{Blobs: 2, Bytes: 5000}) || rep.Referenced != rep.Stored || rep.References != 4 || rep.Saved != 4000 ||
		rep.Sessions != 5 || !slices.Equal(rep.Missing, []core.Digest{core.DigestOf(gone)}) {
		t.Errorf("%+v", rep)
	}
}

// After a run dies at any request to the store, every referenced blob can be read,
// and the next run completes the work.
func TestRunRecoversFromCrashAtAnyStep(t *testing.T) {
	t.Parallel()
	stop := errors.New("died")
	r := newRig(t)
	named, back := noise(2000), noise(500)
	r.imported(t, "session1", imageLine("img", named))
	backRef := r.put(t, back)
	old := r.put(t, noise(100))
	r.ahead = 2 * grace
	r.apply(t)
	r.imported(t, "session2", textLine("a", "blob:"+backRef.String()))
	garbage := r.put(t, noise(300))
	whole := r.objects(t)
	stops := 0
	for at := 1; ; at++ {
		// Each round begins with the same store.
		copied := memblob.New()
		for _, key := range whole {
			src, err := r.bucket.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			p, err := io.ReadAll(src)
			if err == nil {
				err = copied.Put(t.Context(), key, bytes.NewReader(p), int64(len(p)))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		calls := 0
		_, err := r.collectorOn(blobstoretest.Failing{Bucket: copied, Before: func(context.Context, blobstoretest.Op, string) error {
			if calls++; calls == at {
				return stop
			}
			return nil
		}}).Run(t.Context(), gc.Request{Apply: true})
		blobs := blobstore.New(copied)
		for what, ref := range map[string]blobstore.Ref{"the named": blobstore.RefOf(named), "the one in the trash": backRef, "the one just moved": garbage} {
			if _, err := blobs.Get(t.Context(), ref); err != nil {
				t.Errorf("after a stop at step %d, %s: %v", at, what, err)
			}
		}
		if err == nil {
			break
		}
		stops++
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
		if _, err := r.collectorOn(copied).Run(t.Context(), gc.Request{Apply: true}); err != nil {
			t.Errorf("after a stop at step %d: %v", at, err)
		}
		if _, err := blobs.Get(t.Context(), old); !errors.Is(err, blobstore.ErrNotFound) {
			t.Errorf("after a stop at step %d and another run, old garbage is there: %v", at, err)
		}
		for _, ref := range []blobstore.Ref{blobstore.RefOf(named), backRef} {
			if _, err := copied.Stat(t.Context(), ref.Key()); err != nil {
				t.Errorf("after a stop at step %d and another run: %v", at, err)
			}
		}
	}
	if stops < 10 {
		t.Errorf("it could be stopped at %d steps only", stops)
	}
}
