package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

// What is stored while the past is read comes in both, and is shown once.
func TestTailOfSeveralShowsEachRecordOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	ids := []string{"session-a", "session-b"}
	f.Has(ids)
	event := func(id string, seq uint64) api.Event {
		return api.Event{Session: core.SessionID(id), Seq: seq, Cursor: core.Cursor{Seq: seq}, Kind: core.KindClaim, Head: "main"}
	}
	send := func(w io.Writer, id string, ev api.Event) {
		b, _ := json.Marshal(ev)
		_, _ = fmt.Fprintf(w, "id: %s\nevent: %s\ndata: %s\n\n", id, ev.Kind, b)
	}
	f.Mux.HandleFunc("GET /v1/sessions/{id}/events", func(w http.ResponseWriter, r *http.Request) {
		for seq := range uint64(2) {
			ev := event("", seq+1)
			send(w, ev.Cursor.String(), ev)
		}
	})
	var asked, last atomic.Value
	f.Mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.RawQuery)
		last.Store(r.Header.Get("Last-Event-ID"))
		_, _ = io.WriteString(w, "id: p0\n\n")
		for seq := uint64(2); seq < 4; seq++ {
			for _, id := range ids {
				send(w, fmt.Sprint("p", seq), event(id, seq))
			}
		}
		_, _ = io.WriteString(w, "event: problem\ndata: {\"status\":410,\"code\":\"lost\",\"detail\":\"enough\"}\n\n")
	})
	got := f.run("tail", "-f", "session-a", "session-b")
	wantResult(t, got, cli.ExitDamaged, "", "enough")
	var want strings.Builder
	for _, one := range []string{"a 1", "a 2", "b 1", "b 2", "a 3", "b 3"} {
		id, seq, _ := strings.Cut(one, " ")
		fmt.Fprintf(&want, "session-%s  %s-0000000000000000  main  claim\n", id, seq)
	}
	if got.out != want.String() {
		t.Errorf("it shows\n%s, want\n%s", got.out, want.String())
	}
	if asked.Load() != "session=session-a&session=session-b" {
		t.Errorf("asked for %v", asked.Load())
	}
	got = f.run("tail", "-f", "--all", "--cwd", "/w", "-o", "json")
	wantResult(t, got, cli.ExitDamaged, `{"session":"session-a","seq":2,`, "enough")
	if n := strings.Count(got.out, "\n"); n != 4 || asked.Load() != "cwd=%2Fw" {
		t.Errorf("%d objects for %v:\n%s", n, asked.Load(), got.out)
	}
	for _, args := range [][]string{
		{"tail"}, {"tail", "--all"}, {"tail", "--all", "-f", "session-a"}, {"tail", "session-a", "session-b", "--after", "1-0000000000000000"}, {"tail", "session-a", "--cwd", "/w"},
	} {
		wantResult(t, f.run(args...), cli.ExitUsage, "", "sessctl help tail")
	}
}
