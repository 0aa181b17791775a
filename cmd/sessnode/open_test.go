package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestANodeThatIsOpenAnswersUnderItsName: on loopback a node without a token
// answers to localhost alone, lest a web page reach it under a name of its own;
// where open is said, it answers under any.
func TestANodeThatIsOpenAnswersUnderItsName(t *testing.T) {
	t.Parallel()
	ask := func(url string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/whoami", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "node.example"
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	if status, body := ask(serveIn(t, nil, nil)); status != http.StatusForbidden || !strings.Contains(body, "localhost") {
		t.Errorf("without a word: %d %s", status, body)
	}
	if status, body := ask(serveIn(t, []string{"--open"}, nil)); status != http.StatusOK || !strings.Contains(body, `"scope":"admin"`) {
		t.Errorf("open: %d %s", status, body)
	}
	if status, _ := ask(serveIn(t, nil, []string{"SESS_TOKEN=a-token-of-the-test"})); status != http.StatusUnauthorized {
		t.Errorf("with a token: %d", status)
	}
}
