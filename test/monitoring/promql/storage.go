package main

import (
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// series are what a Prometheus would have scraped.
type series []sampled

// sampled is one of them.
type sampled struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// A point is a value and its time in milliseconds.
type point struct {
	t int64
	f float64
}

func (p point) T() int64                    { return p.t }
func (point) ST() int64                     { return 0 }
func (p point) F() float64                  { return p.f }
func (point) H() *histogram.Histogram       { return nil }
func (point) FH() *histogram.FloatHistogram { return nil }
func (point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample         { return p }

// storage lets the engine ask for the series.
func (all series) storage() storage.Queryable {
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{SelectMockFunction: all.find}}
}

func (all series) find(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &found{at: -1}
	for _, s := range all {
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) {
			continue
		}
		set.all = append(set.all, storage.NewListSeries(s.labels, s.samples))
	}
	return set
}

// found are the series that a query asks for.
type found struct {
	all []storage.Series
	at  int
}

func (f *found) Next() bool                      { f.at++; return f.at < len(f.all) }
func (f *found) At() storage.Series              { return f.all[f.at] }
func (*found) Err() error                        { return nil }
func (*found) Warnings() annotations.Annotations { return nil }
