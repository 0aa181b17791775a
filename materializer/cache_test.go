package materializer_test

import (
	"context"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

// A slowLog delays its first answer to Last.
type slowLog struct {
	core.Log
	once         sync.Once
	asked, allow chan struct{}
}

func (l *slowLog) Last(ctx context.Context, id core.SessionID) (*core.Record, error) {
	r, err := l.Log.Last(ctx, id)
	l.once.Do(func() {
		close(l.asked)
		<-l.allow
	})
	return r, err
}

// A telling context calls a function when it is waited for.
type telling struct {
	context.Context
	waits func()
}

func (c telling) Done() <-chan struct{} {
	c.waits()
	return c.Context.Done()
}

// A caller that joins a load of an earlier caller must not get the state before its
// own call.
func TestFreshIsNotOlderThanTheCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.create(t, "session-one")
	log := &slowLog{Log: r.log, asked: make(chan struct{}), allow: make(chan struct{})}
	cache := materializer.NewCache(engine.NewSessions(engine.Config{Log: engine.Plain(log), Snapshots: r.snapshots, Dialects: dialect.All(), Logger: r.quiet}), 64<<20)

	early := make(chan error, 1)
	go func() {
		_, err := cache.Get(t.Context(), "session-one")
		early <- err
	}()
	<-log.asked
	add(t, s, 100)
	// It is answered once both callers wait.
	got, err := cache.Fresh(telling{t.Context(), sync.OnceFunc(func() { close(log.allow) })}, "session-one")
	if err := <-early; err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if have, want := got.Cursor().Seq, s.Cursor().Seq; have != want {
		t.Errorf("it ends at record %d, %d was there before it was asked for", have, want)
	}
}
