package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
)

// Entries can be read in windows, from both ends, and of a path alone.
func TestEntriesInWindows(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "1"), message("b", "a", "2"), message("c", "b", "3"), message("d", "a", "4")))
	for _, of := range []struct{ query, ids, which string }{
		{"", "a b c d", ""},
		{"?from=0&limit=2", "a b", "0-1/4"},
		{"?from=2&limit=2", "c d", "2-3/4"},
		{"?from=3&limit=100", "d", "3-3/4"},
		{"?from=1", "b c d", "1-3/4"},
		{"?limit=1", "a", "0-0/4"},
		{"?from=-1", "d", "3-3/4"},
		{"?from=-3&limit=2", "b c", "1-2/4"},
		{"?from=-100&limit=2", "a b", "0-1/4"},
		{"?from=4", "", "*/4"},
		{"?from=9223372036854775807&limit=9223372036854775807", "", "*/4"},
		{"?from=-9223372036854775808&limit=1", "a", "0-0/4"},
		{"?path=true&from=-1", "d", "1-1/2"},
		{"?images=false&from=3", "d", "3-3/4"},
		{"?from=x", "invalid", ""},
		{"?limit=0", "invalid", ""},
		{"?limit=-1", "invalid", ""},
		{"?from=99999999999999999999", "invalid", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.Base+"/v1/sessions/session-one/entries"+of.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if of.ids == "invalid" {
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: %s", of.query, resp.Status)
			}
			continue
		}
		var ids []string
		for line := range strings.Lines(string(body)) {
			_, rest, _ := strings.Cut(line, `"id":"`)
			id, _, _ := strings.Cut(rest, `"`)
			ids = append(ids, id)
		}
		if got := strings.Join(ids, " "); got != of.ids || resp.Header.Get(api.HeaderRange) != of.which {
			t.Errorf("%s: %q, %q", of.query, got, resp.Header.Get(api.HeaderRange))
		}
	}
}

// A window of a path is that of the path as it is now, also if the path was read before it
// changed.
func TestWindowsFollowTheirPath(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "1"), message("b", "a", "2"), message("c", "b", "3"), message("d", "a", "4"), message("e", "d", "5")))
	want := func(after, ids string) {
		t.Helper()
		for range 2 { // the second one is from memory
			var got []string
			_, err := n.ReadWindow(t.Context(), "session-one", client.View{}, 0, 100, func(line []byte) error {
				_, rest, _ := strings.Cut(string(line), `"id":"`)
				id, _, _ := strings.Cut(rest, `"`)
				got = append(got, id)
				return nil
			})
			testkit.Must(t, err)
			testkit.Equal(t, "entries after "+after, ids, strings.Join(got, " "))
		}
	}
	want("the import", "a d e")
	n.append(t, "session-one", "f", client.AppendOptions{})
	want("an append", "a d e f")
	_, err := n.Move(t.Context(), "session-one", core.MainHead, api.MoveRequest{Leaf: core.LeafAt("c")}, "")
	testkit.Must(t, err)
	want("a move", "a b c")
	_, err = n.Move(t.Context(), "session-one", core.MainHead, api.MoveRequest{Leaf: core.NoLeaf}, "")
	testkit.Must(t, err)
	want("a move before all entries", "")
}
