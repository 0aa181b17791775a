package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/server"
)

func TestReadyzNamesFailingCheck(t *testing.T) {
	t.Parallel()
	var store, broker error
	n := startNode(t, func(c *server.Config) {
		c.StoreSeen = func() error { return store }
		c.Ready = func(context.Context) error { return broker }
	})
	h := n.Server.Handler()
	for _, c := range []struct {
		what          string
		store, broker error
		query         string
		status        int
		text          string
		failing       string // check
	}{
		{"all there", nil, nil, "", 200, "ready\n", ""},
		{"no store", errors.New("bucket gone"), nil, "", 200, "ready, but without its object store: bucket gone\n", "store"},
		{"no store, which is needed", errors.New("bucket gone"), nil, "?need=store", 503, "not ready: bucket gone\n", "store"},
		{"no NATS", nil, errors.New("no quorum"), "", 503, "not ready: no quorum\n", "nats"},
	} {
		store, broker = c.store, c.broker
		if status, body := ask(h, "/readyz"+c.query, ""); status != c.status || body != c.text {
			t.Errorf("%s: %d %q", c.what, status, body)
		}
		status, body := ask(h, "/readyz"+c.query, "application/json")
		var got server.Health
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != c.status || got.Ready != (status == 200) {
			t.Errorf("%s: %d %s %v", c.what, status, body, err)
		}
		failing := ""
		for _, check := range got.Checks {
			if !check.OK {
				failing += check.Name
			}
			if check.OK != (check.Why == "") {
				t.Errorf("%s: %+v", c.what, check)
			}
		}
		if failing != c.failing {
			t.Errorf("%s: %q fails in %s", c.what, failing, body)
		}
	}
}

func TestStoppingNodeIsAliveButNotReady(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	h := n.Server.Handler()
	n.Stop()
	if status, body := ask(h, "/readyz", ""); status != http.StatusServiceUnavailable || body != "not ready: stopping\n" {
		t.Errorf("readyz: %d %q", status, body)
	}
	if status, body := ask(h, "/healthz", ""); status != http.StatusOK || body != "ok\n" {
		t.Errorf("healthz: %d %q", status, body)
	}
	if status, body := ask(h, "/healthz", "application/json"); status != http.StatusOK || !strings.Contains(body, `"alive":true`) {
		t.Errorf("healthz: %d %q", status, body)
	}
}

func TestDisconnectedNodeIsNotReady(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	h := n.Server.Handler()
	n.Conn.Close()
	if status, body := ask(h, "/readyz", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "connection closed") {
		t.Errorf("readyz: %d %q", status, body)
	}
}

// ask asks h without a connection.
func ask(h http.Handler, path, accept string) (int, string) {
	r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}
