package loop_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

// A stoppedLog refuses appends with err while it is stopped. With late set, it
// stores them nevertheless.
type stoppedLog struct {
	session.Log
	err  error
	late bool
}

func (l *stoppedLog) Append(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (core.Receipt, error) {
	if l.err == nil {
		return l.Log.Append(ctx, id, w, lines)
	}
	if l.late {
		if r, err := l.Log.Append(ctx, id, w, lines); err != nil {
			return r, err
		}
	}
	return core.Receipt{}, l.err
}

// A row that could not be stored in time is stored by the next Run of the same loop,
// once, whether it is that of the user, a reply, a result or the trailer.
func TestRunContinuesAfterTheLogWasAway(t *testing.T) {
	t.Parallel()
	for _, away := range []error{core.ErrUnavailable, core.ErrUncertain, context.Canceled} {
		for _, late := range []bool{false, true} {
			log, ran := &stoppedLog{Log: newLog(), late: late}, 0
			stop := func() { log.err = away }
			send := tool("send", loop.Once, func(context.Context) (any, error) { ran++; stop(); return true, nil })
			c := loop.Config{
				Model: &script{replies: []loop.Reply{calls(call("1", "send")), says("done")}, asked: stop},
				Tools: []loop.Tool{send}, RetryFor: time.Nanosecond,
			}
			s, err := session.Create(t.Context(), log, "/", session.Options{Dialect: "openrath", ID: loop.NewID()})
			testkit.Must(t, err)
			l, err := loop.New(s, c)
			testkit.Must(t, err)
			stop()
			testkit.WantErr(t, l.Say(t.Context(), "go"), away)
			for range 3 { // the reply, the result, and the last reply
				log.err = nil
				_, err = l.Run(t.Context())
				testkit.WantErr(t, err, away)
			}
			log.err = nil
			if r := run(t, l); r.Reason != loop.Stopped || r.Text != "done" || ran != 1 {
				t.Errorf("%v: result %+v, %d runs of the tool", away, r, ran)
			}
			stop()
			testkit.WantErr(t, l.Close(t.Context()), away)
			log.err = nil
			testkit.Must(t, l.Close(t.Context()))
			stored, err := log.Load(t.Context(), s.ID())
			testkit.Must(t, err)
			testkit.Equal(t, "rows", "user assistant tool_result assistant", roles(l.Messages()))
			if len(stored.Lines) != 5 || strings.Contains(string(stored.Lines[2]), "interrupted") {
				t.Errorf("%v: stored %s", away, stored.Lines)
			}
		}
	}
}
