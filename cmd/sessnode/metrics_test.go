package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
)

var update = flag.Bool("update", false, "update the expected output")

const (
	metricsPath  = "../../docs/METRICS.md"
	metricsBegin = "<!-- metrics: written by: go test ./cmd/sessnode -run TestMetrics -update -->\n"
	metricsEnd   = "<!-- end of metrics -->\n"
)

// TestMetricsMatchDocumentation scrapes a node after some work, and compares the
// metrics with docs/METRICS.md.
func TestMetricsMatchDocumentation(t *testing.T) {
	t.Parallel()
	url := serveIn(t, nil, nil)
	work(t, url)
	text, families := scrape(t, url)

	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "sesslog_") { // the others are those of the Go library
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}

	b := testkit.ReadFile(t, metricsPath)
	before, rest, ok := strings.Cut(string(b), metricsBegin)
	_, after, ok2 := strings.Cut(rest, metricsEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the markers of its generated part", metricsPath)
	}
	want := before + metricsBegin + "\n" + metricsTable(families) + "\n" + metricsEnd + after
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date; run: go test ./cmd/sessnode -run TestMetrics -update\nit should have\n%s", metricsPath, metricsTable(families))
	}
	if err := os.WriteFile(metricsPath, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The number of series must not grow with the number of sessions, writers or
// heads.
func TestMetricsDoNotNameSessions(t *testing.T) {
	t.Parallel()
	url := serveIn(t, nil, nil)
	id := work(t, url)
	text, families := scrape(t, url)
	for _, word := range []string{string(id), "first-writer-here", "second-writer-here", "image/png"} {
		if bytes.Contains(text, []byte(word)) {
			t.Errorf("%s is in the metrics", word)
		}
	}
	for name, f := range families {
		if n := len(f.Metric); n > 200 {
			t.Errorf("%s has %d series", name, n)
		}
	}
}

func TestMetricsCountWhatHappened(t *testing.T) {
	t.Parallel()
	url := serveIn(t, nil, nil)
	work(t, url)
	_, families := scrape(t, url)
	for series, want := range map[string]float64{
		`sesslog_append_duration_seconds{outcome="stored"}`:                                  3,
		`sesslog_append_duration_seconds{outcome="fenced"}`:                                  1,
		`sesslog_append_duration_seconds{outcome="conflict"}`:                                1,
		`sesslog_append_lines_total`:                                                         3,
		`sesslog_claims_total{outcome="granted"}`:                                            1,
		`sesslog_claims_total{outcome="took_over"}`:                                          1,
		`sesslog_claims_total{outcome="fenced"}`:                                             1,
		`sesslog_checkpoint_duration_seconds{outcome="stored"}`:                              1,
		`sesslog_blob_puts_total{result="written"}`:                                          1,
		`sesslog_http_requests_total{class="2xx",route="POST /v1/sessions/{id}/checkpoint"}`: 1,
		`sesslog_http_requests_total{class="4xx",route="POST /v1/sessions/{id}/entries"}`:    2,
		`sesslog_http_requests_total{class="4xx",route="none"}`:                              1,
		`sesslog_http_request_duration_seconds{route="POST /v1/sessions/{id}/entries"}`:      5,
		`sesslog_ready`:                     1,
		`sesslog_nats_up`:                   1,
		`sesslog_nats_role{role="single"}`:  1,
		`sesslog_nats_role{role="stopped"}`: 0,
	} {
		if got, ok := value(families, series); !ok || got != want {
			t.Errorf("%s is %v (exists: %v), want %v", series, got, ok, want)
		}
	}
}

// work makes the node do everything that is counted.
func work(t *testing.T, url string) core.SessionID {
	t.Helper()
	ctx := t.Context()
	c := client.ClientOf([]string{url}, "")
	made, err := c.Create(ctx, api.Create{Dialect: "pi", CWD: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	id := made.ID
	line := func(content string) string {
		return `{"type":"message","message":{"role":"user","content":` + content + `}}`
	}
	image := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("picture"), 400))
	post := func(writer, after, line string) error {
		_, err := c.Append(ctx, string(id), []byte(line), client.AppendOptions{Writer: writer, After: after})
		return err
	}
	claim := func(writer string, takeOver bool) error {
		_, err := c.Claim(ctx, string(id), core.ClaimRequest{Writer: writer, Agent: "test", TakeOver: takeOver})
		return err
	}
	for _, step := range []struct {
		what  string
		do    func() error
		fails bool
	}{
		{"append", func() error { return post("", "", line(`"one"`)) }, false},
		{"append an image", func() error {
			return post("", "", line(`[{"type":"image","data":"`+image+`","mimeType":"image/png"}]`))
		}, false},
		{"append at the wrong position", func() error { return post("", made.Cursor.String(), line(`"two"`)) }, true},
		{"claim", func() error { return claim("first-writer-here", false) }, false},
		{"claim what is held", func() error { return claim("second-writer-here", false) }, true},
		{"take over", func() error { return claim("second-writer-here", true) }, false},
		{"append when fenced", func() error { return post("first-writer-here", "", line(`"three"`)) }, true},
		{"append as the holder", func() error { return post("second-writer-here", "", line(`"four"`)) }, false},
		{"checkpoint", func() error { _, err := c.Checkpoint(ctx, string(id)); return err }, false},
		{"a path that is not there", func() error { return get(url + "/v1/nothing") }, true},
		{"list blobs", func() error { return get(url + "/v1/blobs") }, false},
	} {
		if err := step.do(); (err != nil) != step.fails {
			t.Fatalf("%s: %v", step.what, err)
		}
	}
	return id
}

func get(url string) error {
	res, err := http.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	if res.StatusCode >= 300 {
		return errors.New(res.Status)
	}
	return nil
}

func scrape(t *testing.T, url string) ([]byte, map[string]*dto.MetricFamily) {
	t.Helper()
	res, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v\n%s", res.Status, err, text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return text, families
}

// metricsTable returns the table of the node's metrics, without those of the Go
// library.
func metricsTable(families map[string]*dto.MetricFamily) string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		if !strings.HasPrefix(name, "sesslog_") {
			continue
		}
		labels := map[string]bool{}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				labels["`"+l.GetName()+"`"] = true
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, strings.ToLower(f.GetType().String()),
			strings.Join(slices.Sorted(maps.Keys(labels)), ", "), f.GetHelp())
	}
	return b.String()
}

// value returns the value of a series in Prometheus notation; for a histogram, the
// number of observations.
func value(families map[string]*dto.MetricFamily, series string) (float64, bool) {
	name, _, _ := strings.Cut(series, "{")
	f := families[name]
	if f == nil {
		return 0, false
	}
	for _, m := range f.Metric {
		var labels []string
		for _, l := range m.Label {
			labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
		}
		slices.Sort(labels)
		text := name
		if len(labels) > 0 {
			text += "{" + strings.Join(labels, ",") + "}"
		}
		if text != series {
			continue
		}
		switch {
		case m.Histogram != nil:
			return float64(m.Histogram.GetSampleCount()), true
		case m.Counter != nil:
			return m.Counter.GetValue(), true
		default:
			return m.Gauge.GetValue(), true
		}
	}
	return 0, false
}
