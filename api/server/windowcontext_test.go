package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
)

// A node that has not loaded a long session answers with the context that it builds of
// the whole session, without loading it where the last compaction allows that.
func TestContextOfLongSessionIsBuiltWithoutLoadingIt(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	lines := []string{header, `{"type":"model_change","id":"model","parentId":null,"provider":"p","modelId":"m"}`}
	last := "model"
	say := func(id, text string) string {
		line := message(id, last, text)
		last = id
		return line
	}
	for i := range 50 {
		lines = append(lines, say(fmt.Sprintf("old-%d", i), strings.Repeat("x", 100<<10)))
	}
	lines = append(lines, say("kept", "go on"),
		`{"type":"compaction","id":"compacted","parentId":"kept","summary":"S","firstKeptEntryId":"kept","tokensBefore":9,"timestamp":"2026-01-02T03:04:05.678Z"}`)
	last = "compacted"
	for i := range 5 {
		lines = append(lines, say(fmt.Sprintf("new-%d", i), "later"))
	}
	n.importText(t, file(lines...))
	id := core.SessionID("session-one")
	s, err := n.Config.Cache.Fresh(t.Context(), id)
	testkit.Must(t, err)
	_, err = n.Config.Materializer.Checkpoint(t.Context(), s)
	testkit.Must(t, err)
	testkit.Must(t, n.Config.Materializer.CatchUp(t.Context()))
	for _, of := range []struct {
		query  string
		loaded bool
	}{
		{"", false},
		{"?head=main", false},
		{"?leaf=new-2", false},
		{"?leaf=old-3", true},
		{"?leaf=null", true},
		{"?leaf=nowhere", true},
		{"?head=nowhere", true},
		{"?strict=true", true},
		{"?profile=pi@0.73", true},
		{"?at=1", true},
	} {
		path := "/v1/sessions/" + string(id) + "/context" + of.query
		n.Config.Cache.Forget(id)
		_, before := n.Config.Cache.Reads()
		cold, got := n.request(t, http.MethodGet, path, "")
		_, after := n.Config.Cache.Reads()
		if after > before != of.loaded {
			t.Errorf("%s: loaded %d times", of.query, after-before)
		}
		_, err := n.Config.Cache.Fresh(t.Context(), id)
		testkit.Must(t, err)
		warm, want := n.request(t, http.MethodGet, path, "")
		if got != want && warm.StatusCode == http.StatusOK || cold.StatusCode != warm.StatusCode || cold.Header.Get(api.HeaderCursor) != warm.Header.Get(api.HeaderCursor) {
			t.Errorf("%s: %s, %.300s\nin memory: %s, %.300s", of.query, cold.Status, got, warm.Status, want)
		}
	}
}
