package stream_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

func TestLogOnServerWithGroupCommit(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), GroupCommit: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	l := streamtest.Open(t, streamtest.Connect(t, s), stream.LogConfig{Durable: s.Durable})
	if l.Shards() != 1 {
		t.Errorf("%d shards, want 1, so that records share flushes", l.Shards())
	}
	logtest.Test(t, func(*testing.T) core.Log { return l })
}

// While a flush is outstanding, the record is neither acknowledged nor visible.
func TestUnflushedRecordIsNotAcknowledgedOrRead(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var flushes chan struct{} // nil: each flush ends at once
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{
		AckWait: time.Minute, Shards: 1,
		Durable: func(ctx context.Context, _ string, _ uint64) error {
			if flushes == nil {
				return nil
			}
			select {
			case <-flushes:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	})
	flushes = make(chan struct{})
	r := &core.Record{Kind: core.KindAppend, Seq: 1, Head: core.MainHead, Writer: "w", Body: []byte("x")}
	r.Chain = core.Chain{}.Next(r)
	acked := make(chan error, 1)
	go func() {
		_, err := l.Append(ctx, "s", 0, r)
		acked <- err
	}()
	readers := map[string]func(ctx context.Context) error{
		"Last": func(ctx context.Context) error { _, err := l.Last(ctx, "s"); return err },
		"Read": func(ctx context.Context) error {
			for _, err := range l.Read(ctx, "s", 0, 1<<62) {
				return err
			}
			return core.ErrNotFound
		},
		"Follow": func(ctx context.Context) error {
			for _, err := range l.Follow(ctx, "s", 0) {
				return err
			}
			return core.ErrNotFound
		},
		"Watch": func(ctx context.Context) error {
			for _, err := range l.Watch(ctx, 0, 0) {
				return err
			}
			return core.ErrNotFound
		},
		"State": func(ctx context.Context) error { _, err := l.State(ctx, 0); return err },
	}
	for { // until it is stored
		if err := readers["Last"](briefly(t)); err != nil && strings.Contains(err.Error(), "not durable yet") {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("the record is not stored")
		}
	}
	for name, read := range readers {
		if err := read(briefly(t)); err == nil {
			t.Errorf("%s returned what was not flushed", name)
		}
	}
	select {
	case err := <-acked:
		t.Errorf("Append returned before the flush: %v", err)
	default:
	}
	close(flushes)
	if err := <-acked; err != nil {
		t.Error(err)
	}
	for name, read := range readers {
		if err := read(ctx); err != nil {
			t.Errorf("%s after the flush: %v", name, err)
		}
	}
}

func briefly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func TestAppendWhoseFlushFailsIsUncertain(t *testing.T) {
	t.Parallel()
	var fails bool
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{
		Durable: func(context.Context, string, uint64) error {
			if fails {
				return errors.New("input/output error")
			}
			return nil
		},
	})
	fails = true
	r := &core.Record{Kind: core.KindAppend, Seq: 1, Head: core.MainHead, Writer: "w", Body: []byte("x")}
	r.Chain = core.Chain{}.Next(r)
	if _, err := l.Append(t.Context(), "s", 0, r); !errors.Is(err, core.ErrUncertain) {
		t.Errorf("Append: %v, want %v", err, core.ErrUncertain)
	}
	if _, err := l.Last(t.Context(), "s"); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("Last: %v, want %v", err, core.ErrUnavailable)
	}
}
