package e2e_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/modeltest"
	"github.com/sesslog/sesslog/session/loop/openai"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// BenchmarkLoopRound measures what a loop adds to the calls of its model: from a reply
// until the next request, on one node. A round has one call of a tool that does
// nothing. model-ms is a call of the model, which a server on this host answers at once,
// and append-ms a single append to the same node in the same run.
//
//	go test ./test/e2e -run - -bench LoopRound -benchtime 400x
func BenchmarkLoopRound(b *testing.B) {
	replies := slices.Repeat([]loop.Reply{loopCalls("noop 1")}, 20)
	server := httptest.NewServer(modeltest.OpenAI.Script(append(replies, loop.Reply{Text: "done", Finish: loop.FinishStop})...))
	defer server.Close()
	log := harness.StartNode(b).Client().Log()
	for name, p := range map[string]loop.Policy{"once": loop.Once, "repeat": loop.Repeat} {
		b.Run(name, func(b *testing.B) {
			m := &timedModel{Model: openai.New("m", option.WithBaseURL(server.URL), option.WithAPIKey("k"))}
			noop := loop.Tool{Spec: loop.Spec{Name: "noop"}, Policy: p, Run: func(context.Context, json.RawMessage) (any, error) { return true, nil }}
			var appends []time.Duration
			for len(m.between) < b.N {
				m.ended = time.Time{}
				s, err := session.Create(b.Context(), log, "/", session.Options{Dialect: "openrath", ID: loop.NewID()})
				testkit.Must(b, err)
				l, err := loop.New(s, loop.Config{Model: m, Tools: []loop.Tool{noop}})
				testkit.Must(b, err)
				for range replies {
					began := time.Now()
					testkit.Must(b, l.Say(b.Context(), "go"))
					appends = append(appends, time.Since(began))
				}
				_, err = l.Run(b.Context())
				testkit.Must(b, err)
				testkit.Must(b, l.Close(b.Context()))
			}
			b.ReportMetric(0, "ns/op") // would include the begin of each session
			b.ReportMetric(quantile(m.calls, 0.5), "model-ms")
			b.ReportMetric(quantile(appends, 0.5), "append-ms")
			b.ReportMetric(quantile(m.between, 0.5), "loop-ms")
			b.ReportMetric(quantile(m.between, 0.5)/quantile(appends, 0.5), "appends/round")
		})
	}
}

// A timedModel measures its calls, and the times between those of one run.
type timedModel struct {
	loop.Model
	ended          time.Time // the last call
	calls, between []time.Duration
}

// Complete implements loop.Model.
func (m *timedModel) Complete(ctx context.Context, q loop.Request) (loop.Reply, error) {
	began := time.Now()
	if !m.ended.IsZero() {
		m.between = append(m.between, began.Sub(m.ended))
	}
	r, err := m.Model.Complete(ctx, q)
	m.ended = time.Now()
	m.calls = append(m.calls, m.ended.Sub(began))
	return r, err
}
