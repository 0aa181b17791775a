package monitoring

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sesslog/sesslog/internal/testkit"
)

// rules is the used part of a rule file of Prometheus.
type rules struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

type dashboard struct {
	UID    string
	Title  string
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ H, W, X, Y int }
		Targets []struct{ RefID, Expr string }
	}
	Templating struct {
		List []struct{ Name string }
	}
}

// command matches a command that an operator can run.
var command = regexp.MustCompile("`(sessctl|curl|systemctl|journalctl) ")

func TestEveryAlertIsCompleteAndDocumented(t *testing.T) {
	t.Parallel()
	book := string(testkit.ReadFile(t, "../../docs/OPERATIONS.md"))
	seen := map[string]bool{}
	for _, r := range alerts(t) {
		if seen[r.Alert] || !strings.HasPrefix(r.Alert, "Sesslog") {
			t.Errorf("%q is a duplicate, or does not begin with Sesslog", r.Alert)
		}
		seen[r.Alert] = true
		if r.Expr == "" || r.Annotations["summary"] == "" {
			t.Errorf("%s lacks an expression or a summary", r.Alert)
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s is of severity %q", r.Alert, r.Labels["severity"])
		}
		if _, err := time.ParseDuration(r.For); r.For != "" && err != nil {
			t.Errorf("%s: %v", r.Alert, err)
		}
		if want := "docs/OPERATIONS.md#" + strings.ToLower(r.Alert); r.Annotations["runbook"] != want {
			t.Errorf("%s names %q, not %s", r.Alert, r.Annotations["runbook"], want)
		}
		_, entry, found := strings.Cut(book, "\n### "+r.Alert+"\n")
		entry, _, _ = strings.Cut(entry, "\n##")
		if !found {
			t.Errorf("%s is not in the runbook", r.Alert)
		}
		for _, part := range []string{"* **Means**: ", "* **Look**: ", "* **Do**: "} {
			if !strings.Contains(entry, part) {
				t.Errorf("the runbook entry of %s lacks %q", r.Alert, part)
			}
		}
		if !command.MatchString(entry) {
			t.Errorf("the runbook entry of %s has no command", r.Alert)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^### (Sesslog\w+)$`).FindAllStringSubmatch(book, -1) {
		if !seen[m[1]] {
			t.Errorf("the runbook has %s, which is not an alert", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`\]\(#([a-z-]+)\)`).FindAllStringSubmatch(book, -1) {
		if !slices.Contains(anchors(book), m[1]) {
			t.Errorf("the runbook links to #%s, which does not exist", m[1])
		}
	}
}

func TestDashboardIsComplete(t *testing.T) {
	t.Parallel()
	d := board(t)
	if d.UID == "" || d.Title == "" || len(d.Templating.List) == 0 {
		t.Error("the dashboard lacks a uid, a title or variables")
	}
	ids := map[int]bool{}
	type cell struct{ x, y int }
	taken := map[cell]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d %q: duplicate id, or no title", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%q has no query", p.Title)
		}
		g := p.GridPos
		if g.W < 1 || g.H < 1 || g.X+g.W > 24 {
			t.Errorf("%q is outside of the grid: %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[cell{x, y}]; other != "" {
					t.Fatalf("%q overlaps %q", p.Title, other)
				}
				taken[cell{x, y}] = p.Title
			}
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			if q.Expr == "" || refs[q.RefID] {
				t.Errorf("%q: target %q is empty or a duplicate", p.Title, q.RefID)
			}
			refs[q.RefID] = true
		}
	}
}

