package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
)

func TestCloseRejectsAppendsAndStrictReads(t *testing.T) {
	t.Parallel()
	_, ss, _ := inMemory()
	s := create(t, ss, logtest.NewID(), entry("a", ""))
	mustAppend(t, s, core.MainHead, "", message("b"))
	ctx := t.Context()
	ss.Close(ctx)
	ss.Close(ctx)
	if _, err := appendLines(ctx, s, message("c")); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("append after Close: %v", err)
	}
	if err := s.RefreshStrict(ctx); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("strict read after Close: %v", err)
	}
	if err := s.Refresh(ctx); err != nil {
		t.Errorf("read after Close: %v", err)
	}
}

func TestCloseWaitsForAppendInFlight(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id := logtest.NewID()
	create(t, ss, id, entry("a", ""))
	sent, release := make(chan struct{}), make(chan struct{})
	ss = node(&between{Log: l, kind: core.KindAppend, do: func() { close(sent); <-release }}, b)
	s, err := ss.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	appended := make(chan error, 1)
	go func() {
		_, err := appendLines(context.WithoutCancel(t.Context()), s, message("b"))
		appended <- err
	}()
	<-sent
	closed := make(chan struct{})
	go func() { defer close(closed); ss.Close(context.WithoutCancel(t.Context())) }()
	select {
	case <-closed:
		t.Error("Close returned before the append was stored")
	default:
	}
	close(release)
	if err := <-appended; err != nil {
		t.Error(err)
	}
	<-closed
}
