package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/session/catalog"
)

// After a broken connection ls --watch continues, or restarts if the node lost its
// place.
func TestLsWatchContinuesAfterBrokenConnection(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Answers("GET /v1/sessions", api.List{Sessions: []catalog.Row{{ID: testID, Summary: display.Summary{First: "at first"}}}, Mark: "m1"})
	calls := 0
	f.Mux.HandleFunc("GET /v1/sessions/changes", func(w http.ResponseWriter, r *http.Request) {
		calls++
		after := r.URL.Query().Get("after")
		switch calls {
		case 1:
			row, _ := json.Marshal(api.RowChange{ID: testID, Mark: "m2", Row: &catalog.Row{ID: testID, Summary: display.Summary{First: "later\x1b[31m"}}})
			gone, _ := json.Marshal(api.RowChange{ID: testID, Mark: "m3"})
			fmt.Fprintf(w, "id: m1\n\nid: m2\nevent: row\ndata: %s\n\nid: m3\nevent: gone\ndata: %s\n\n", row, gone)
			if after != "m1" {
				t.Errorf("it begins after %q", after)
			}
			return
		case 2:
			if after != "m3" {
				t.Errorf("it goes on after %q", after)
			}
			w.WriteHeader(http.StatusGone)
			_ = json.NewEncoder(w).Encode(api.Detail{Status: http.StatusGone, Code: "lost", Detail: "made anew"})
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(api.Detail{Status: http.StatusUnauthorized, Code: "unauthorized", Detail: "no token"})
	})
	got := f.run("ls", "--watch")
	wantResult(t, got, 1, testID+"  no longer in this list\n", "restarting:")
	if strings.Count(got.out, "at first") != 2 || !strings.Contains(got.out, "later") || strings.Contains(got.out, "\x1b") {
		t.Errorf("it shows\n%s", got.out)
	}
	calls = 0
	for _, line := range strings.Split(strings.TrimSpace(f.run("ls", "-w", "-o", "json").out), "\n") {
		var l struct{ ID core.SessionID }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.ID != testID {
			t.Errorf("%s: %v", line, err)
		}
	}
}
