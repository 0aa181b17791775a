package removal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

const session = core.SessionID("session-1")

var errKilled = errors.New("killed")

// A place is what nodes share: a broker and a bucket.
type place struct {
	conn   *nats.Conn
	bucket blobstore.Bucket
	flush  time.Duration // the broker's flush interval
}

func newPlace(t *testing.T) *place {
	t.Helper()
	conn, err := embeddedtest.Start(t).Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return &place{conn: conn, bucket: memblob.New()}
}

// node returns a Remover of a node that has just started, with nothing in memory.
func (p *place) node(t *testing.T) *Remover {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	blobs := materializer.NewBlobs(blobstore.New(p.bucket))
	log, err := stream.OpenLog(t.Context(), p.conn, stream.LogConfig{Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	directory, err := index.Open(t.Context(), index.Config{Path: filepath.Join(t.TempDir(), "index.db"), Log: "main", Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	snapshots := materializer.NewSnapshots(p.bucket)
	sessions := engine.NewSessions(engine.Config{Log: log, Blobs: blobs, Snapshots: snapshots, Dialects: dialect.All(), Host: "test", FlushEvery: p.flush, Logger: quiet})
	cache := materializer.NewCache(sessions, 64<<20)
	mat := materializer.New(materializer.Config{Log: log, Sessions: sessions, Cache: cache, Snapshots: snapshots, Directory: directory, Logger: quiet})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { _ = mat.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return &Remover{Log: log, Sessions: sessions, Cache: cache, Materializer: mat, Directory: directory, Snapshots: snapshots, Window: time.Hour}
}

// create creates a session with three snapshots and six entries.
func (p *place) create(t *testing.T) {
	t.Helper()
	r := p.node(t)
	h, err := pi.Dialect{}.Header(pi.Dialect{}.NewHeader(core.HeaderFields{ID: string(session), Time: "2026-01-02T03:04:05.678Z", CWD: "/w"}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Sessions.Create(t.Context(), engine.CreateRequest{ID: session, Origin: core.Origin{Dialect: "pi"}, Header: h})
	if err != nil {
		t.Fatal(err)
	}
	r.Cache.Put(s)
	for i := range 6 {
		line := fmt.Sprintf(`{"type":"message","id":"entry-%d","message":{"role":"user","content":"the swordfish"}}`, i)
		if _, err := s.Append(t.Context(), engine.Append{Lines: [][]byte{[]byte(line)}}); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if _, err := r.Materializer.Checkpoint(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// left returns what of a session can still be read: entries in records, and
// snapshots.
func (p *place) left(t *testing.T, text string) (where []string) {
	t.Helper()
	r := p.node(t)
	last, err := r.Log.Last(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range r.Log.Read(t.Context(), session, 0, last.Pos) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(rec.Body), text) {
			where = append(where, fmt.Sprintf("%s record %d", rec.Kind, rec.Seq))
		}
	}
	kept, err := r.Snapshots.Kept(t.Context(), "main", session)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kept {
		where = append(where, k.Key)
	}
	return where
}

// killedAt runs do on a new node, killed before its nth step, and reports whether
// it was killed.
func (p *place) killedAt(t *testing.T, n int, do func(*Remover) error) bool {
	t.Helper()
	r := p.node(t)
	r.step = func(string) error {
		if n--; n < 0 {
			return errKilled
		}
		return nil
	}
	err := do(r)
	if err != nil && !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	return err != nil
}

var ada = core.Notice{By: "ada", Why: "asked for"}

// A process that ends at any step leaves the session either complete or erased, and
// a retry completes the erasure.
func TestInterruptedEraseIsCompletedByRetry(t *testing.T) {
	t.Parallel()
	erase := func(r *Remover) error {
		_, err := r.Erase(t.Context(), session, ada, How{Now: true})
		return err
	}
	steps := 0
	for killed := true; killed; steps++ {
		p := newPlace(t)
		p.create(t)
		if killed = p.killedAt(t, steps, erase); killed {
			s, err := p.node(t).Sessions.Open(t.Context(), session)
			switch {
			case steps == 0 && err == nil:
				_ = s.View(func(st *core.State) error {
					if len(st.Entries) != 6 {
						t.Errorf("killed before anything was done: %d entries", len(st.Entries))
					}
					return nil
				})
			case steps == 0 || !errors.Is(err, core.ErrDeleted):
				t.Errorf("killed at step %d, the session opens with %v", steps, err)
			}
			if err := erase(p.node(t)); err != nil {
				t.Fatalf("again after step %d: %v", steps, err)
			}
		}
		if got := p.left(t, "swordfish"); len(got) != 0 {
			t.Errorf("killed at step %d, there is still %v", steps, got)
		}
	}
	if steps != 7 { // record, three snapshots, records, rows, and once to the end
		t.Errorf("there were %d steps", steps)
	}
}

func TestInterruptedRedactIsCompletedByRetry(t *testing.T) {
	t.Parallel()
	redact := func(r *Remover) error {
		ids := []string{"entry-0", "entry-1", "entry-2", "entry-3", "entry-4", "entry-5"}
		_, err := r.Redact(t.Context(), session, engine.Redaction{IDs: ids, Text: "gone", Notice: ada})
		return err
	}
	steps := 0
	for killed := true; killed; steps++ {
		p := newPlace(t)
		p.create(t)
		if killed = p.killedAt(t, steps, redact); killed {
			if _, err := p.node(t).Sessions.Open(t.Context(), session); err != nil {
				t.Errorf("killed at step %d: %v", steps, err)
			}
			if err := redact(p.node(t)); err != nil {
				t.Fatalf("again after step %d: %v", steps, err)
			}
		}
		if got := p.left(t, "swordfish"); len(got) != 1 {
			t.Errorf("killed at step %d, there is %v, want the new snapshot alone", steps, got)
		}
		s, err := p.node(t).Sessions.Open(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.View(func(st *core.State) error {
			if text := string(st.Render()); strings.Contains(text, "swordfish") || strings.Count(text, `"gone"`) != 6 {
				t.Errorf("killed at step %d:\n%s", steps, text)
			}
			return nil
		})
	}
	if steps != 8 { // record, checkpoint, three snapshots, records, rows, and once to the end
		t.Errorf("there were %d steps", steps)
	}
}

// Another node has the session in memory, with all its lines, when it is erased.
func TestDelayedAppendToErasedSessionNamesEraser(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.create(t)
	late, err := p.node(t).Sessions.Open(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.node(t).Erase(t.Context(), session, ada, How{Now: true}); err != nil {
		t.Fatal(err)
	}
	line := []byte(`{"type":"message","message":{"role":"user","content":"more"}}`)
	_, err = late.Append(t.Context(), engine.Append{Lines: [][]byte{line}})
	if !errors.Is(err, core.ErrDeleted) || !strings.Contains(err.Error(), "erased by ada") {
		t.Errorf("the late writer is told %v", err)
	}
	_ = late.View(func(st *core.State) error {
		if st.Erased == nil || len(st.Entries) != 0 {
			t.Errorf("a late reader finds %d entries, erased %v", len(st.Entries), st.Erased)
		}
		return nil
	})
	if got := p.left(t, "swordfish"); len(got) != 0 {
		t.Errorf("it brought back %v", got)
	}
}

func TestDelayedAppendDoesNotRestoreRedactedLine(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.create(t)
	late, err := p.node(t).Sessions.Open(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	q := engine.Redaction{IDs: []string{"entry-0", "entry-1", "entry-2", "entry-3", "entry-4", "entry-5"}, Text: "gone", Notice: ada}
	if _, err := p.node(t).Redact(t.Context(), session, q); err != nil {
		t.Fatal(err)
	}
	line := []byte(`{"type":"message","id":"entry-9","message":{"role":"user","content":"more"}}`)
	if _, err := late.Append(t.Context(), engine.Append{Lines: [][]byte{line}}); err != nil {
		t.Fatal(err)
	}
	again := []byte(`{"type":"message","id":"entry-0","parentId":null,"message":{"role":"user","content":"the swordfish"}}`)
	if _, err := late.Append(t.Context(), engine.Append{Lines: [][]byte{again}}); !errors.Is(err, core.ErrConflict) {
		t.Errorf("a redacted line appended again: %v", err)
	}
	if got := p.left(t, "swordfish"); len(got) != 1 {
		t.Errorf("there is %v, want a snapshot alone", got)
	}
}

func TestSessionIsErasedAfterItsTimeInTrash(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.create(t)
	r := p.node(t)
	if _, err := r.Erase(t.Context(), session, ada, How{}); !errors.Is(err, core.ErrConflict) {
		t.Errorf("not in the trash: %v", err)
	}
	s, err := r.Cache.Fresh(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Erase(t.Context(), session, ada, How{}); !errors.Is(err, core.ErrConflict) {
		t.Errorf("in the trash since a moment ago: %v", err)
	}
	r.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	got, err := r.Erase(t.Context(), session, ada, How{})
	if err != nil || got.Removed.Snapshots != 3 {
		t.Errorf("when its time is over: %+v, %v", got, err)
	}
}
