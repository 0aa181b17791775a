package engine_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

func testRecord(seq uint64, body []byte) *core.Record {
	r := &core.Record{Kind: core.KindAppend, Seq: seq, Head: core.MainHead, Writer: "w", Body: body}
	r.Chain = core.Chain{}.Next(r)
	return r
}

// A single server and a cluster answer a stale append alike: they name the last
// record, or 0 if the subject is empty.
func TestStaleAppendIsAnsweredWithTheLastRecord(t *testing.T) {
	for name, start := range map[string]func(*testing.T) (*nats.Conn, int){
		"R1": func(t *testing.T) (*nats.Conn, int) { return streamtest.Connect(t, embeddedtest.Start(t)), 1 },
		"R3": func(t *testing.T) (*nats.Conn, int) {
			if testing.Short() {
				t.Skip("three servers; not with -short")
			}
			return streamtest.Connect(t, embeddedtest.StartCluster(t, 3)[0]), 3
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc, replicas := start(t)
			l := streamtest.Open(t, nc, stream.LogConfig{Shards: 1, Replicas: replicas, AckWait: 5 * time.Second})
			ctx, id := t.Context(), logtest.NewID()
			pos, err := l.Append(ctx, id, 0, testRecord(1, nil))
			if err != nil {
				t.Fatal(err)
			}
			_, err = l.Append(ctx, id, 0, testRecord(1, nil))
			saysConflict(t, err, fmt.Sprint(pos))

			js, err := jetstream.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			s, err := js.Stream(ctx, "SESS_main_00")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Purge(ctx); err != nil {
				t.Fatal(err)
			}
			_, err = l.Append(ctx, id, pos, testRecord(2, nil))
			saysConflict(t, err, "0")
			if _, err := l.Append(ctx, id, 0, testRecord(1, nil)); err != nil {
				t.Errorf("the first record of an empty subject: %v", err)
			}
		})
	}
}

func saysConflict(t *testing.T, err error, last string) {
	t.Helper()
	if !errors.Is(err, core.ErrConflict) || !strings.Contains(fmt.Sprint(err), "wrong last sequence: "+last) {
		t.Errorf("error is %v, want a conflict that names %s", err, last)
	}
}

// An operator purged the stream by hand.
func TestPurgedSessionIsStoredAgain(t *testing.T) {
	t.Parallel()
	nc := streamtest.Connect(t, embeddedtest.Start(t))
	b := streamtest.NewBlobs()
	ss := node(streamtest.Open(t, nc, stream.LogConfig{Shards: 1, Blobs: b}), b)
	s := create(t, ss, "session1", entry("root", ""))
	js, _ := jetstream.New(nc)
	st, err := js.Stream(t.Context(), "SESS_main_00")
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, core.MainHead, "", message("a"))
	testkit.Equal(t, "entries", []string{"root", "a"}, ids(state(t, open(t, ss, "session1"))))
	testkit.Equal(t, "lost records", report.Losses{Rewritten: 1}, ss.Losses())
}

