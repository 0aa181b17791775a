package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
)

// A line may have many edits, each with the same long path: an answer is bound in edits and
// in bytes, and the rest can be read from a number on.
func TestEditsAreBound(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	of := func(edits int, path string) string {
		calls := make([]string, edits)
		for i := range calls {
			calls[i] = fmt.Sprintf(`{"type":"toolCall","id":"c%d","name":"write","arguments":{"path":"%s","content":"%d"}}`, i, path, i)
		}
		return fmt.Sprintf(`{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"assistant","content":[%s]}}`, strings.Join(calls, ","))
	}
	n.importText(t, file(header, of(10005, "p")))
	n.importText(t, file(strings.Replace(header, "session-one", "session-two", 1), of(20, strings.Repeat("p", 1<<20))))
	for _, c := range []struct {
		session, query      string
		edits, total, first int
	}{
		{"session-one", "", 10000, 10005, 0},
		{"session-one", "?from=10000", 5, 10005, 10000},
		{"session-one", "?from=20000", 0, 10005, 0},
		{"session-two", "", 15, 20, 0},
		{"session-two", "?from=15", 5, 20, 15},
	} {
		resp, err := http.Get(n.Base + "/v1/sessions/" + c.session + "/edits" + c.query)
		if err != nil {
			t.Fatal(err)
		}
		var got api.Edits
		err = json.NewDecoder(resp.Body).Decode(&got)
		_ = resp.Body.Close()
		if err != nil || len(got.Edits) != c.edits || got.Total != c.total || len(got.Edits) > 0 && got.Edits[0].New != fmt.Sprint(c.first) {
			t.Errorf("%s%s: %d edits of %d, %v", c.session, c.query, len(got.Edits), got.Total, err)
		}
	}
	if resp, err := http.Get(n.Base + "/v1/sessions/session-one/edits?from=-1"); err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a negative number: %v", err)
	}
}
