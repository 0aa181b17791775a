package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

var long = flag.Bool("long", false, "judge a cluster of three nodes, too")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(harness.Main(m))
}

// judged runs all scenarios against nodes of one log. A kill kills the next of them.
func judged(t *testing.T, what string, nodes []*harness.Node) {
	t.Helper()
	all, err := scenarios()
	if err != nil {
		t.Fatal(err)
	}
	s, asked := &server{}, make(chan chan<- struct{})
	for _, n := range nodes {
		s.urls = append(s.urls, n.URL)
	}
	s.kill = func(ctx context.Context) error {
		started := make(chan struct{})
		select {
		case asked <- started:
			<-started
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	var out bytes.Buffer
	done := make(chan tally, 1)
	go func() { done <- judge(t.Context(), s, all, "", &out) }()
	for kills := 0; ; kills++ {
		select {
		case started := <-asked: // here, because only the goroutine of a test may fail it
			nodes[kills%len(nodes)].Kill()
			nodes[kills%len(nodes)].Start(t)
			close(started)
		case score := <-done:
			t.Logf("%v: %s", score, what)
			if score.failed() || score.skipped > 0 {
				t.Errorf("\n%s", &out)
			}
			return
		}
	}
}

func TestNodeKeepsItsPromises(t *testing.T) {
	t.Parallel()
	judged(t, "one node", []*harness.Node{harness.StartNode(t)})
}

func TestClusterKeepsItsPromises(t *testing.T) {
	if !*long {
		t.Skip("only with -args -long")
	}
	judged(t, "three nodes", harness.StartCluster(t, 3, harness.StartBucket(t)))
}

// Without a command that kills the server, those scenarios are skipped and said to be.
func TestJudgeNamesWhatItSkips(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	score := judge(t.Context(), &server{}, []scenario{{Name: "a", Steps: []step{{Parallel: [][]step{{{Kill: true}}}}}}}, "", &out)
	if want := "skip  a                    needs -kill COMMAND\nsession server: 0 of 0 promises kept, 1 skipped\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if !score.failed() {
		t.Error("a server of which no promise was tested did not fail")
	}
}

// A wrong address or token is said at once, not by each scenario after a minute.
func TestServerIsCheckedBeforeItIsJudged(t *testing.T) {
	t.Parallel()
	status := func(code int) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	good := status(200)
	for want, urls := range map[string][]string{
		"<nil>":                    {good, good + "/"},
		"no answer":                {good, "http://127.0.0.1:1"},
		"-url: ":                   {"http://127.0.0.1:port"},
		"unsupported protocol":     {"localhost:7433"},
		"hint: -token":             {good, status(401)},
		"not as a session server ": {status(404)},
	} {
		if err := (&server{urls: urls}).check(t.Context()); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v: %v, want %s", urls, err, want)
		}
	}
}

func TestMatchComparesWhatIsWanted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ want, got, err string }{
		{`{"a": 1}`, `{"a": 1, "b": 2}`, ""},
		{`{"a": null}`, `{}`, ""},
		{`{"a": 1}`, `{}`, "a: null, want 1"},
		{`{"a": "${x}"}`, `{"a": "of x"}`, ""},
		{`{"a": "${x}"}`, `{"a": "other"}`, `a: "other", want ${x}, which is "of x"`},
		{`{"a": "${y}"}`, `{}`, "a: null, want ${y}, which is null"},
		{`{"a": "=${x}"}`, `{"a": "=of x"}`, ""},
		{`{"a": "${new}", "b": "${new}"}`, `{"a": 1, "b": 2}`, "b: 2, want ${new}, which is 1"},
		{`[1]`, `[1, 2]`, "[1,2], want [1]"},
		{`"{ }"`, `{ }`, ""},
		{`"{ }"`, `{}`, `"{}", want "{ }"`},
	} {
		err := vars{"x": "of x"}.matchLine([]byte(c.want), []byte(c.got))
		if got := fmt.Sprint(err); got != c.err && (err != nil || c.err != "") {
			t.Errorf("%s with %s: %s, want %s", c.got, c.want, got, c.err)
		}
	}
}

func TestParentsFindOrphans(t *testing.T) {
	t.Parallel()
	const root, next, other, orphan = `{"id":"a","parentId":null}`, `{"id":"b","parentId":"a"}`, `{"id":"c","parentId":"a"}`, `{"id":"d","parentId":"z"}`
	for _, c := range []struct{ how, lines, err string }{
		{"chain", root + next, ""},
		{"known", root + next + other, ""},
		{"chain", root + next + other, "entry c follows a, not b"},
		{"known", root + orphan, "entry d is an orphan: no entry z comes before it"},
		{"chain", root + root, "entry a is a second root"},
	} {
		lines := bytes.SplitAfter([]byte(c.lines), []byte("}"))
		err := matchParents(c.how, lines[:len(lines)-1])
		if got := fmt.Sprint(err); got != c.err && (err != nil || c.err != "") {
			t.Errorf("%s: %s: %s, want %s", c.how, c.lines, got, c.err)
		}
	}
}