// The possible answers of the server to an append, from a fake stream.
func TestAppendMapsServerAnswers(t *testing.T) {
	t.Parallel()
	nc := streamtest.Connect(t, embeddedtest.Start(t))
	busy := func(code, status int) string {
		return fmt.Sprintf(`{"stream":"S","error":{"code":%d,"err_code":%d,"description":"said"}}`, status, code)
	}
	for i, c := range []struct {
		answers []string // in order; an empty one means no answer
		want    error
	}{
		{[]string{busy(10164, 400), busy(10158, 409), busy(10167, 429), `{"stream":"S","seq":7}`}, nil},
		{[]string{busy(10071, 400)}, core.ErrConflict},
		{[]string{busy(10077, 503)}, core.ErrFull},
		{[]string{busy(10164, 400), ""}, core.ErrUncertain},
		{[]string{""}, core.ErrUncertain},
		{[]string{busy(10060, 400)}, core.ErrUnavailable},
	} {
		name := fmt.Sprintf("answers%d", i)
		l := streamtest.Open(t, nc, stream.LogConfig{Name: name, Shards: 1, AckWait: 200 * time.Millisecond})
		js, _ := jetstream.New(nc)
		if err := js.DeleteStream(t.Context(), "SESS_"+name+"_00"); err != nil {
			t.Fatal(err)
		}
		n := 0
		sub, err := nc.Subscribe("sess."+name+".00.*", func(m *nats.Msg) {
			a := c.answers[min(n, len(c.answers)-1)]
			if n++; a != "" {
				_ = m.Respond([]byte(strings.ReplaceAll(a, `"S"`, `"SESS_`+name+`_00"`)))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		pos, err := l.Append(t.Context(), "session1", 6, testRecord(2, nil))
		if !errors.Is(err, c.want) || err == nil && pos != 7 {
			t.Errorf("answers %q: got %d, %v; want %v", c.answers, pos, err, c.want)
		}
		_ = sub.Unsubscribe()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err = l.Append(ctx, "session1", 6, testRecord(2, nil)) // no server answers
		cancel()
		if !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrUncertain) { // ErrUncertain if the deadline passes during a try
			t.Errorf("the stream has no leader: %v", err)
		}
	}
}

func TestFullLogRejectsAppendsAndServesReads(t *testing.T) {
	t.Parallel()
	b := streamtest.NewBlobs()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1, MaxBytes: 64 << 10, Blobs: b})
	s := create(t, node(l, b), "session1", entry("root", ""))
	var err error
	stored := 0
	for ; err == nil && stored < 1000; stored++ {
		noise := rand.Text() + rand.Text() + rand.Text()
		_, err = appendLines(t.Context(), s, `{"type":"custom","id":"`+fmt.Sprint(stored)+`","x":"`+strings.Repeat(noise, 10)+`"}`)
	}
	testkit.WantErr(t, err, core.ErrFull)
	testkit.Equal(t, "entries", stored, len(state(t, open(t, node(l, b), "session1")).Entries)) // root, less the rejected one
	if _, _, err := s.Claim(t.Context(), core.ClaimRequest{}); err != nil && !errors.Is(err, core.ErrFull) {
		t.Error(err)
	}
}

func TestDamagedSpillIsCorrupt(t *testing.T) {
	t.Parallel()
	b := streamtest.NewBlobs()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Blobs: b})
	body := make([]byte, 2*stream.SpillSize)
	_, _ = rand.Read(body)
	id := logtest.NewID()
	if _, err := l.Append(t.Context(), id, 0, testRecord(1, body)); err != nil {
		t.Fatal(err)
	}
	b.Damage(core.DigestOf(body))
	_, err := l.Last(t.Context(), id)
	testkit.WantErr(t, err, core.ErrCorrupt)
	b.Forget(core.DigestOf(body))
	_, err = l.Last(t.Context(), id)
	testkit.WantErr(t, err, core.ErrCorrupt)
	if errors.Is(err, core.ErrNotFound) {
		t.Error("a record with a missing body is reported as missing")
	}
}