// A query of a metric that no node exports gives an empty graph, or an alert that
// never fires.
func TestQueriesUseExportedMetrics(t *testing.T) {
	t.Parallel()
	known := metrics(t)
	var names, exprs []string
	for _, r := range alerts(t) {
		names, exprs = append(names, r.Alert), append(exprs, r.Expr)
	}
	// The variables that Grafana replaces.
	fill := strings.NewReplacer("$__rate_interval", "5m", "$__range", "6h", "$job", "sesslog", "$instance", ".*")
	for _, p := range board(t).Panels {
		for _, q := range p.Targets {
			names, exprs = append(names, p.Title), append(exprs, fill.Replace(q.Expr))
		}
	}
	used := map[string]bool{}
	for i, p := range parse(t, exprs) {
		if p.Error != "" {
			t.Errorf("%s: %s\n%s", names[i], p.Error, exprs[i])
			continue
		}
		var labels []string
		for _, name := range p.Metrics {
			of, ok := find(known, name)
			if !ok {
				t.Errorf("%s uses %s, which no node exports", names[i], name)
			}
			labels = append(labels, of...)
			used[name] = true
		}
		for _, label := range p.Labels {
			if !slices.Contains(labels, label) && !slices.Contains([]string{"job", "instance", "le"}, label) {
				t.Errorf("%s uses label %s, which none of %v has", names[i], label, p.Metrics)
			}
		}
	}
	if len(used) < 20 {
		t.Errorf("only %d metrics are used", len(used))
	}
}

// TestParserRejectsInvalidQueries shows that the test above can fail.
func TestParserRejectsInvalidQueries(t *testing.T) {
	t.Parallel()
	for _, p := range parse(t, []string{"rate(x)", "sum by (", "x{a=}"}) {
		if p.Error == "" {
			t.Errorf("the parser accepts %+v", p)
		}
	}
}

// metrics returns the names and labels of docs/METRICS.md, which a test of sessnode
// compares with a running node.
func metrics(t *testing.T) map[string][]string {
	all := map[string][]string{}
	row := regexp.MustCompile("(?m)^\\| `(sesslog_\\w+)` \\| (\\w+) \\| ([^|]*) \\|")
	for _, m := range row.FindAllStringSubmatch(string(testkit.ReadFile(t, "../../docs/METRICS.md")), -1) {
		var labels []string
		for _, l := range strings.Split(m[3], ",") {
			labels = append(labels, strings.Trim(l, " `"))
		}
		names := []string{m[1]}
		if m[2] == "histogram" {
			names = []string{m[1] + "_bucket", m[1] + "_sum", m[1] + "_count"}
		}
		for _, name := range names {
			all[name] = labels
		}
	}
	if len(all) < 40 {
		t.Fatalf("docs/METRICS.md lists %d metrics", len(all))
	}
	return all
}

// find returns a metric's own labels.
func find(known map[string][]string, name string) ([]string, bool) {
	switch name { // added by Prometheus and its Go library
	case "up", "process_start_time_seconds", "process_resident_memory_bytes", "process_cpu_seconds_total", "go_goroutines":
		return nil, true
	}
	labels, ok := known[name]
	return labels, ok
}

func alerts(t *testing.T) []rule {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(testkit.ReadFile(t, "../../deploy/monitoring/alerts.yaml")))
	d.KnownFields(true)
	var file rules
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, g := range file.Groups {
		if g.Name == "" || len(g.Rules) == 0 {
			t.Errorf("group %q is empty", g.Name)
		}
		all = append(all, g.Rules...)
	}
	return all
}

func board(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal(testkit.ReadFile(t, "../../deploy/monitoring/dashboard.json"), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func anchors(book string) (all []string) {
	punctuation := regexp.MustCompile(`[^a-z0-9 _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(book, -1) {
		heading := punctuation.ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(heading, " ", "-"))
	}
	return all
}

type parsed struct {
	Error           string
	Metrics, Labels []string
}

// parse parses exprs with the parser of Prometheus, which is in a separate module.
func parse(t *testing.T, exprs []string) []parsed {
	t.Helper()
	in, err := json.Marshal(exprs)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "run", ".")
	cmd.Dir = "promql"
	// Do not inherit the flags and the workspace of this module.
	cmd.Env = append(cmd.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")
	cmd.Stdin = bytes.NewReader(in)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaint.String())
	}
	var out []parsed
	if err := json.Unmarshal(b, &out); err != nil || len(out) != len(exprs) {
		t.Fatalf("%d answers to %d expressions, %v", len(out), len(exprs), err)
	}
	return out
}
