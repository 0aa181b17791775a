package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"
	"go.yaml.in/yaml/v3"
)

// The two kinds of files, as far as they are used: rules of Prometheus, and
// tests of them as promtool reads them. promtool itself is not built: it brings
// half of Prometheus along.
type (
	ruleFile struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	rule struct {
		Alert, Expr         string
		For                 model.Duration
		Labels, Annotations map[string]string
	}
	testFile struct {
		RuleFiles          []string       `yaml:"rule_files"`
		EvaluationInterval model.Duration `yaml:"evaluation_interval"`
		Tests              []test
	}
	test struct {
		Name        string
		Interval    model.Duration
		InputSeries []struct{ Series, Values string } `yaml:"input_series"`
		AlertTests  []alertTest                       `yaml:"alert_rule_test"`
	}
	alertTest struct {
		At   model.Duration `yaml:"eval_time"`
		Name string         `yaml:"alertname"`
		Want []alert        `yaml:"exp_alerts"`
	}
	alert struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	}
)

// text is an alert as it is compared and shown.
func (a alert) text() string {
	var b strings.Builder
	for _, m := range []map[string]string{a.Labels, a.Annotations} {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			fmt.Fprintf(&b, " %s=%q", k, m[k])
		}
	}
	return b.String()
}

// testRules runs the tests of a file and returns what is not as they expect it.
func testRules(path string) (wrong []string, err error) {
	var tests testFile
	if err := read(path, &tests); err != nil {
		return nil, err
	}
	rules := map[string]rule{}
	for _, name := range tests.RuleFiles {
		var file ruleFile
		if err := read(filepath.Join(filepath.Dir(path), name), &file); err != nil {
			return nil, err
		}
		for _, g := range file.Groups {
			for _, r := range g.Rules {
				rules[r.Alert] = r
			}
		}
	}
	for _, t := range tests.Tests {
		all, err := parseSeries(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		for _, a := range t.AlertTests {
			got, err := firing(all, rules[a.Name], time.Duration(tests.EvaluationInterval), time.Duration(a.At))
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", t.Name, a.Name, err)
			}
			if g, w := texts(got), texts(a.Want); g != w {
				wrong = append(wrong, fmt.Sprintf("%s at %v: there fire:\n%sand should:\n%s", a.Name, a.At, g, w))
			}
		}
	}
	return wrong, nil
}

func texts(all []alert) string {
	var out []string
	for _, a := range all {
		out = append(out, a.text()+"\n")
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

func read(path string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := yaml.NewDecoder(f).Decode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// firing has a rule evaluated from the beginning until at, as Prometheus does
// it, and returns the alerts that fire then.
func firing(all series, r rule, every, at time.Duration) ([]alert, error) {
	if r.Alert == "" {
		return nil, errors.New("there is no such rule")
	}
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: parser.NewParser(parser.Options{}),
		NoStepSubqueryIntervalFn: func(int64) int64 { return every.Milliseconds() },
	})
	defer engine.Close()
	since := map[string]time.Duration{} // when each alert became true, by its labels
	var fire []alert
	for now := time.Duration(0); now <= at; now += every {
		q, err := engine.NewInstantQuery(context.Background(), all.storage(), nil, r.Expr, time.UnixMilli(now.Milliseconds()))
		if err != nil {
			return nil, err
		}
		result := q.Exec(context.Background())
		if result.Err != nil {
			return nil, result.Err
		}
		vector, err := result.Vector()
		if err != nil {
			return nil, err
		}
		fire = nil
		still := map[string]time.Duration{}
		for _, sample := range vector {
			key := sample.Metric.String()
			began, there := since[key]
			if !there {
				began = now
			}
			still[key] = began
			if now-began < time.Duration(r.For) {
				continue
			}
			a, err := r.alert(sample, now)
			if err != nil {
				return nil, err
			}
			fire = append(fire, a)
		}
		q.Close()
		since = still
	}
	return fire, nil
}

// alert is what a rule makes of a sample.
func (r rule) alert(s promql.Sample, now time.Duration) (alert, error) {
	own := s.Metric.DropReserved(func(name string) bool { return name == labels.MetricName }).Map()
	a := alert{Labels: maps.Clone(own), Annotations: map[string]string{}}
	maps.Copy(a.Labels, r.Labels)
	const defs = "{{$labels := .Labels}}{{$value := .Value}}"
	for name, text := range r.Annotations {
		data := template.AlertTemplateData(own, nil, "", s)
		t := template.NewTemplateExpander(context.Background(), defs+text, r.Alert, data, model.Time(now.Milliseconds()),
			func(context.Context, string, time.Time) (promql.Vector, error) { return nil, errors.ErrUnsupported }, &url.URL{}, nil)
		out, err := t.Expand()
		if err != nil {
			return alert{}, err
		}
		a.Annotations[name] = out
	}
	return a, nil
}

// parseSeries reads the series of a test in promtool's notation.
func parseSeries(t test) (series, error) {
	var all series
	for _, in := range t.InputSeries {
		lbls, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(in.Series + " " + in.Values)
		if err != nil {
			return nil, err
		}
		one := sampled{labels: lbls}
		for i, v := range values {
			if v.Omitted {
				continue
			}
			one.samples = append(one.samples, point{int64(i) * time.Duration(t.Interval).Milliseconds(), v.Value})
		}
		all = append(all, one)
	}
	return all, nil
}
