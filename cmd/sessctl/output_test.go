package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/catalog"
)

func TestEveryFormatOfAList(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	long := strings.Repeat("long ", 60)
	f.Answers("GET /v1/sessions", api.List{Sessions: []catalog.Row{{ID: testID, Dialect: "pi", CWD: "/work/here", Entries: 3, Summary: display.Summary{First: long}}}})
	wantResult(t, f.run("ls", "-o", "yaml"), cli.ExitUsage, "", "not one of table, wide, json")
	wide := f.run("ls", "-o", "wide")
	wantResult(t, wide, 0, "CWD", "")
	wantResult(t, wide, 0, "/work/here", "")
	wantResult(t, wide, 0, strings.TrimSpace(long), "")
	wantResult(t, f.run("ls", "-o", "json"), 0, `[{"id":"`+testID+`"`, "")
	wantResult(t, f.run("ls", "-o", "json", "--limit", "-1"), cli.ExitUsage, "", `"code":"usage"`)
}

func TestEntriesAsJSONAreOneList(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	f.Mux.HandleFunc("GET /v1/sessions/"+testID+"/entries", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"id":"a","n":1}` + "\n" + `{"id":"b","n":2}` + "\n"))
	})
	got := f.run("entries", testID, "-o", "json")
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list) != 2 || list[1].ID != "b" {
		t.Errorf("%v %v\n%s%s", list, err, got.out, got.err)
	}
}

func TestCompletionKnowsSessions(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID, "01bbbbbbbbbbbbbbbbbbbbbbbb"})
	for _, c := range []struct {
		args       []string
		want, hide string
	}{
		{[]string{"__complete", "info", "01a"}, testID, "01bbb"},
		{[]string{"__complete", "export", ""}, "01bbb", "zzz"},
		{[]string{"__complete", "ls", "-o", ""}, "wide", "01aa"},
		{[]string{"__complete", "import", "--dialect", ""}, "omp", "01aa"},
		{[]string{"__complete", "completion", ""}, "fish", "01aa"},
		{[]string{"__complete", "sta"}, "status", "stash"},
	} {
		r := f.run(c.args...)
		if r.code != 0 || !strings.Contains(r.out, c.want) || strings.Contains(r.out, c.hide) {
			t.Errorf("%v: %d\n%s", c.args, r.code, r.out)
		}
	}
}

// A node that is away completes nothing, and says nothing into the prompt.
func TestCompletionWithoutANodeIsSilent(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.runWith(map[string]string{"SESS_URL": "http://127.0.0.1:1"}, "__complete", "info", "01")
	if r.code != 0 || !strings.HasPrefix(r.out, ":0\n") {
		t.Errorf("%d %q %q", r.code, r.out, r.err)
	}
}

func TestCompletionScriptsAreSound(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		r := f.run("completion", shell)
		if r.code != 0 || !strings.Contains(r.out, "__complete") {
			t.Errorf("%s: %d %s", shell, r.code, r.err)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue // its syntax is looked at where the shell is
		}
		cmd := exec.CommandContext(t.Context(), path, "-n")
		cmd.Stdin = strings.NewReader(r.out)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
	wantResult(t, f.run("completion", "tcsh"), cli.ExitUsage, "", "not one of bash, zsh, fish")
}

func TestEveryVerbHasAManualPage(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	dir := filepath.Join(t.TempDir(), "man1")
	wantResult(t, f.run("man", dir), 0, "pages in", "")
	files, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sessctl.1", "sessctl-info.1", "sessctl-contexts-add.1"} {
		if !strings.Contains(strings.Join(files, "\n"), want) {
			t.Errorf("no %s", want)
		}
	}
	if n := len(testApp(nil).commands()); len(files) < n {
		t.Errorf("%d pages, %d verbs", len(files), n)
	}
	again := filepath.Join(t.TempDir(), "man1")
	wantResult(t, f.run("man", again), 0, "pages in", "")
	for _, file := range files {
		first := testkit.ReadFile(t, file)
		second, err := os.ReadFile(filepath.Join(again, filepath.Base(file)))
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s: two runs write different pages, %v", file, err)
		}
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		args := append([]string{"-man", "-ww", "-z"}, files...)
		if out, err := exec.CommandContext(t.Context(), groff, args...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v %s", err, out)
		}
	}
}

func TestTopShowsRatesAndBusiestFirst(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	looks := 0
	f.Mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		looks++
		_ = json.NewEncoder(w).Encode(api.Status{
			Node: "n1", Log: "main", Healthy: true, Summary: "all is well", Sessions: 2,
			Bounds: map[string]api.Bound{"followers": {Used: 3}}, Shards: []api.ShardStatus{{Lag: 7, Full: .25}},
		})
	})
	f.Mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		lines := "# HELP sesslog_append_lines_total x\nsesslog_append_lines_total 5\n"
		if looks > 1 {
			lines = "sesslog_append_lines_total 1e+06\nsesslog_append_duration_seconds_count{outcome=\"stored\"} 4\nsesslog_append_duration_seconds_count{outcome=\"full\"} 1\n"
		}
		_, _ = w.Write([]byte(lines))
	})
	f.Mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.List{Sessions: []catalog.Row{
			{ID: "calm-session", Entries: 5}, {ID: "busy-session", Entries: 10 * looks},
		}})
	})
	r := f.run("top", "--every", "100ms", "-o", "json")
	var got struct {
		Healthy  bool
		Appends  float64 `json:"appendsPerSecond"`
		Lines    float64 `json:"linesPerSecond"`
		Refused  float64 `json:"refusedPerSecond"`
		Follow   int64   `json:"followers"`
		Lag      uint64
		Full     float64
		Sessions []struct {
			ID   string
			Rate float64 `json:"entriesPerSecond"`
		}
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatalf("%v\n%s%s", err, r.out, r.err)
	}
	if got.Follow != 3 || got.Lag != 7 || got.Full != .25 || got.Lines <= 0 || got.Appends <= 0 || got.Refused <= 0 || !got.Healthy {
		t.Errorf("%+v", got)
	}
	if len(got.Sessions) != 2 || got.Sessions[0].ID != "busy-session" || got.Sessions[0].Rate <= 0 || got.Sessions[1].Rate != 0 {
		t.Errorf("%+v", got.Sessions)
	}
	looks = 0
	plain := f.run("top", "--every", "100ms", "--times", "2")
	wantResult(t, plain, 0, "all is well", "")
	if strings.Count(plain.out, "PER SECOND") != 2 || strings.Contains(plain.out, "\x1b") {
		t.Errorf("%q", plain.out)
	}
}

func TestOutputThatIsNoTerminalHasNoColors(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Answers("GET /v1/status", api.Status{Summary: "no quorum"})
	if r := f.run("status"); strings.Contains(r.out+r.err, "\x1b") {
		t.Errorf("%q", r.out+r.err)
	}
}
