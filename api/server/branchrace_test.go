package server_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A file of Operator represents a branch only by an entry, so it would lose a move of the
// head without one.
func TestEveryBranchOfOperatorIsAnEntry(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for i := range 8 { // a race needs several attempts
		raceBranches(t, n, "session-"+strconv.Itoa(i))
	}
}

// raceBranches branches and appends at the same time.
func raceBranches(t *testing.T, n *node, id string) {
	t.Helper()
	at := "/v1/sessions/" + id
	n.importText(t, `{"type":"session","version":3,"id":"`+id+`","timestamp":1.5,"cwd":"/"}`+"\n"+
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

func TestBranchRefusesKeyOfAnAppend(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a1b2c3d4", "", "hi"), message("e1", "a1b2c3d4", "ho")))
	const at = "/v1/sessions/session-one"
	key := []string{"Content-Type", "application/json", "Idempotency-Key", "turn"}
	if r, body := n.request(t, http.MethodPost, at+"/entries", `{"type":"custom","customType":"x"}`, key...); r.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", r.StatusCode, body)
	}
	if r, body := n.request(t, http.MethodPost, at+"/branch", `{"at":{"id":"a1b2c3d4"}}`, key...); r.StatusCode != http.StatusConflict {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	if r, body := n.request(t, http.MethodPost, "/v1/sessions", `[]`, key...); r.StatusCode != http.StatusBadRequest || !strings.Contains(body, "it cannot be a JSON array") {
		t.Errorf("%d %s", r.StatusCode, body)
	}
}
