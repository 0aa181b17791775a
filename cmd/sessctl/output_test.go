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
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func TestEveryFormatOfAList(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	long := strings.Repeat("long ", 60)
	f.answers("GET /v1/sessions", api.List{Sessions: []api.Row{{ID: testID, Dialect: "pi", CWD: "/work/here", Entries: 3, Summary: core.Summary{First: long}}}})
	wantResult(t, f.run("ls", "-o", "yaml"), exitUsage, "", "none of table, wide, json")
	wide := f.run("ls", "-o", "wide")
	wantResult(t, wide, 0, "CWD", "")
	wantResult(t, wide, 0, "/work/here", "")
	wantResult(t, wide, 0, strings.TrimSpace(long), "")
	wantResult(t, f.run("ls", "-o", "json"), 0, `[{"id":"`+testID+`"`, "")
	wantResult(t, f.run("ls", "-o", "json", "--limit", "-1"), exitUsage, "", `"code":"usage"`)
}

func TestEntriesAsJSONAreOneList(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.has([]string{testID})
	f.mux.HandleFunc("GET /v1/sessions/"+testID+"/entries", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"id":"a","n":1}` + "\n" + `{"id":"b","n":2}` + "\n"))
	})
	got := f.run("entries", testID, "-o", "json")
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list) != 2 || list[1].ID != "b" {
		t.Errorf("%v %v\n%s%s", list, err, got.out, got.err)
	}
}

func TestColoursAreForTerminalsThatWantThem(t *testing.T) {
	t.Parallel()
	s := api.Status{Summary: "no quorum"}
	for _, c := range []struct {
		colour bool
		want   string
	}{{true, "state  \x1b[31mno quorum\x1b[0m\n"}, {false, "state  no quorum\n"}} {
		var out bytes.Buffer
		a := testApp(nil)
		a.stdout = screen{Writer: &out, tty: true, colour: c.colour, width: 80, height: 24}
		if err := a.printStatus(s); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), c.want) {
			t.Errorf("%q", out.String())
		}
	}
	// No test writes to a terminal, so nothing a verb prints is coloured here.
	f := newFake(t)
	f.answers("GET /v1/status", s)
	if r := f.run("status"); strings.Contains(r.out+r.err, "\x1b") {
		t.Errorf("%q", r.out+r.err)
	}
}

func TestStatusFitsTheScreen(t *testing.T) {
	t.Parallel()
	s := api.Status{Healthy: true, Summary: allIsWell, Node: "n"}
	for range 64 {
		s.Shards = append(s.Shards, api.ShardStatus{Stream: "SESS_main_00", Leader: "n"})
	}
	for _, height := range []int{10, 24, 100} {
		var out bytes.Buffer
		a := testApp(nil)
		a.stdout = screen{Writer: &out, tty: true, width: 80, height: height}
		if err := a.printStatus(s); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n >= height {
			t.Errorf("%d lines on a screen of %d:\n%s", n, height, out.String())
		}
	}
}

func TestAMeterLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	a := testApp(nil)
	at := time.Unix(0, 0)
	a.now = func() time.Time { at = at.Add(time.Second); return at }
	a.stdout = screen{Writer: &out, tty: true, width: 60}
	a.stderr = screen{Writer: &errs, tty: true, width: 60}
	bar := a.meter("importing")
	bar.step(1, 4)
	if err := a.printf("a result"); err != nil {
		t.Fatal(err)
	}
	bar.step(4, 4)
	bar.end()
	want := "\rimporting  [#####...............]  1 of 4\x1b[K" + "\r\x1b[K" +
		"\rimporting  [####################]  4 of 4\x1b[K" + "\r\x1b[K"
	if errs.String() != want || out.String() != "a result\n" {
		t.Errorf("%q\n%q", errs.String(), out.String())
	}
	if _, wrapped := a.stdout.Writer.(*besides); wrapped {
		t.Error("the app did not get its screen back")
	}

	// Where nobody watches, nothing is said.
	errs.Reset()
	for _, quiet := range []func(*app){
		func(a *app) { a.stderr.tty = false },
		func(a *app) { a.format = asJSON },
	} {
		b := testApp(nil)
		b.stderr = screen{Writer: &errs, tty: true}
		quiet(b)
		bar := b.meter("importing")
		bar.step(1, 2)
		bar.end()
	}
	if errs.Len() > 0 {
		t.Errorf("%q", errs.String())
	}
}

func TestCompletionKnowsSessions(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.has([]string{testID, "01bbbbbbbbbbbbbbbbbbbbbbbb"})
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
	wantResult(t, f.run("completion", "tcsh"), exitUsage, "", "none of bash, zsh, fish")
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
	if len(files) < len(verbs) {
		t.Errorf("%d pages, %d verbs", len(files), len(verbs))
	}
	again := filepath.Join(t.TempDir(), "man1")
	wantResult(t, f.run("man", again), 0, "pages in", "")
	for _, file := range files {
		first, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
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
	f.mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		looks++
		_ = json.NewEncoder(w).Encode(api.Status{
			Node: "n1", Log: "main", Healthy: true, Summary: allIsWell, Sessions: 2,
			Bounds: map[string]api.Bound{"followers": {Used: 3}}, Shards: []api.ShardStatus{{Lag: 7, Full: .25}},
		})
	})
	f.mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		lines := "# HELP sesslog_append_lines_total x\nsesslog_append_lines_total 5\n"
		if looks > 1 {
			lines = "sesslog_append_lines_total 1e+06\nsesslog_append_duration_seconds_count{outcome=\"stored\"} 4\nsesslog_append_duration_seconds_count{outcome=\"full\"} 1\n"
		}
		_, _ = w.Write([]byte(lines))
	})
	f.mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.List{Sessions: []api.Row{
			{ID: "calm-session", Entries: 5}, {ID: "busy-session", Entries: 10 * looks},
		}})
	})
	r := f.run("top", "--every", "100ms", "-o", "json")
	var got topReport
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
