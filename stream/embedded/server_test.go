package embedded_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

const testTimeout = time.Minute

var quiet = slog.New(slog.DiscardHandler)

func TestMain(m *testing.M) {
	if dir := os.Getenv(publisherEnv); dir != "" {
		os.Exit(publishForever(dir))
	}
	os.Exit(m.Run())
}

// TestFailedStartAndCloseLeakNoGoroutines is not parallel, because it counts goroutines.
func TestFailedStartAndCloseLeakNoGoroutines(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		s := start(t, embedded.Config{Dir: dir, Listen: "127.0.0.1:0", Logger: quiet})
		nc := connect(t, s)
		nc.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Listen: taken.Addr().String(), Logger: quiet}); err == nil ||
		!strings.Contains(err.Error(), "address already in use") {
		t.Errorf("Start on a used port: %v", err)
	}
	cluster := embeddedtest.Configs(t, 3)[0]
	cluster.Cluster.Listen = taken.Addr().String()
	if _, err := embedded.Start(t.Context(), cluster); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("Start of a member on a used port: %v", err)
	}
	blocked := t.TempDir()
	write(t, blocked, "jetstream", "")
	if _, err := embedded.Start(t.Context(), embedded.Config{Dir: blocked, Logger: quiet}); err == nil {
		t.Error("Start succeeded with a file in place of the streams")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := embedded.Start(ctx, embedded.Config{Dir: dir, Logger: quiet}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start with an ended context: %v", err)
	}

	var stacks string
	await(t, "the servers' goroutines to end", func() bool {
		buf := make([]byte, 1<<20)
		stacks = string(buf[:runtime.Stack(buf, true)])
		return !strings.Contains(stacks, "nats-server/v2/server.") && !strings.Contains(stacks, "nats.(*Conn)")
	})
	start(t, embedded.Config{Dir: dir, Logger: quiet}) // the failed starts left no lock
}

func TestRestartKeepsAcknowledgedMessages(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t)
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if s.ClientURL() != "" || s.ClusterURL() != "" || s.IsClustered() || !s.StreamLeader("S") || s.Peers() != nil {
		t.Error("a single server without Listen has the wrong role or URL")
	}
	makeStream(t, s, "S", 1)
	publish(t, s, "s.1", "hello")

	s = embeddedtest.Restart(t, s)
	if got := message(t, s, "S", 1); got != "hello" {
		t.Errorf("after a restart the message is %q", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, embedded.ErrClosed) {
		t.Errorf("Ready when closed: %v", err)
	}
	if _, err := s.Connect(); !errors.Is(err, embedded.ErrClosed) {
		t.Errorf("Connect when closed: %v", err)
	}
	if s.StreamLeader("S") {
		t.Error("a closed server leads a stream")
	}
}

func TestSecondServerOnDirectoryIsRejected(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t)
	_, err := embedded.Start(t.Context(), s.Config())
	if !errors.Is(err, embedded.ErrInUse) {
		t.Fatalf("second Start: %v", err)
	}
	for _, part := range []string{s.Config().Dir, fmt.Sprintf("process %d", os.Getpid()), "stop that node"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not contain %q", err, part)
		}
	}
	publishesStill(t, s)
}

func TestTokenIsRequired(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Config{Dir: t.TempDir(), Listen: "0.0.0.0:0", Token: "s3cret", Logger: quiet})
	publishesStill(t, s)
	if !strings.HasPrefix(s.ClientURL(), "nats://127.0.0.1:") {
		t.Errorf("ClientURL is %s", s.ClientURL())
	}
	if _, err := nats.Connect(s.ClientURL()); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without the token: %v", err)
	}
	nc, err := nats.Connect(s.ClientURL(), nats.Token("s3cret"))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

func TestLargeMessageIsRejected(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t)
	nc := connect(t, s)
	if err := nc.Publish("x", make([]byte, embedded.MaxPayload+1)); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("a message above MaxPayload: %v", err)
	}
}

func TestFullStoreRejectsPublishAndKeepsMessages(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Config{Dir: t.TempDir(), MaxStore: 1 << 20, SyncEvery: time.Second, Logger: quiet})
	makeStream(t, s, "S", 1)
	js := jetStream(t, s)
	var err error
	var last uint64
	for range 100 {
		var ack *jetstream.PubAck
		if ack, err = js.Publish(t.Context(), "s.x", make([]byte, 64<<10)); err != nil {
			break
		}
		last = ack.Sequence
	}
	if err == nil || last == 0 {
		t.Fatalf("after %d messages: %v", last, err)
	}
	info := streamInfo(t, s, "S")
	if info.State.FirstSeq != 1 || info.State.LastSeq != last {
		t.Errorf("holds %d to %d, acknowledged was up to %d", info.State.FirstSeq, info.State.LastSeq, last)
	}
}

func TestStartFailsWithCorruptStream(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t)
	makeStream(t, s, "S", 1)
	cfg := s.Config()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(cfg.Dir, "jetstream", "$G", "streams", "S", "meta.inf"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	testkit.WriteFile(t, found[0], []byte("{"))
	if _, err := embedded.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "S") ||
		!strings.Contains(err.Error(), "could not be recovered") {
		t.Errorf("Start with a damaged stream: %v", err)
	}
}

