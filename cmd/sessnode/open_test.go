package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// On loopback, a node without a token responds only to the host name localhost, so
// that a web page cannot reach it by DNS rebinding. With --open it responds to any
// name.
func TestOpenNodeAcceptsAnyHostName(t *testing.T) {
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
		t.Errorf("default: %d %s", status, body)
	}
	if status, body := ask(serveIn(t, []string{"--open"}, nil)); status != http.StatusOK || !strings.Contains(body, `"scope":"admin"`) {
		t.Errorf("open: %d %s", status, body)
	}
	if status, _ := ask(serveIn(t, nil, []string{"SESS_TOKEN=a-token-of-the-test"})); status != http.StatusUnauthorized {
		t.Errorf("with a token: %d", status)
	}
}
