package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/session/catalog"
)

// pruneNode has sessions that are hours old as their ids say, and remembers
// what was deleted and why.
func pruneNode(t *testing.T) (f *fakeNode, deleted func() map[string]string) {
	t.Helper()
	f = newFake(t)
	ago := func(d time.Duration) string { return time.Now().Add(-d).UTC().Format("2006-01-02T15:04:05.000Z") }
	rows := []catalog.Row{
		{ID: "old-0001h", Dialect: "nova", CWD: "/lab", Seq: 3, Summary: display.Summary{Modified: ago(time.Hour), Created: ago(99 * time.Hour)}},
		{ID: "old-0030h", Dialect: "nova", CWD: "/lab", Seq: 3, Summary: display.Summary{Modified: ago(30 * time.Hour)}},
		{ID: "old-0040h", Dialect: "pi", CWD: "/lab/", Seq: 3, Summary: display.Summary{Modified: ago(40 * time.Hour)}},
		{ID: "old-0050h", Dialect: "nova", CWD: "/other", Seq: 3, Summary: display.Summary{Created: ago(50 * time.Hour)}},
		{ID: "held-0060h", Dialect: "nova", Seq: 3, Holder: &core.Claim{Agent: "nova"}, Summary: display.Summary{Modified: ago(60 * time.Hour)}},
		{ID: "no-times", Dialect: "nova", Seq: 3},
	}
	f.Mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		list := api.List{Sessions: rows[:3], Next: "more"} // page by page, the last of a page again
		if r.URL.Query().Get("after") == "more" {
			list = api.List{Sessions: rows[2:]}
		}
		_ = json.NewEncoder(w).Encode(list)
	})
	f.Mux.HandleFunc("GET /v1/sessions/{id}", func(w http.ResponseWriter, r *http.Request) {
		info := api.Info{Log: api.LogInfo{Cursor: core.Cursor{Seq: 3}}}
		if r.PathValue("id") == "old-0050h" {
			info.Log.Cursor.Seq = 4
		}
		_ = json.NewEncoder(w).Encode(info)
	})
	var mu sync.Mutex
	gone := map[string]string{}
	f.Mux.HandleFunc("POST /v1/sessions/{id}/delete", func(w http.ResponseWriter, r *http.Request) {
		var n api.Notice
		_ = json.NewDecoder(r.Body).Decode(&n)
		mu.Lock()
		defer mu.Unlock()
		why, _, _ := strings.Cut(n.Why, "0") // the year
		gone[r.PathValue("id")] = n.By + ": " + why
		_, _ = w.Write([]byte("{}"))
	})
	return f, func() map[string]string {
		mu.Lock()
		defer mu.Unlock()
		return gone
	}
}

// NOVA-31, NOVA-32, RATH-47
func TestPruneListsAndThenTrashes(t *testing.T) {
	t.Parallel()
	f, deleted := pruneNode(t)
	got := f.run("rm", "--older-than", "24h", "--cwd", "/lab")
	wantResult(t, got, 0, "not modified since 2", "nothing was changed")
	if len(deleted()) != 0 {
		t.Fatalf("deleted without --yes: %v", deleted())
	}
	wantResult(t, f.run("rm", "--older-than", "24h", "--cwd", "/lab", "--yes"), 0, "deleted", "sessctl rm --undo SESSION")
	want := map[string]string{
		"old-0030h": "tester: pruned: not modified since 2",
		"old-0040h": "tester: pruned: not modified since 2",
	}
	if diff := cmp.Diff(want, deleted()); diff != "" {
		t.Error(diff)
	}
}

func TestPruneKeepsActiveSessions(t *testing.T) {
	t.Parallel()
	f, deleted := pruneNode(t)
	got := f.run("rm", "--keep", "2", "--dialect", "nova", "--yes", "-o", "json")
	wantResult(t, got, cli.ExitConflict, `"error":"it changed after it was listed`, "old-0050h is kept")
	var rows []struct {
		ID, Why string
		Pruned  bool
	}
	if err := json.Unmarshal([]byte(got.out), &rows); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.ID)
		if r.Pruned != (r.ID == "old-0030h") || r.Why == "" {
			t.Errorf("%+v", r)
		}
	}
	if diff := cmp.Diff([]string{"old-0050h", "old-0030h"}, ids); diff != "" || len(deleted()) != 1 {
		t.Errorf("%v %s", deleted(), diff)
	}
}
