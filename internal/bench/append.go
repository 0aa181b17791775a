package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/sesslog/sesslog/engine"
	"golang.org/x/sync/errgroup"
)

// lineSize is the approximate size of an appended entry line, in bytes.
const lineSize = 1 << 10

// A Result is the result of one workload.
type Result struct {
	Name     string        `json:"name"`
	Writers  int           `json:"writers"`
	Appends  int           `json:"appends"`
	PerSec   float64       `json:"perSecond"`
	P50      time.Duration `json:"p50"`
	P99      time.Duration `json:"p99"`
	Baseline string        `json:"baseline,omitempty"`
	Ratio    float64       `json:"ratio,omitempty"` // PerSec divided by that of the baseline
}

// Appends measures appends for d each with 1 and with 64 writers: raw publishing
// with a sequence check, one session per writer, and one session for all writers.
func (r *Rig) Appends(ctx context.Context, d time.Duration) ([]Result, error) {
	var out []Result
	for _, writers := range []int{1, 64} {
		raw, err := measure(ctx, "raw JetStream publish", writers, d, r.rawWriter)
		if err != nil {
			return nil, err
		}
		own, err := measure(ctx, "append, a session each", writers, d, r.sessionWriter(fmt.Sprintf("own-%d", writers), true))
		if err != nil {
			return nil, err
		}
		out = append(out, raw, own.relativeTo(raw))
		if writers == 1 {
			continue
		}
		shared, err := measure(ctx, "append, one session for all", writers, d, r.sessionWriter(fmt.Sprintf("shared-%d", writers), false))
		if err != nil {
			return nil, err
		}
		out = append(out, shared.relativeTo(raw))
	}
	return out, nil
}

func (a Result) relativeTo(base Result) Result {
	a.Baseline, a.Ratio = base.Name, a.PerSec/base.PerSec
	return a
}

// A writer makes one append.
type writer func(ctx context.Context) error

// measure runs writers concurrently for d, each with one append at a time.
func measure(ctx context.Context, name string, writers int, d time.Duration, open func(ctx context.Context, i int) (writer, error)) (Result, error) {
	ws := make([]writer, writers)
	for i := range ws {
		w, err := open(ctx, i)
		if err != nil {
			return Result{}, fmt.Errorf("%s: %w", name, err)
		}
		if err := w(ctx); err != nil { // warm up
			return Result{}, fmt.Errorf("%s: %w", name, err)
		}
		ws[i] = w
	}
	times := make([][]time.Duration, writers)
	g, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for i, w := range ws {
		g.Go(func() error {
			for time.Since(start) < d {
				t := time.Now()
				if err := w(ctx); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				times[i] = append(times[i], time.Since(t))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return Result{}, err
	}
	took := time.Since(start)
	all := slices.Concat(times...)
	slices.Sort(all)
	return Result{
		Name: name, Writers: writers, Appends: len(all), PerSec: float64(len(all)) / took.Seconds(),
		P50: quantile(all, 0.50), P99: quantile(all, 0.99),
	}, nil
}

// quantile returns the q-quantile of sorted times.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// rawWriter publishes messages, each with the expected last sequence.
func (r *Rig) rawWriter(_ context.Context, i int) (writer, error) {
	subject := fmt.Sprintf("raw.%d.%d-%d", i%rawShards, i, time.Now().UnixNano())
	body := []byte(line())
	var last uint64
	return func(ctx context.Context) error {
		ack, err := r.js.Publish(ctx, subject, body, jetstream.WithExpectLastSequencePerSubject(last))
		if err == nil {
			last = ack.Sequence
		}
		return err
	}, nil
}

func (r *Rig) sessionWriter(prefix string, own bool) func(context.Context, int) (writer, error) {
	var shared *engine.Session
	return func(ctx context.Context, i int) (writer, error) {
		s := shared
		if s == nil {
			var err error
			if s, err = r.session(ctx, fmt.Sprintf("bench-%s-%d-%d", prefix, i, time.Now().UnixNano()), nil); err != nil {
				return nil, err
			}
			if !own {
				shared = s
			}
		}
		lines := [][]byte{[]byte(line())}
		return func(ctx context.Context) error {
			_, err := s.Append(ctx, engine.Append{Lines: lines})
			return err
		}, nil
	}
}

// line returns an entry line of about lineSize bytes that compresses moderately.
func line() string {
	var b strings.Builder
	for i := 0; b.Len() < lineSize-120; i++ {
		fmt.Fprintf(&b, "word%x ", i*2654435761%1000003)
	}
	return fmt.Sprintf(`{"type":"message","message":{"role":"user","content":%q,"timestamp":1767323045000}}`, b.String())
}
