package materializer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

// A rig is a log with the dependencies of a materializer.
type rig struct {
	conn      *nats.Conn
	bucket    blobstore.Bucket
	blobs     *blobstore.Blobs
	log       *stream.Log
	sessions  *engine.Sessions
	cache     *materializer.Cache
	snapshots *materializer.Snapshots
	quiet     *slog.Logger
	file      string // of the directory
	wrap      func(materializer.Directory) materializer.Directory
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return newRigOn(t, memblob.New())
}

// newRigOn is newRig with a given bucket.
func newRigOn(t testing.TB, bucket blobstore.Bucket) *rig {
	t.Helper()
	conn, err := embeddedtest.Start(t).Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	r := &rig{conn: conn, bucket: bucket, quiet: slog.New(slog.DiscardHandler), file: filepath.Join(t.TempDir(), "index.db")}
	r.blobs = blobstore.New(r.bucket)
	blobs := materializer.NewBlobs(r.blobs)
	if r.log, err = stream.OpenLog(t.Context(), conn, stream.LogConfig{Blobs: blobs}); err != nil {
		t.Fatal(err)
	}
	r.snapshots = materializer.NewSnapshots(r.bucket)
	r.sessions = engine.NewSessions(engine.Config{Log: r.log, Blobs: blobs, Snapshots: r.snapshots, Dialects: dialect.All(), Logger: r.quiet})
	r.cache = materializer.NewCache(r.sessions, 64<<20)
	return r
}

// run runs a materializer until stop is called or the test ends.
func (r *rig) run(t testing.TB, p materializer.Policy) (m *materializer.Materializer, d *index.Index, stop func()) {
	t.Helper()
	return r.runAs(t, materializer.Config{Policy: p})
}

// runAs is run with a given configuration.
func (r *rig) runAs(t testing.TB, cfg materializer.Config) (m *materializer.Materializer, d *index.Index, stop func()) {
	t.Helper()
	d, err := index.Open(t.Context(), index.Config{Path: r.file, Log: r.log.Name(), Logger: r.quiet})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Log, cfg.Sessions, cfg.Cache, cfg.Snapshots, cfg.Directory, cfg.Logger = r.log, r.sessions, r.cache, r.snapshots, d, r.quiet
	if r.wrap != nil {
		cfg.Directory = r.wrap(d)
	}
	m = materializer.New(cfg)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return m, d, stop
}

func (r *rig) create(t *testing.T, id string) *engine.Session {
	t.Helper()
	d := dialect.All()["pi"]
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: id, Time: "2026-01-02T03:04:05.000Z", CWD: "/w"}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.sessions.Create(t.Context(), engine.CreateRequest{ID: core.SessionID(id), Origin: core.Origin{Dialect: "pi"}, Header: h})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// allRows returns the row of every session, by id.
func allRows(t *testing.T, d *index.Index) (rows []catalog.Row, err error) {
	t.Helper()
	for row, err := range d.Rows(t.Context()) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// add appends a message of about size bytes, and returns its record's number.
func add(t *testing.T, s *engine.Session, size int) uint64 {
	t.Helper()
	line := fmt.Sprintf(`{"type":"message","message":{"role":"user","content":%q}}`, strings.Repeat("x", size))
	done, err := s.Append(t.Context(), engine.Append{Lines: [][]byte{[]byte(line)}})
	if err != nil {
		t.Fatal(err)
	}
	return done.Cursor.Seq
}

// await waits until ok returns true.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute) // only a failure takes that long
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func checkpointed(s *engine.Session) (seq, covered uint64) {
	_ = s.View(func(st *core.State) error {
		seq, covered = st.Seq, st.Checkpointed
		return nil
	})
	return seq, covered
}

// A node that owns no shard renews the rows of a busy session less often. Its listings
// have all records nevertheless.
func TestNodeWithoutShardsListsAllRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, d, _ := r.runAs(t, materializer.Config{
		Node:    "this",
		Members: func(context.Context) ([]string, error) { return []string{"another"}, nil },
	})
	s := r.create(t, "session-busy")
	for n := 1; n <= 50; n++ {
		add(t, s, 10)
		if n%25 > 0 {
			continue
		}
		if err := m.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		row, ok, err := d.Row(t.Context(), s.ID())
		if err != nil || !ok || row.Entries != n {
			t.Errorf("a row of %d entries, want %d: %v, %v", row.Entries, n, ok, err)
		}
	}
}

func TestDirectoryHasARowForEverySession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, d, _ := r.run(t, materializer.Policy{})
	for i := range 20 {
		add(t, r.create(t, fmt.Sprintf("session-%02d", i)), 10)
	}
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := d.List(t.Context(), catalog.Filter{})
	if rows := page.Rows; err != nil || len(rows) != 20 || d.Len() != 20 {
		t.Fatalf("%d rows, %v", len(page.Rows), err)
	}
	await(t, "every row to be that of the second record", func() bool {
		d.Sync(t.Context())
		page, _ = d.List(t.Context(), catalog.Filter{})
		return !slices.ContainsFunc(page.Rows, func(r catalog.Row) bool { return r.Seq < 2 || r.Entries != 1 || r.Messages != 1 })
	})
}

