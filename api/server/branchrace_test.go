package server_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A file of Operator has a branch only as an entry, so a move of the head without one
// would be lost.
func TestEveryBranchOfOperatorIsAnEntry(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	const at = "/v1/sessions/session-one"
	n.importText(t, `{"type":"session","version":3,"id":"session-one","timestamp":1.5,"cwd":"/"}`+"\n"+
		`{"type":"message","id":"e0","parent_id":null,"timestamp":1,"message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}`+"\n")
	var calls sync.WaitGroup
	for i := range 10 {
		calls.Go(func() {
			if r, body := n.request(t, http.MethodPost, at+"/branch", `{"at":{"id":"e0"}}`, "Content-Type", "application/json"); r.StatusCode != http.StatusOK {
				t.Errorf("branch: %d %s", r.StatusCode, body)
			}
		})
		calls.Go(func() {
			line := `{"type":"custom","custom_type":"x","data":` + strconv.Itoa(i) + `}`
			if r, body := n.request(t, http.MethodPost, at+"/entries", line, "Content-Type", "application/jsonl"); r.StatusCode != http.StatusOK {
				t.Errorf("append: %d %s", r.StatusCode, body)
			}
		})
	}
	calls.Wait()
	_, body := n.request(t, http.MethodGet, at+"/records", "")
	if strings.Contains(body, `"kind":"head"`) || !strings.Contains(body, `"kind":"append"`) {
		t.Errorf("%s", body)
	}
}