// The sequences of a log begin at about 10^15. JetStream must not list those before a
// damaged record as lost, one by one, nor those before a sequence that is too high.
func TestDamagedRecordNeedsNoMemory(t *testing.T) {
	t.Parallel()
	const records = 10
	type place struct{ truncated, record, at int }
	for _, p := range []place{
		{0, 0, 0}, {0, 0, 2}, {0, 0, 8}, {0, 0, 20}, {0, 0, 30}, // length, sequence, length of the subject, subject
		{0, 1, 8}, {0, 1, 10}, {0, 5, 8}, {0, 9, 9}, // sequence
		{3, 1, 0}, {3, 1, 2}, {3, 1, 20}, {3, 2, 21}, // of a record that was truncated
		{3, 3, 4}, {3, 3, 5}, {3, 3, 11}, {3, 3, 20}, // of the first one that was not
	} {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			t.Parallel()
			s := embeddedtest.Start(t)
			sc := streamConfig("S", 1)
			sc.FirstSeq = 1 << 50
			stream, err := jetStream(t, s).CreateStream(t.Context(), sc)
			if err != nil {
				t.Fatal(err)
			}
			for range records {
				publish(t, s, "s.1", "some words")
			}
			if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(sc.FirstSeq+uint64(p.truncated))); err != nil {
				t.Fatal(err)
			}
			cfg := s.Config()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			found, err := filepath.Glob(filepath.Join(cfg.Dir, "jetstream", "$G", "streams", "S", "msgs", "*.blk"))
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			path := found[0]
			b := testkit.ReadFile(t, path)
			b[int(binary.LittleEndian.Uint32(b))*p.record+p.at] ^= 0x40
			testkit.WriteFile(t, path, b)
			s = start(t, cfg)
			if stream, err = jetStream(t, s).Stream(t.Context(), "S"); err != nil {
				t.Fatal(err)
			}
			_, _ = stream.GetMsg(t.Context(), sc.FirstSeq+records-1) // reads the block; it may be lost
			publishesStill(t, s)
		})
	}
}

func TestLogIsQuietAndNamesRisks(t *testing.T) {
	t.Parallel()
	var out lines
	log := slog.New(slog.NewTextHandler(&out, nil))
	s := start(t, embedded.Config{Dir: t.TempDir(), SyncEvery: time.Second, MaxStore: 1 << 60, Logger: log})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	want := []string{"level=WARN msg=\"fsync is lazy: a power cut or kernel crash loses", "fsync_every=1s", "server started", "server closed"}
	if runtime.GOOS == "linux" {
		want = append(want, "lower MaxStore")
	}
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("the log does not contain %s:\n%s", part, text)
		}
	}
	if n := strings.Count(text, "\n"); n > 6 {
		t.Errorf("%d lines for one start and one stop:\n%s", n, text)
	}
}

func TestConnectionsAreIndependent(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			nc, err := s.Connect()
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			if err := nc.Flush(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	publishesStill(t, s)
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		dir := b.TempDir()
		s, err := embedded.Start(b.Context(), embedded.Config{Dir: dir, Logger: quiet})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkPublish1KiB(b *testing.B) {
	for _, every := range []time.Duration{0, time.Second} {
		b.Run(fmt.Sprintf("SyncEvery=%v", every), func(b *testing.B) {
			s := start(b, embedded.Config{Dir: b.TempDir(), SyncEvery: every, Logger: quiet})
			makeStream(b, s, "S", 1)
			js := jetStream(b, s)
			body := bytes.Repeat([]byte("x"), 1024)
			for b.Loop() {
				if _, err := js.Publish(b.Context(), "s.x", body); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}

func start(tb testing.TB, cfg embedded.Config) *embedded.Server {
	tb.Helper()
	s, err := embedded.Start(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func connect(tb testing.TB, s *embedded.Server) *nats.Conn {
	tb.Helper()
	nc, err := s.Connect()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

func jetStream(tb testing.TB, s *embedded.Server) jetstream.JetStream {
	tb.Helper()
	js, err := jetstream.New(connect(tb, s))
	if err != nil {
		tb.Fatal(err)
	}
	return js
}

func makeStream(tb testing.TB, s *embedded.Server, name string, replicas int) {
	tb.Helper()
	_, err := jetStream(tb, s).CreateStream(tb.Context(), streamConfig(name, replicas))
	if err != nil {
		tb.Fatal(err)
	}
}

func streamConfig(name string, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        name,
		Subjects:    []string{strings.ToLower(name) + ".*"},
		Storage:     jetstream.FileStorage,
		Discard:     jetstream.DiscardNew,
		Replicas:    replicas,
		AllowDirect: true,
	}
}

func publish(tb testing.TB, s *embedded.Server, subject, body string) uint64 {
	tb.Helper()
	ack, err := jetStream(tb, s).Publish(tb.Context(), subject, []byte(body))
	if err != nil {
		tb.Fatal(err)
	}
	return ack.Sequence
}

func publishesStill(tb testing.TB, s *embedded.Server) {
	tb.Helper()
	makeStream(tb, s, "STILL", 1)
	publish(tb, s, "still.1", "x")
}

func message(tb testing.TB, s *embedded.Server, stream string, seq uint64) string {
	tb.Helper()
	st, err := jetStream(tb, s).Stream(tb.Context(), stream)
	if err != nil {
		tb.Fatal(err)
	}
	msg, err := st.GetMsg(tb.Context(), seq)
	if err != nil {
		tb.Fatal(err)
	}
	return string(msg.Data)
}

func streamInfo(tb testing.TB, s *embedded.Server, stream string) *jetstream.StreamInfo {
	tb.Helper()
	st, err := jetStream(tb, s).Stream(tb.Context(), stream)
	if err != nil {
		tb.Fatal(err)
	}
	return st.CachedInfo()
}

// await polls until ok, and fails the test after a timeout.
func await(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(testTimeout)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			tb.Fatalf("waited %v for %s", testTimeout, what)
		}
	}
}

// lines is a buffer for concurrent use.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
