package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/session/catalog"
)

// OMP-43
func TestHistoryShowsEachPromptOnALine(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	var asked []string
	f.Mux.HandleFunc("GET /v1/prompts", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Encode())
		page := catalog.PromptPage{Prompts: []catalog.Prompt{
			{Session: testID, Dialect: "pi", CWD: "/w", Time: "2026-01-02T03:04:05.000Z", Prompt: "one\n\ttwo \x1b[31m" + strings.Repeat("x", 300)},
		}}
		if r.URL.Query().Get("before") == "" {
			page.Next = "1.2.3.s"
			page.Prompts[0].Snippet = "…of the first…"
		}
		_ = json.NewEncoder(w).Encode(page)
	})
	got := f.run("history", "fix", "the log", "--cwd", "sub", "--session", "01aa", "--limit", "0")
	wantResult(t, got, 0, "…of the first…\n", "")
	if !strings.Contains(got.out, "one two ␛[31mxxx") || strings.Count(got.out, "\n") != 3 || strings.Contains(got.out, strings.Repeat("x", 200)) {
		t.Errorf("it shows\n%s", got.out)
	}
	here, err := filepath.Abs("sub")
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != 2 || !strings.Contains(asked[0], "q=fix+the+log&session="+testID) || !strings.Contains(asked[1], "before=1.2.3.s") ||
		!strings.Contains(asked[0], "cwd="+strings.ReplaceAll(here, "/", "%2F")) {
		t.Errorf("asked %q", asked)
	}
	wantResult(t, f.run("history", "--limit", "1"), 0, "…of the first…\n", "there are more, list all with: --limit 0")
	wantResult(t, f.run("history", "--limit", "1", "-o", "json"), 0, `[{"session":"`+testID+`","dialect":"pi","cwd":"/w","time":"2026-01-02T03:04:05.000Z","prompt":"one\n\ttwo`, "")
}

func TestHistoryWithoutPrompts(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Answers("GET /v1/prompts", catalog.PromptPage{Behind: 3})
	wantResult(t, f.run("history"), 0, "", "no prompts")
	wantResult(t, f.run("history"), 0, "", "has not indexed 3 sessions yet")
	wantResult(t, f.run("history", "-o", "json"), 0, "[]\n", "")
}
