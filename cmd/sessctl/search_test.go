package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/session/catalog"
)

// FLEET-18, NOVA-34: what ls is told, the node is asked for.
func TestLsAsksForWhatItsFlagsSay(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var asked []string
	f.Mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Encode())
		_ = json.NewEncoder(w).Encode(api.List{Sessions: []catalog.Row{{ID: testID}}})
	})
	wantResult(t, f.run("ls", "01", "--cwd", "/w", "--below", "--dialect", "pi", "--holder", "host", "--tag", "a", "--tag", "b", "--label", "l",
		"--name", "n", "--text", "t", "--state", "open", "--since", "2026-01-02", "--until", "2026-01-03T00:00:00Z", "--created-since", "2025-01-01",
		"--min-size", "1.5KiB", "--max-size", "10", "--min-cost", "0.5", "--max-cost", "2", "--sort", "name", "--reverse", "--limit", "7"), 0, testID, "")
	want := "below=true&createdFrom=2025-01-01T00%3A00%3A00Z&cwd=%2Fw&dialect=pi&holder=host&label=l&limit=7&maxCost=2&maxSize=10&minCost=0.5&minSize=1536" +
		"&modifiedFrom=2026-01-02T00%3A00%3A00Z&modifiedTo=2026-01-03T00%3A00%3A00Z&name=n&order=desc&prefix=01&sort=name&state=open&tag=a&tag=b&text=t"
	if len(asked) != 1 || asked[0] != want {
		t.Errorf("asked %q\nwant  %q", asked, want)
	}
	wantResult(t, f.run("ls", "--reverse"), 0, testID, "")
	if !strings.Contains(asked[1], "order=asc") {
		t.Errorf("asked %q", asked[1])
	}
	for _, c := range [][]string{
		{"--state", "dead"}, {"--sort", "colour"}, {"--below"}, {"--since", "yesterday"}, {"--since", "-3h"}, {"--min-size", "big"}, {"--max-cost", "NaN"}, {"--limit", "-1"},
	} {
		wantResult(t, f.run(append([]string{"ls"}, c...)...), 2, "", strings.TrimPrefix(c[0], "--"))
	}
	if len(asked) != 2 {
		t.Errorf("what was misused was asked for: %q", asked[2:])
	}
}

func TestMomentsAreDaysTimesOrHowLongAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]string{
		"2026-01-02": "2026-01-02T00:00:00Z", "2026-01-02T03:04:05+01:00": "2026-01-02T02:04:05Z", "36h": "2026-01-09T00:00:00Z", "7d": "2026-01-03T12:00:00Z", "0.5d": "2026-01-10T00:00:00Z",
	} {
		if got, err := cli.ParseMoment(s, now); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s is %v, %v", s, got, err)
		}
	}
}

// FLEET-19
func TestSearchShowsEachEntryOnALine(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	var asked []string
	f.Mux.HandleFunc("GET /v1/search", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, q.Encode())
		page := catalog.SearchPage{Hits: []catalog.Hit{{Session: testID, Entry: "e1", Kind: "user", Time: "2026-01-02T03:04:05Z", Snippet: "…the\n\x1b[31mneedle…", CWD: "/w", Dialect: "pi"}}}
		if q.Get("before") == "" {
			page.Next = "k"
		}
		if q.Get("q") == "nothing" {
			page = catalog.SearchPage{Hits: []catalog.Hit{}}
		}
		_ = json.NewEncoder(w).Encode(page)
	})
	got := f.run("search", "the", `"needle"`, "--session", "01aa", "--cwd", "/w", "--from", "2026-01-01", "--limit", "0")
	wantResult(t, got, 0, "e1", "")
	if !strings.Contains(got.out, "…the ␛[31mneedle…") || strings.Count(got.out, "\n") != 3 {
		t.Errorf("it shows\n%s", got.out)
	}
	if len(asked) != 2 || !strings.Contains(asked[0], "cwd=%2Fw&from=2026-01-01T00%3A00%3A00Z") || !strings.Contains(asked[0], "q=the+%22needle%22&session="+testID) || !strings.Contains(asked[1], "before=k") {
		t.Errorf("asked %q", asked)
	}
	wantResult(t, f.run("search", "x", "--limit", "1"), 0, "needle", "there are more, list all with: --limit 0")
	wantResult(t, f.run("search", "nothing"), 0, "", "nothing found")
	wantResult(t, f.run("search", "nothing", "-o", "json"), 0, "[]\n", "")
	wantResult(t, f.run("search"), 2, "", "arg")
}

func TestSearchSaysWhatIsWrongWithAQuery(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Refuses("GET /v1/search", api.Detail{Status: 400, Code: "invalid", Detail: `the query "\"x" has a double quote without an end`})
	if got := f.run("search", `"x`); got.code == 0 || !strings.Contains(got.err, "double quote") {
		t.Errorf("%+v", got)
	}
}
