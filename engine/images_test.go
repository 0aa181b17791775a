package engine_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// A sweptLog loses all blobs whenever it stores a record, like a sweep between the
// upload of a blob and the record that names it.
type sweptLog struct {
	*memlog.Log
	blobs *streamtest.Blobs
}

func (l sweptLog) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	l.blobs.Clear()
	return l.Log.Append(ctx, id, after, r)
}

// A write of any kind that took longer than half the grace period uploads its blobs
// again; a quick one does not.
func TestSlowWriteUploadsBlobsAgain(t *testing.T) {
	t.Parallel()
	image := imageLine("img", strings.Repeat("QUJD", 400))
	for name, c := range map[string]struct {
		blobs int
		write func(*testing.T, *engine.Sessions) error
	}{
		"append": {1, func(t *testing.T, ss *engine.Sessions) error {
			_, err := appendLines(t.Context(), create(t, ss, "session1"), image)
			return err
		}},
		"amend": {1, func(t *testing.T, ss *engine.Sessions) error {
			var a engine.Amend
			a.Lines(rawLines([]string{image}))
			_, err := create(t, ss, "session1", entry("img", "")).Amend(t.Context(), a)
			return err
		}},
		"import": {1, func(t *testing.T, ss *engine.Sessions) error {
			_, err := importLines(t, ss, "session1", image)
			return err
		}},
		"import of a file that is kept": {2, func(t *testing.T, ss *engine.Sessions) error {
			_, err := importLines(t, ss, "session1", image, "no entry")
			return err
		}},
		"create": {1, func(t *testing.T, ss *engine.Sessions) error {
			h := piDialect().NewHeader(core.HeaderFields{ID: "session1", Time: "2026-01-02T03:04:05.678Z", CWD: "/w"})
			_, err := ss.CreateStrict(t.Context(), session.New{Dialect: "pi", Header: h, Lines: rawLines([]string{image})})
			return err
		}},
	} {
		for step, want := range map[time.Duration]int{time.Second: 0, time.Hour: c.blobs} {
			t.Run(name+" with steps of "+step.String(), func(t *testing.T) {
				t.Parallel()
				b := streamtest.NewBlobs()
				var steps atomic.Int64
				ss := engine.NewSessions(engine.Config{
					Log: full(sweptLog{memlog.New("test"), b}), Blobs: b, Snapshots: b, Dialects: dialect.All(), Logger: slog.New(slog.DiscardHandler),
					Grace: time.Hour,
					Now:   func() time.Time { return time.Unix(0, 0).Add(time.Duration(steps.Add(1)) * step) },
				})
				if err := c.write(t, ss); err != nil {
					t.Fatal(err)
				}
				if n := b.Count(); n != want {
					t.Errorf("%d blobs are stored; want %d", n, want)
				}
			})
		}
	}
}

func piDialect() core.Dialect { return dialect.All()["pi"] }

// slowBlobs is slow, and loses its first upload.
type slowBlobs struct {
	*streamtest.Blobs
	puts atomic.Int64
}

func (b *slowBlobs) Put(ctx context.Context, p []byte) (core.Digest, error) {
	if b.puts.Add(1) > 1 {
		return b.Blobs.Put(ctx, p)
	}
	return core.DigestOf(p), nil
}

func TestSlowAppendUploadsBodyAgain(t *testing.T) {
	t.Parallel()
	body := make([]byte, 2*stream.SpillSize)
	_, _ = rand.Read(body)
	b := &slowBlobs{Blobs: streamtest.NewBlobs()}
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1, Blobs: b, Grace: time.Nanosecond})
	if _, err := l.Append(t.Context(), logtest.NewID(), 0, testRecord(1, body)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(t.Context(), core.DigestOf(body)); err != nil {
		t.Error(err)
	}
}

// No record names the images of a lost record. The repair that stores it again also
// restores them, from the trash or from memory.
func TestRepairedRecordKeepsItsImages(t *testing.T) {
	t.Parallel()
	l, b := memlog.New("test"), streamtest.NewBlobs()
	counting := &slowBlobs{Blobs: b}
	ss := engine.NewSessions(engine.Config{
		Log: full(l), Blobs: counting, Snapshots: b, Dialects: dialect.All(), Logger: slog.New(slog.DiscardHandler),
	})
	s := create(t, ss, logtest.NewID())
	counting.puts.Store(1) // it keeps its uploads
	mustAppend(t, s, "", "", imageLine("img", strings.Repeat("QUJD", 400)))
	before := counting.puts.Load()
	l.Forget(1)
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "repaired records", report.Losses{Rewritten: 1}, ss.Losses())
	if n := counting.puts.Load() - before; n != 1 {
		t.Errorf("the image was stored %d times with the record; want 1", n)
	}
}

func TestBlobRefsFindsEveryMention(t *testing.T) {
	t.Parallel()
	a, z := strings.Repeat("a", 64), strings.Repeat("0", 63)+"9"
	text := `{"data":"blob:sha256:` + a + `","text":"see blob:keep:blob:sha256:` + z + ` and blob:sha256:` + a[:63] + `G, sha256:` + strings.Repeat("b", 64) + ` blob:sha256:` + a[:10]
	found := engine.BlobRefs([]byte(text))
	for _, want := range []string{a, z} {
		d, err := core.ParseDigest("sha256:" + want)
		if err != nil || !found[d] {
			t.Errorf("%s is not found", want)
		}
	}
	testkit.Equal(t, "mentions", 2, len(found))
}
