package monitoring

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sesslog/sesslog/internal/testkit"
)

const samples = "../../deploy/monitoring/alerts_test.yaml"

// sampleData is the used part of a test file for promtool.
type sampleData struct {
	Tests []struct {
		Name        string
		InputSeries []struct{ Series, Values string } `yaml:"input_series"`
		AlertTests  []struct {
			Alert string `yaml:"alertname"`
			Want  []struct {
				Labels map[string]string `yaml:"exp_labels"`
			} `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	}
}

func TestAlertsFireOnSampleDataInTime(t *testing.T) {
	t.Parallel()
	if said, ok := fire(t, samples); !ok {
		t.Error(said)
	}
}

// TestWrongAlertsFailOnSampleData shows that the test above can fail.
func TestWrongAlertsFailOnSampleData(t *testing.T) {
	t.Parallel()
	rules := string(testkit.ReadFile(t, "../../deploy/monitoring/alerts.yaml"))
	for alert, change := range map[string][2]string{
		"SesslogNatsLost":    {"sesslog_nats_up == 0", "sesslog_nats_up == 2"},             // never fires
		"SesslogNodeDown":    {`up{job="sesslog"} == 0`, `up == 0`},                        // fires for another's
		"SesslogDiskFilling": {"for: 5m\n", "for: 1m\n"},                                   // fires too soon
		"SesslogLags":        {"its listings are stale", "{{ $value | humanize }} behind"}, // says something else
	} {
		at := strings.Index(rules, "- alert: "+alert+"\n")
		other := rules[:at] + strings.Replace(rules[at:], change[0], change[1], 1)
		if at < 0 || other == rules {
			t.Fatalf("%s has no %q", alert, change[0])
		}
		dir := t.TempDir()
		for name, b := range map[string][]byte{"alerts.yaml": []byte(other), "alerts_test.yaml": testkit.ReadFile(t, samples)} {
			testkit.WriteFile(t, filepath.Join(dir, name), b)
		}
		if said, ok := fire(t, filepath.Join(dir, "alerts_test.yaml")); ok || !strings.Contains(said, alert+" at ") {
			t.Errorf("%s with %q passes: %s", alert, change[1], said)
		}
	}
}

// TestEveryAlertHasSampleData checks that each alert has series of existing metrics
// that make it fire, a time before it fires, and another node or shard for which it
// never fires.
func TestEveryAlertHasSampleData(t *testing.T) {
	t.Parallel()
	var data sampleData
	if err := yaml.Unmarshal(testkit.ReadFile(t, samples), &data); err != nil {
		t.Fatal(err)
	}
	known := metrics(t)
	tested := map[string]bool{}
	for _, test := range data.Tests {
		var fired, silent bool
		seen, loud := map[string]bool{}, map[string]bool{}
		for _, in := range test.InputSeries {
			name, labels := seriesOf(in.Series)
			own, ok := find(known, name)
			if !ok {
				t.Errorf("%s: no node has %s", test.Name, name)
			}
			for label, value := range labels {
				if !slices.Contains(append(own, "instance", "job", "le"), label) {
					t.Errorf("%s: %s has no label %s", test.Name, name, label)
				}
				if label == "instance" || label == "shard" {
					seen[label+value] = true
				}
			}
		}
		for _, a := range test.AlertTests {
			if a.Alert != test.Name {
				t.Errorf("%s has a test of %s", test.Name, a.Alert)
			}
			fired, silent = fired || len(a.Want) > 0, silent || len(a.Want) == 0
			for _, w := range a.Want {
				for _, label := range []string{"instance", "shard"} {
					loud[label+w.Labels[label]] = true
				}
			}
		}
		quiet := false
		for subject := range seen {
			quiet = quiet || !loud[subject]
		}
		if !fired || !silent || !quiet {
			t.Errorf("%s: fires: %v; not before its time: %v; not for another: %v", test.Name, fired, silent, quiet)
		}
		tested[test.Name] = true
	}
	for _, r := range alerts(t) {
		if !tested[r.Alert] {
			t.Errorf("%s has no sample data", r.Alert)
		}
	}
}

// seriesOf reads a series such as name{label="value"}.
func seriesOf(text string) (name string, labels map[string]string) {
	name, rest, _ := strings.Cut(text, "{")
	labels = map[string]string{}
	for _, m := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(rest, -1) {
		labels[m[1]] = m[2]
	}
	return name, labels
}

// fire runs a test file with the engine of Prometheus. It returns the differences
// from the expected alerts.
func fire(t *testing.T, path string) (said string, ok bool) {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "run", ".", path)
	cmd.Dir = "promql"
	cmd.Env = append(cmd.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}