// Other programs reach the same log over TCP; a follower survives a restart of the
// server.
func TestExternalServer(t *testing.T) {
	t.Parallel()
	srv, err := embedded.Start(t.Context(), embedded.Config{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", Token: "secret", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	url := srv.ClientURL()
	dial := func() *nats.Conn {
		nc, err := nats.Connect(url, nats.Token("secret"), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	b := streamtest.NewBlobs()
	one, two := streamtest.Open(t, dial(), stream.LogConfig{Blobs: b}), streamtest.Open(t, dial(), stream.LogConfig{Blobs: b})
	s := create(t, node(one, b), "session1", entry("root", ""))
	mustAppend(t, open(t, node(two, b), "session1"), core.MainHead, "", message("a"))
	mustAppend(t, s, core.MainHead, "", message("b"))

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	n := uint64(0)
	for r, err := range two.Follow(ctx, "session1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; r.Seq != n {
			t.Fatalf("followed record %d, want %d", r.Seq, n)
		}
		if n == 3 {
			cfg := srv.Config()
			cfg.Listen = strings.TrimPrefix(url, "nats://")
			if err := srv.Close(); err != nil {
				t.Fatal(err)
			}
			if srv, err = embedded.Start(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			mustAppend(t, s, core.MainHead, "", message("c"))
		}
		if n == 4 {
			break
		}
	}
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
}

func TestConcurrentOpensOfOneLog(t *testing.T) {
	t.Parallel()
	nc := streamtest.Connect(t, embeddedtest.Start(t))
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			l, err := streamtest.TryOpen(t, nc, stream.LogConfig{Name: "shared"})
			if err != nil {
				t.Error(err)
				return
			}
			id := logtest.NewID() // use it while others still open it
			if _, err := l.Append(t.Context(), id, 0, testRecord(1, nil)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	l := streamtest.Open(t, nc, stream.LogConfig{Name: "shared"})
	testkit.Equal(t, "shards", 4, l.Shards())
	_, err := streamtest.TryOpen(t, nc, stream.LogConfig{Name: "shared", Shards: 8})
	testkit.WantErr(t, err, core.ErrInvalid)
	for _, cfg := range []stream.LogConfig{{Name: "a.b"}, {Name: "*"}, {Name: strings.Repeat("x", 33)}, {Shards: 65}, {Shards: -1}} {
		_, err := streamtest.TryOpen(t, nc, cfg)
		testkit.WantErr(t, err, core.ErrInvalid)
	}
}

func TestLostStreamIsNotCreatedAgain(t *testing.T) {
	t.Parallel()
	nc := streamtest.Connect(t, embeddedtest.Start(t))
	streamtest.Open(t, nc, stream.LogConfig{})
	js, _ := jetstream.New(nc)
	if err := js.DeleteStream(t.Context(), "SESS_main_02"); err != nil {
		t.Fatal(err)
	}
	_, err := streamtest.TryOpen(t, nc, stream.LogConfig{})
	testkit.WantErr(t, err, core.ErrLost)
}

func TestOpenRejectsUnsafeStreamConfig(t *testing.T) {
	t.Parallel()
	nc := streamtest.Connect(t, embeddedtest.Start(t))
	js, _ := jetstream.New(nc)
	for name, spoil := range map[string]func(*jetstream.StreamConfig){
		"memory":      func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"discard_old": func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld },
		"max_age":     func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"per_subject": func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 5 },
		"workqueue":   func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy },
		"no_direct":   func(c *jetstream.StreamConfig) { c.AllowDirect = false },
		"no_live":     func(c *jetstream.StreamConfig) { c.RePublish = nil },
		"live_empty":  func(c *jetstream.StreamConfig) { c.RePublish.HeadersOnly = true },
		"no_ack":      func(c *jetstream.StreamConfig) { c.NoAck = true },
		"subjects":    func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "elsewhere."+c.Name) },
		"shards":      func(c *jetstream.StreamConfig) { c.Metadata["sesslog.shards"] = "5" },
		"no_metadata": func(c *jetstream.StreamConfig) { c.Metadata = nil },
		"async":       func(c *jetstream.StreamConfig) { c.PersistMode = jetstream.AsyncPersistMode },
	} {
		streamtest.Open(t, nc, stream.LogConfig{Name: name, Shards: 1})
		s, err := js.Stream(t.Context(), "SESS_"+name+"_00")
		if err != nil {
			t.Fatal(err)
		}
		cfg := s.CachedInfo().Config
		if err := js.DeleteStream(t.Context(), cfg.Name); err != nil {
			t.Fatal(err)
		}
		spoil(&cfg)
		for { // the previous server may still be removing its files
			_, err := js.CreateStream(t.Context(), cfg)
			if err == nil {
				break
			}
			if api, ok := errors.AsType[*jetstream.APIError](err); !ok || api.ErrorCode != 10049 {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if _, err := streamtest.TryOpen(t, nc, stream.LogConfig{Name: name, Shards: 1}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenRejectsLaterFormat(t *testing.T) {
	t.Parallel()
	nc := streamtest.Connect(t, embeddedtest.Start(t))
	streamtest.Open(t, nc, stream.LogConfig{Shards: 1})
	js, _ := jetstream.New(nc)
	s, err := js.Stream(t.Context(), "SESS_main_00")
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	cfg.Metadata["sesslog.version"] = strconv.Itoa(core.Version + 1)
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	_, err = streamtest.TryOpen(t, nc, stream.LogConfig{Shards: 1})
	testkit.WantErr(t, err, core.ErrTooNew)
}

func TestWatchReportsEveryRecordOfAShard(t *testing.T) {
	t.Parallel()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1})
	for i := range 3 {
		if _, err := l.Append(t.Context(), core.SessionID(fmt.Sprintf("session%d", i)), 0, testRecord(1, []byte("x"))); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var got []string
	var end error
	for c, err := range l.Watch(ctx, 0, 1) {
		if end = err; err != nil {
			break
		}
		if got = append(got, fmt.Sprintf("%d %s %s %d", c.Pos, c.Session, c.Kind, c.Seq)); len(got) == 2 {
			if _, err := l.Append(ctx, "session0", 1, testRecord(2, nil)); err != nil {
				t.Fatal(err)
			}
		}
		if len(got) == 3 {
			cancel()
		}
	}
	testkit.Equal(t, "changes", []string{"2 session1 append 1", "3 session2 append 1", "4 session0 append 2"}, got)
	testkit.WantErr(t, end, context.Canceled)
}
