package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// hasRows lists rows, in pages of one.
func (f *fakeNode) hasRows(rows ...api.Row) {
	f.mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		list := api.List{Sessions: []api.Row{}}
		after := r.URL.Query().Get("after")
		for i, row := range rows {
			if (i == 0 && after == "") || (i > 0 && string(rows[i-1].ID) == after) {
				list.Sessions = append(list.Sessions, row)
				if i+1 < len(rows) {
					list.Next = string(row.ID)
				}
			}
		}
		_ = json.NewEncoder(w).Encode(list)
	})
}

func row(id, dialect string, old time.Duration, tags ...string) api.Row {
	return api.Row{ID: core.SessionID(id), Dialect: dialect, CWD: "/w", Summary: core.Summary{
		Modified: time.Now().Add(-old).UTC().Format("2006-01-02T15:04:05.000Z"), Tags: tags,
	}}
}

// NOVA-31, NOVA-32, RATH-47
func TestPruneDeletesOnlyWithYes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	held := row("held0001", "nova", 90*time.Hour)
	held.Holder = mine("w")
	f.hasRows(row("new00001", "nova", time.Hour), row("old00001", "nova", 30*time.Hour), row("old00002", "nova", 50*time.Hour),
		row("other001", "pi", 99*time.Hour), held, api.Row{ID: "unknown1", Dialect: "nova"})
	var gone []string
	f.mux.HandleFunc("POST /v1/sessions/{id}/delete", func(w http.ResponseWriter, r *http.Request) {
		var n api.Notice
		_ = json.NewDecoder(r.Body).Decode(&n)
		gone = append(gone, r.PathValue("id")+" by "+n.By+" "+n.Why[:len("sessctl prune: unchanged since")])
		w.WriteHeader(http.StatusNoContent)
	})
	wantResult(t, f.run("prune"), exitUsage, "", "--older-than")
	wantResult(t, f.run("prune", "--keep", "-1"), exitUsage, "", "--keep N")
	wantResult(t, f.run("prune", "--keep", "1", "--yes", "--dry-run"), exitUsage, "", "exclude each other")
	wantResult(t, f.run("prune", "--dialect", "nova", "--older-than", "24h"), 0, "old00002  unchanged since", "2 sessions would go; do it with: --yes")
	if len(gone) > 0 {
		t.Fatalf("without --yes it deleted %v", gone)
	}
	wantResult(t, f.run("prune", "--cwd", "/elsewhere", "--keep", "1", "-o", "json"), 0, `{"deleted":false,"sessions":[]}`, "")
	wantResult(t, f.run("prune", "--dialect", "nova", "--older-than", "24h", "--yes", "-o", "json"), 0, `{"deleted":true,"sessions":[{"id":"old00002","why":"unchanged since `, "")
	if got := strings.Join(gone, ", "); got != "old00002 by tester sessctl prune: unchanged since, old00001 by tester sessctl prune: unchanged since" {
		t.Errorf("deleted %s", got)
	}
}

// NOVA-34
func TestLsByTag(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.hasRows(row("one00001", "nova", time.Hour, "pr", "x"), row("two00001", "nova", time.Hour, "pr"), row("three001", "pi", time.Hour))
	for want, args := range map[string][]string{
		"one00001 two00001": {"--tag", "pr"},
		"one00001":          {"--tag", "pr", "--tag", "x"},
		"":                  {"--tag", "none"},
	} {
		got := f.run(append([]string{"ls", "-o", "json"}, args...)...)
		var rows []api.Row
		if err := json.Unmarshal([]byte(got.out), &rows); err != nil {
			t.Fatal(err, got.err)
		}
		var ids []string
		for _, r := range rows {
			ids = append(ids, string(r.ID))
		}
		if strings.Join(ids, " ") != want {
			t.Errorf("%v lists %v", args, ids)
		}
	}
	got := f.run("ls", "-o", "json", "--tag", "pr", "--limit", "1")
	if strings.Count(got.out, `"id"`) != 1 {
		t.Errorf("limit 1 gives %s", got.out)
	}
}
