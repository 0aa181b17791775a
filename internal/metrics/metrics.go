package metrics

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
)

// Metrics are the metrics of one node. They are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	appends     *prometheus.HistogramVec
	lines       prometheus.Counter
	conflicts   prometheus.Counter
	claims      *prometheus.CounterVec
	checkpoints *prometheus.HistogramVec
	store       *prometheus.HistogramVec
	requests    *prometheus.CounterVec
	latency     *prometheus.HistogramVec
}

// buckets are the bounds of all histograms, in seconds.
var buckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// New returns the metrics of a node of this version.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),

		appends:     histogram("sesslog_append_duration_seconds", "Duration of appends, by outcome.", "outcome"),
		lines:       counter("sesslog_append_lines_total", "Lines stored by appends."),
		conflicts:   counter("sesslog_write_conflicts_total", "Records of this node that lost a race to another record and were rebuilt. Callers may not notice."),
		claims:      counters("sesslog_claims_total", "Claims requested, by outcome; took_over fenced another writer.", "outcome"),
		checkpoints: histogram("sesslog_checkpoint_duration_seconds", "Duration of writing a snapshot and its checkpoint record, by outcome.", "outcome"),
		store:       histogram("sesslog_store_request_duration_seconds", "Duration of object store calls, by call and outcome: a get until its first byte, a list until its first object.", "op", "outcome"),
		requests:    counters("sesslog_http_requests_total", "HTTP requests answered, by route and class of status; broken are responses that ended early.", "route", "class"),
		latency:     histogram("sesslog_http_request_duration_seconds", "Duration of HTTP requests until the end of the response, by route. Followers are excluded.", "route"),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "sesslog_build_info", Help: "1, with the version of the program."}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	m.registry.MustRegister(
		m.appends, m.lines, m.conflicts, m.claims, m.checkpoints, m.store, m.requests, m.latency, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	// Create the series that alerts use: a rate needs a first value.
	for _, outcome := range []string{stored, "fenced", "uncertain", "unavailable", "full", "corrupt"} {
		m.appends.WithLabelValues(outcome)
	}
	for _, outcome := range []string{granted, tookOver, "fenced"} {
		m.claims.WithLabelValues(outcome)
	}
	for _, outcome := range []string{stored, failed} {
		m.checkpoints.WithLabelValues(outcome)
	}
	return m
}

func histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// Handler serves scrapes. It omits metrics that cannot be read.
func (m *Metrics) Handler(logger *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
	})
}

// Stream returns the observer for engine.Config.
func (m *Metrics) Stream() engine.Observer {
	return engine.Observer{
		Appended: func(took time.Duration, stored int, err error) {
			m.appends.WithLabelValues(outcomeOf(err)).Observe(took.Seconds())
			m.lines.Add(float64(stored))
		},
		Claimed: func(former *core.Claim, err error) {
			switch {
			case err != nil:
				m.claims.WithLabelValues(outcomeOf(err)).Inc()
			case former != nil:
				m.claims.WithLabelValues(tookOver).Inc()
			default:
				m.claims.WithLabelValues(granted).Inc()
			}
		},
		LostRace: m.conflicts.Inc,
	}
}

// Checkpointed counts a checkpoint. It is for materializer.Config.
func (m *Metrics) Checkpointed(took time.Duration, err error) {
	outcome := stored
	if err != nil {
		outcome = failed
	}
	m.checkpoints.WithLabelValues(outcome).Observe(took.Seconds())
}

// Request counts a request. It is for api.Config.
func (m *Metrics) Request(seen server.Answered) {
	route := seen.Route
	if route == "" {
		route = "none"
	}
	m.requests.WithLabelValues(route, classOf(seen.Status)).Inc()
	if !seen.IsFollower() && seen.Status != 0 {
		m.latency.WithLabelValues(route).Observe(seen.Took.Seconds())
	}
}
