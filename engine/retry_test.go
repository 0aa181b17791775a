package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/stream/streamtest"
)

var (
	errNobody = fmt.Errorf("no leader: %w", core.ErrUnavailable)
	errSilent = fmt.Errorf("no answer: %w", core.ErrUncertain)
)

// A patient log controls the outcome of an append, and records the caller's deadline.
type patient struct {
	core.Log
	mu sync.Mutex
	on func(ctx context.Context, store func() (core.Pos, error)) (core.Pos, error)
}

func (l *patient) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	l.mu.Lock()
	on := l.on
	l.mu.Unlock()
	store := func() (core.Pos, error) { return l.Log.Append(ctx, id, after, r) }
	if on == nil {
		return store()
	}
	return on(ctx, store)
}

func (l *patient) answer(on func(context.Context, func() (core.Pos, error)) (core.Pos, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on = on
}

func (l *patient) refuse(with func(context.Context) error) {
	l.answer(func(ctx context.Context, _ func() (core.Pos, error)) (core.Pos, error) { return 0, with(ctx) })
}

// refuseInTime rejects just before the caller's deadline, as a log without a leader
// does.
func refuseInTime(ctx context.Context) error {
	<-ctx.Done()
	return errNobody
}

func defaults(l core.Log) *engine.Sessions {
	b := streamtest.NewBlobs()
	return engine.NewSessions(engine.Config{
		Log: full(l), Blobs: b, Snapshots: b, Dialects: dialect.All(), Logger: slog.New(slog.DiscardHandler),
	})
}

func TestUnsentAppendFailsBeforeDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &patient{Log: memlog.New("test")}
		ss := defaults(l)
		s := create(t, ss, "session1")
		l.refuse(refuseInTime)
		for name, write := range map[string]func(context.Context) error{
			"append": func(ctx context.Context) error { _, err := appendLines(ctx, s, message("a")); return err },
			"claim": func(ctx context.Context) error {
				_, _, err := s.Claim(ctx, core.ClaimRequest{})
				return err
			},
			"delete": func(ctx context.Context) error { return s.Delete(ctx, core.Notice{}) },
			"create": func(ctx context.Context) error { return tryCreate(ctx, ss) },
		} {
			began := time.Now()
			err := write(t.Context())
			if took := time.Since(began); !errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain) || took > 13*time.Second {
				t.Errorf("%s: after %v: %v", name, took, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			began = time.Now()
			err = write(ctx)
			cancel()
			if took := time.Since(began); !errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain) || took > 2*time.Second {
				t.Errorf("%s, caller with two seconds: after %v: %v", name, took, err)
			}
		}
	})
}

// A node with a longer retry deadline than Config.Timeout gives up at that timeout. It
// pauses between retries.
func TestRetriesEndWithConfigTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &patient{Log: memlog.New("test")}
		b := streamtest.NewBlobs()
		s := create(t, engine.NewSessions(engine.Config{
			Log: full(l), Blobs: b, Snapshots: b, Dialects: dialect.All(), Timeout: 2 * time.Second, RetryTimeout: 12 * time.Second,
		}), "session1")
		tries := 0
		l.refuse(func(ctx context.Context) error {
			if tries++; tries > 100 {
				return core.ErrFull
			}
			return refuseInTime(ctx)
		})
		began := time.Now()
		_, err := appendLines(t.Context(), s, message("a"))
		if took := time.Since(began); !errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain) || took > 3*time.Second {
			t.Errorf("after %v and %d tries: %v", took, tries, err)
		}
	})
}

func tryCreate(ctx context.Context, ss *engine.Sessions) error {
	h, err := pi.Dialect{}.Header(pi.Dialect{}.NewHeader(core.HeaderFields{ID: "session2", Time: "2026-01-02T03:04:05.678Z", CWD: "/w"}))
	if err != nil {
		return err
	}
	_, err = ss.Create(ctx, engine.CreateRequest{ID: "session2", Origin: core.Origin{Dialect: "pi"}, Header: h})
	return err
}

func TestUncertainAppendIsRetriedUntilDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &patient{Log: memlog.New("test")}
		s := create(t, defaults(l), "session1")
		n := 0
		l.refuse(func(ctx context.Context) error { // an answer is lost, then no server answers
			if n++; n == 1 {
				return errSilent
			}
			return refuseInTime(ctx)
		})
		began := time.Now()
		_, err := appendLines(t.Context(), s, message("a"))
		testkit.WantErr(t, err, core.ErrUncertain)
		if took := time.Since(began); took < 29*time.Second || took > 31*time.Second {
			t.Errorf("uncertain for %v", took)
		}
	})
}

// A caller with a short deadline gets a definite "not sent" in time, whether it is
// queued or shares a record with others. The other appends continue.
func TestShortDeadlineDoesNotEndOtherAppends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &patient{Log: memlog.New("test")}
		s := create(t, defaults(l), "session1")
		first, second := make(chan struct{}), make(chan struct{})
		gate := first
		l.answer(func(ctx context.Context, store func() (core.Pos, error)) (core.Pos, error) {
			select {
			case <-gate:
				gate = second
				return store()
			case <-ctx.Done():
				return 0, errNobody
			}
		})
		var wg sync.WaitGroup
		got, took := make([]error, 5), make([]time.Duration, 5)
		for i, d := range []time.Duration{time.Hour, time.Second, 3 * time.Second, 8 * time.Second, 4 * time.Second} {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), d)
				defer cancel()
				began := time.Now()
				_, got[i] = appendLines(ctx, s, message(fmt.Sprint("m", i)))
				took[i] = time.Since(began)
			})
		}
		time.Sleep(2 * time.Second) // m1 gave up in the queue; m2, m3 and m4 share a record from now on
		close(first)
		time.Sleep(1500 * time.Millisecond) // m2 gave up
		testkit.Equal(t, "entries", []string{"m0"}, ids(state(t, s)))
		close(second)
		wg.Wait()
		for i, want := range []error{nil, core.ErrUnavailable, core.ErrUnavailable, nil, nil} {
			if !errors.Is(got[i], want) || want != nil && errors.Is(got[i], core.ErrUncertain) {
				t.Errorf("append %d: %v, want %v", i, got[i], want)
			}
		}
		if took[1] >= time.Second || took[2] >= 3*time.Second {
			t.Errorf("callers with 1 and 3 seconds got answers after %v and %v", took[1], took[2])
		}
		testkit.Equal(t, "entries", []string{"m0", "m3", "m4"}, ids(state(t, s)))
	})
}

// While the connection is down nothing is sent, so every failure is definite. After a
// reconnect the same append is stored once.
func TestAppendWithoutConnectionIsDefinitelyUnsent(t *testing.T) {
	t.Parallel()
	srv, err := embedded.Start(t.Context(), embedded.Config{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", Token: "secret", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	url := srv.ClientURL()
	nc, err := nats.Connect(url, nats.Token("secret"), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	b := streamtest.NewBlobs()
	l := streamtest.Open(t, nc, stream.LogConfig{Blobs: b})
	s := create(t, node(l, b), "session1")
	hasty := open(t, engine.NewSessions(engine.Config{
		Log: l, Blobs: b, Snapshots: b, Dialects: dialect.All(), RetryTimeout: time.Second, Logger: slog.New(slog.DiscardHandler),
	}), "session1")
	cfg := srv.Config()
	cfg.Listen = url[len("nats://"):]
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	for nc.IsConnected() {
		time.Sleep(time.Millisecond)
	}
	_, err = appendLines(t.Context(), hasty, message("a"))
	if !errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain) {
		t.Errorf("without a connection: %v", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { mustAppend(t, s, core.MainHead, "", message("b")) })
	if srv, err = embedded.Start(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	testkit.Equal(t, "entries", []string{"b"}, ids(state(t, s)))
	nc.Close()
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
}
