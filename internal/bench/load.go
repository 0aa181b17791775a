package bench

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

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
	CPU      time.Duration `json:"cpu"` // of the servers, for each append
	Baseline string        `json:"baseline,omitempty"`
	Ratio    float64       `json:"ratio,omitempty"` // PerSec divided by that of the baseline
}

// rawName is the name of the baseline of appends.
const rawName = "raw JetStream publish"

func (a Result) relativeTo(base Result) Result {
	a.Baseline, a.Ratio = base.Name, a.PerSec/base.PerSec
	return a
}

// Medians returns the medians of results of the same workloads, each value for itself.
func Medians(runs [][]Result) []Result {
	out := slices.Clone(runs[0])
	for i := range out {
		r := &out[i]
		r.Appends = middle(runs, i, func(r Result) int { return r.Appends })
		r.PerSec = middle(runs, i, func(r Result) float64 { return r.PerSec })
		r.P50 = middle(runs, i, func(r Result) time.Duration { return r.P50 })
		r.P99 = middle(runs, i, func(r Result) time.Duration { return r.P99 })
		r.CPU = middle(runs, i, func(r Result) time.Duration { return r.CPU })
		r.Ratio = middle(runs, i, func(r Result) float64 { return r.Ratio })
	}
	return out
}

func middle[T cmp.Ordered](runs [][]Result, i int, of func(Result) T) T {
	var all []T
	for _, run := range runs {
		all = append(all, of(run[i]))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// A writer makes one append.
type writer func(ctx context.Context) error

// measure runs writers concurrently for d, each with one append at a time. cpu returns
// the processor time so far of the processes that are measured, in seconds.
func measure(ctx context.Context, name string, writers int, d time.Duration, cpu func() (float64, error), open func(ctx context.Context, i int) (writer, error)) (Result, error) {
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
	before, err := cpu()
	if err != nil {
		return Result{}, err
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
	after, err := cpu()
	if err != nil {
		return Result{}, err
	}
	all := slices.Concat(times...)
	slices.Sort(all)
	return Result{
		Name: name, Writers: writers, Appends: len(all), PerSec: float64(len(all)) / took.Seconds(),
		P50: quantile(all, 0.50), P99: quantile(all, 0.99), CPU: time.Duration((after - before) / float64(len(all)) * float64(time.Second)),
	}, nil
}

// quantile returns the q-quantile of sorted times.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// linesPerWriter is how many different lines a writer has. They are made before the
// clock starts: making one takes a fifth of the time that appending it does.
const linesPerWriter = 128

// lines returns a source of lines of about lineSize bytes, without id, parent and time,
// whose words are as unevenly frequent as those of a language.
func lines(seed uint64) func() []byte {
	words := rand.NewZipf(rand.New(rand.NewPCG(seed, 1)), 1.1, 8, 100_000)
	var made [linesPerWriter][]byte
	for i := range made {
		var text strings.Builder
		for text.Len() < lineSize-120 {
			fmt.Fprintf(&text, "w%x ", words.Uint64()*2654435761%(1<<24))
		}
		made[i] = fmt.Appendf(nil, `{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":%q}],"timestamp":1767323045000}}`, text.String())
	}
	next := 0
	return func() []byte {
		next++
		return made[next%linesPerWriter]
	}
}