func TestDirectorySurvivesRestartAndLoss(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, _, stop := r.run(t, materializer.Policy{})
	for i := range 5 {
		r.create(t, fmt.Sprintf("session-%02d", i))
	}
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()

	r.create(t, "while-nobody-ran")
	m, d, stop := r.run(t, materializer.Policy{})
	if d.Len() != 5 {
		t.Errorf("before reading anything a new run has %d sessions", d.Len())
	}
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.Len() != 6 {
		t.Errorf("then it has %d sessions", d.Len())
	}
	stop()

	if err := os.Remove(r.file); err != nil {
		t.Fatal(err)
	}
	m, d, _ = r.run(t, materializer.Policy{})
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.Len() != 6 {
		t.Errorf("rebuilt from the log it has %d sessions", d.Len())
	}
}

func TestGrownSessionGetsSnapshot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, materializer.Policy{MinTail: 10 << 10, Idle: time.Hour})
	s := r.create(t, "session-one")
	add(t, s, 1000)
	for range 12 {
		add(t, s, 1000)
	}
	await(t, "a snapshot", func() bool {
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, covered := checkpointed(s)
		return covered > 0
	})
	fresh, err := r.sessions.Open(t.Context(), "session-one")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a, b := rendered(s), rendered(fresh); !bytes.Equal(a, b) {
		t.Errorf("loaded from the snapshot the session is\n%s\nwant\n%s", b, a)
	}
}

func rendered(s *engine.Session) (b []byte) {
	_ = s.View(func(st *core.State) error {
		b = st.Render()
		return nil
	})
	return b
}

func TestIdleSessionGetsOneSnapshot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, materializer.Policy{Idle: time.Second})
	s := r.create(t, "session-one")
	for range 2 {
		last := add(t, s, 10)
		await(t, "a snapshot", func() bool {
			if err := s.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			seq, covered := checkpointed(s)
			return covered == last && seq == last+1
		})
	}
}

func TestSessionsOfLastRunGetSnapshots(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, _, stop := r.run(t, materializer.Policy{Idle: time.Hour})
	s := r.create(t, "session-one")
	add(t, s, 10)
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	r.run(t, materializer.Policy{Idle: time.Second})
	await(t, "a snapshot", func() bool {
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, covered := checkpointed(s)
		return covered == 2
	})
}

func TestSnapshotIsTheSameOnTwoNodes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, _, _ := r.run(t, materializer.Policy{Idle: time.Hour})
	s := r.create(t, "session-one")
	add(t, s, 10)
	other, err := r.sessions.Open(t.Context(), "session-one")
	if err != nil {
		t.Fatal(err)
	}
	one, err := m.Checkpoint(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	two, err := m.Checkpoint(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if one.Object != two.Object || one.SHA256 != two.SHA256 {
		t.Errorf("the objects are %s and %s", one.Object, two.Object)
	}
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seq, covered := checkpointed(s); seq != 3 || covered != 2 {
		t.Errorf("after both the session is at record %d, covered up to %d", seq, covered)
	}
}

func TestCheckpointDuringAppends(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, _, _ := r.run(t, materializer.Policy{Idle: time.Hour, MinTail: 1 << 30})
	s := r.create(t, "session-one")
	writing, enough := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		n := 0
		for writing.Err() == nil {
			if _, err := s.Append(t.Context(), engine.Append{Lines: [][]byte{[]byte(`{"type":"message","message":{"role":"user","content":"x"}}`)}}); err != nil {
				t.Errorf("append: %v", err)
				break
			}
			n++
		}
		done <- n
	}()
	other, err := r.sessions.Open(t.Context(), "session-one")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := other.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Checkpoint(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	enough()
	appended := <-done
	fresh, err := r.sessions.Open(t.Context(), "session-one")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(rendered(fresh), []byte("\n")) - 1; n != appended {
		t.Errorf("%d entries are there, %d were acknowledged", n, appended)
	}
	if _, covered := checkpointed(fresh); covered == 0 {
		t.Error("no snapshot landed")
	}
}

func TestCacheEvictsLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 8 {
		add(t, r.create(t, fmt.Sprintf("session-%02d", i)), 100<<10)
	}
	c := materializer.NewCache(r.sessions, 350<<10)
	for i := range 8 {
		if _, err := c.Get(t.Context(), core.SessionID(fmt.Sprintf("session-%02d", i))); err != nil {
			t.Fatal(err)
		}
	}
	n, size, limit := c.Stats()
	if n == 0 || n > 3 || size > limit {
		t.Errorf("the cache keeps %d sessions of %d bytes, its limit is %d", n, size, limit)
	}
	one, err := c.Get(t.Context(), "session-07")
	if err != nil {
		t.Fatal(err)
	}
	if two, _ := c.Get(t.Context(), "session-07"); two != one {
		t.Error("the latest session was loaded again")
	}
	if _, err := c.Get(t.Context(), "not-there"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a session that is not there: %v", err)
	}
}

func TestUnreadableSessionDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// A record of an unknown dialect, written by another program.
	body := []byte(`{"dialect":"klingon"}` + "\n" + `{"type":"session"}`)
	rec := &core.Record{Kind: core.KindOpen, Seq: 1, Head: core.MainHead, Writer: "w", Body: body}
	rec.Chain = core.ChainStart(r.log.Name(), "bad-session").Next(rec)
	if _, err := r.log.Append(t.Context(), "bad-session", 0, rec); err != nil {
		t.Fatal(err)
	}
	m, d, _ := r.run(t, materializer.Policy{})
	r.create(t, "good-session")
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.Len() != 1 {
		t.Errorf("the directory has %d rows", d.Len())
	}
}

func TestSnapshotsAreSeekableZstdOfThePlainBytes(t *testing.T) {
	t.Parallel()
	bucket := memblob.New()
	s := materializer.NewSnapshots(bucket)
	for _, size := range []int{0, 1, 256 << 10, 700 << 10} {
		plain := bytes.Repeat([]byte("line\n"), size/5+1)[:size]
		m := &core.Manifest{Object: fmt.Sprintf("snapshots/x/%d", size), Size: int64(size), SHA256: core.DigestOf(plain)}
		if err := s.Save(t.Context(), m, plain); err != nil {
			t.Fatal(err)
		}
		got, err := s.Read(t.Context(), m)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes come back as %d, %v", size, len(got), err)
		}
		wrong := *m
		wrong.SHA256 = core.Digest{1}
		if _, err := s.Read(t.Context(), &wrong); !errors.Is(err, core.ErrCorrupt) {
			t.Errorf("bytes that are others: %v", err)
		}
		wrong = *m
		wrong.Size++
		if _, err := s.Read(t.Context(), &wrong); !errors.Is(err, core.ErrCorrupt) {
			t.Errorf("bytes that are fewer: %v", err)
		}
		if size > 0 {
			wrong.Size = m.Size - 1
			if _, err := s.Read(t.Context(), &wrong); !errors.Is(err, core.ErrCorrupt) {
				t.Errorf("bytes that are more: %v", err)
			}
		}
	}
	if _, err := s.Read(t.Context(), &core.Manifest{Object: "snapshots/none"}); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a snapshot that is not there: %v", err)
	}
}

func TestSnapshotIsVerifiedByPackedOrPlainDigest(t *testing.T) {
	t.Parallel()
	bucket := memblob.New()
	s := materializer.NewSnapshots(bucket)
	plain := bytes.Repeat([]byte("a line of a session\n"), 50_000)
	m := &core.Manifest{Object: "snapshots/x/1", Size: int64(len(plain)), SHA256: core.DigestOf(plain)}
	if err := s.Save(t.Context(), m, plain); err != nil {
		t.Fatal(err)
	}
	r, err := bucket.Get(t.Context(), m.Object)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := io.ReadAll(r)
	if err != nil || r.Close() != nil || core.DigestOf(packed) != m.Packed {
		t.Fatalf("the object's digest is not %s: %v", m.Packed, err)
	}
	load := func(m *core.Manifest, object []byte) ([]byte, error) {
		if err := bucket.Put(t.Context(), m.Object, bytes.NewReader(object), int64(len(object))); err != nil {
			t.Fatal(err)
		}
		got, checked, err := s.Load(t.Context(), m)
		if err != nil {
			return nil, err
		}
		return got, checked()
	}

	// Another version of the encoder stores other bytes under the same key.
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	unmarked := *m
	unmarked.Packed = core.Digest{}
	for name, object := range map[string][]byte{"as saved": packed, "packed otherwise": e.EncodeAll(plain, nil)} {
		for _, m := range []*core.Manifest{m, &unmarked} {
			if got, err := load(m, object); err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%s, packed %q: %d bytes, %v", name, m.Packed, len(got), err)
			}
		}
	}
	for i := 0; i < len(packed); i += 1 + len(packed)/200 {
		object := bytes.Clone(packed)
		object[i] ^= 1
		if got, err := load(m, object); err != nil && !errors.Is(err, core.ErrCorrupt) || err == nil && !bytes.Equal(got, plain) {
			t.Errorf("byte %d is another: %v", i, err)
		}
	}
	short := *m
	short.Size--
	if _, err := load(&short, packed); !errors.Is(err, core.ErrCorrupt) {
		t.Errorf("bytes that are more: %v", err)
	}
	// Read compares the plain bytes only.
	other := *m
	other.SHA256 = core.Digest{1}
	if _, err := s.Read(t.Context(), &other); !errors.Is(err, core.ErrCorrupt) {
		t.Errorf("plain bytes that are others: %v", err)
	}
	// An object that does not unpack to its input is not stored.
	if err := s.Save(t.Context(), &core.Manifest{Object: "snapshots/x/2", Size: 1}, plain); !errors.Is(err, core.ErrCorrupt) {
		t.Errorf("saved for a manifest of another size: %v", err)
	}
	if _, err := bucket.Get(t.Context(), "snapshots/x/2"); err == nil {
		t.Error("it was stored")
	}
}
