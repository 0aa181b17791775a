package web

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/usage"
)

// A chart shows what models used over time, as bars.
type chart struct {
	Bars       []bar
	First, End string // the times of both ends
	Label      string // for screen readers
}

// A bar is one span of time. Its numbers are in units of the drawing.
type bar struct {
	X, Y, Height int
	Title        string
}

// The drawing of a chart, in units.
const (
	chartBars   = 60
	barWidth    = 10
	chartHeight = 100
)

// Width is the width of the drawing.
func (chart) Width() int { return chartBars * barWidth }

// A use is the output tokens of one answer and its time.
type use struct {
	at     time.Time
	output int64
}

// chart returns the output tokens of a session over time, nil if there are none.
func (s *source) chart(ctx context.Context) (*chart, error) {
	info, err := s.Info(ctx, s.id)
	if err != nil {
		return nil, err
	}
	h, err := s.d.Header(info.Header)
	if err != nil { // the description has the header in another form
		h = core.Header{Line: []byte("{}"), ID: info.SessionID}
	}
	var uses []use
	fold := usage.NewFold(s.d, h)
	before := fold.Own()
	err = s.EachEntry(ctx, s.id, func(line []byte) error {
		e, err := s.d.Entry(slices.Clone(line))
		if err != nil {
			return nil
		}
		fold.Add(e)
		now := fold.Own()
		at, err := time.Parse(time.RFC3339Nano, e.Time)
		if output := now.Output - before.Output; output > 0 && err == nil {
			uses = append(uses, use{at, output})
		}
		before = now
		return nil
	})
	return chartOf(uses), err
}

func chartOf(uses []use) *chart {
	if len(uses) == 0 {
		return nil
	}
	byTime := func(a, b use) int { return a.at.Compare(b.at) }
	first, last := slices.MinFunc(uses, byTime).at, slices.MaxFunc(uses, byTime).at
	span := last.Sub(first)/chartBars + 1
	var sums [chartBars]use
	var most int64
	for _, u := range uses {
		sum := &sums[min(int(u.at.Sub(first)/span), chartBars-1)]
		sum.output += u.output
		most = max(most, sum.output)
	}
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	c := &chart{First: stamp(first), End: stamp(last), Label: fmt.Sprintf("Output tokens over time, at most %s in %s", tokens(most), span.Round(time.Second))}
	for i, sum := range sums {
		if sum.output == 0 {
			continue
		}
		height := max(1, int(float64(sum.output)/float64(most)*chartHeight))
		at := first.Add(time.Duration(i) * span)
		c.Bars = append(c.Bars, bar{i * barWidth, chartHeight - height, height, fmt.Sprintf("%s: %s output tokens", clock(stamp(at)), tokens(sum.output))})
	}
	return c
}
