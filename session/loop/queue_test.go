package loop_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

// RATH-49: results wait for the log in a queue of 256, in the order of the calls,
// while later calls run. If it is full, the next call waits.
func TestResultsWaitInBoundedQueue(t *testing.T) {
	t.Parallel()
	var started atomic.Int64
	full := make(chan struct{})
	work := tool("work", loop.Repeat, func(ctx context.Context) (any, error) {
		n := int(started.Add(1))
		if rows := len(loop.Transcript(ctx)) - 2; n-rows > 256 {
			t.Errorf("%d calls are started, %d rows are stored", n, rows)
		}
		if n == 256 {
			close(full)
		}
		<-full
		return n, nil
	})
	work.Key = loop.Parallel
	var many []loop.Call
	for i := range 300 {
		many = append(many, call(fmt.Sprint("c", i), "work"))
	}
	l, err := loop.Start(t.Context(), newLog(), user, agent, loop.Config{Model: &script{replies: []loop.Reply{calls(many...), says("done")}}, Tools: []loop.Tool{work}}, session.Options{})
	testkit.Must(t, err)
	run(t, l)
	n := 0
	for _, m := range l.Messages() {
		if m.Role == loop.ToolResult {
			testkit.Equal(t, "row", fmt.Sprint("c", n), m.CallID)
			n++
		}
	}
	testkit.Equal(t, "rows", 300, n)
}

// RATH-49: after a row that the log does not take, no call starts and each Run
// returns the error; Close stores what is left; a run that is not over has no
// trailer, and another host continues it.
func TestFailureOfTheLogStopsTheRound(t *testing.T) {
	t.Parallel()
	log := &stoppedLog{Log: newLog()}
	ran := 0
	c := loop.Config{
		Model: &script{replies: []loop.Reply{calls(call("1", "first"), call("2", "second")), says("done")}},
		Tools: []loop.Tool{
			tool("first", loop.Repeat, func(context.Context) (any, error) { log.err = core.ErrUnavailable; return true, nil }),
			tool("second", loop.Repeat, func(context.Context) (any, error) { ran++; return true, nil }),
		},
		RetryFor: time.Nanosecond,
	}
	l, err := loop.Start(t.Context(), log, user, agent, c, session.Options{})
	testkit.Must(t, err)
	for range 3 {
		_, err = l.Run(t.Context())
		testkit.WantErr(t, err, core.ErrUnavailable)
	}
	testkit.Equal(t, "runs of the second tool", 0, ran)
	log.err = nil
	testkit.Must(t, l.Close(t.Context()))
	stored, err := log.Load(t.Context(), l.Session().ID())
	testkit.Must(t, err)
	if all := string(stored.Lines[len(stored.Lines)-1]); len(stored.Lines) != 3 || !strings.Contains(all, `"tool_call_id": "1"`) {
		t.Errorf("%d rows, the last one is %s", len(stored.Lines), all)
	}
	s, err := session.Open(t.Context(), log, l.Session().ID(), session.Options{Access: session.TakeOver})
	testkit.Must(t, err)
	l, err = loop.New(s, c)
	testkit.Must(t, err)
	run(t, l)
	testkit.Equal(t, "runs of the second tool", 1, ran)
}
