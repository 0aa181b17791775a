package server_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core"
)

// An older node ignores the header and would execute the call.
func TestOlderNodeIgnoresDryRun(t *testing.T) {
	t.Parallel()
	done := 0
	older := http.NewServeMux()
	deed := func(w http.ResponseWriter, _ *http.Request) {
		done++
		_, _ = w.Write([]byte("{}"))
	}
	for _, pattern := range server.DryRuns() {
		older.HandleFunc(pattern, deed)
	}
	s := httptest.NewServer(older)
	t.Cleanup(s.Close)
	c := (&client.Client{Base: s.URL}).DryRun()
	const id = "session-one"
	for what, call := range map[string]func() error{
		"create": func() error { _, err := c.Create(t.Context(), api.Create{}); return err },
		"delete": func() error { return c.Delete(t.Context(), id, api.Notice{}) },
		"append": func() error {
			_, err := c.Append(t.Context(), id, []byte("{}"), client.AppendOptions{Key: "k"})
			return err
		},
		"import": func() error {
			_, err := c.Import(t.Context(), strings.NewReader("{}"), 2, client.ImportOptions{})
			return err
		},
		"large import": func() error {
			_, err := c.ImportLarge(t.Context(), client.LargeBytes([]byte("{}")), client.ImportOptions{})
			return err
		},
		"release": func() error { return c.Release(t.Context(), id, "main", "w") },
	} {
		if err := call(); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("a dry %s: %v", what, err)
		}
	}
	if done != 0 {
		t.Errorf("the node executed %d of them", done)
	}
	_, err := c.Create(t.Context(), api.Create{})
	if err == nil || !strings.Contains(err.Error(), "did nothing; upgrade it") || !strings.Contains(err.Error(), s.URL) {
		t.Errorf("the error is: %v", err)
	}
}

// The client does not trust a server that answers every path.
func TestAnswerWithoutDryRunHeaderIsError(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	t.Cleanup(s.Close)
	if _, err := (&client.Client{Base: s.URL}).DryRun().Create(t.Context(), api.Create{}); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("the answer is taken for a dry run: %v", err)
	}
}

func TestDryRunPathNeverStores(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	if _, err := n.Create(t.Context(), api.Create{ID: "session-one"}); err != nil {
		t.Fatal(err)
	}
	before := n.stored(t)
	for path, want := range map[string]int{
		"/v1/dry-run/sessions/session-one/delete":                      http.StatusOK,
		"/v1/dry-run/sessions/" + url.PathEscape("a/b/v1") + "/delete": http.StatusBadRequest,
		"/%761/dry-run/sessions/session-one/delete":                    http.StatusOK,
		"/v1/dry-run/sessions/session-none/delete":                     http.StatusNotFound,
		"/v1/dry-run/sessions/session-one/checkpoint":                  http.StatusBadRequest,
		"/v1/dry-run/dry-run/sessions/session-one/delete":              http.StatusNotFound,
		"/v1/dry-run": http.StatusNotFound,
	} {
		res, body := n.request(t, http.MethodPost, path, `{"by":"ada","why":"a test"}`, "Content-Type", "application/json")
		if res.StatusCode != want {
			t.Errorf("%s: %s %s, want %d", path, res.Status, body, want)
		}
	}
	if after := n.stored(t); after != before {
		t.Errorf("something was stored:\n%s\n%s", before, after)
	}
	if _, err := n.DryRun().Info(t.Context(), "session-one"); err != nil {
		t.Errorf("a dry client that reads: %v", err)
	}
}

// The mux redirects an unclean path to the clean one. A client that follows the
// redirect must not reach a route that executes the call.
func TestUncleanDryRunPathNeverExecutes(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	if _, err := n.Create(t.Context(), api.Create{ID: "session-one"}); err != nil {
		t.Fatal(err)
	}
	before := n.stored(t)
	follows := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(follows.CloseIdleConnections)
	for _, path := range []string{
		"/v1/dry-run//sessions/session-one/delete",
		"/v1/dry-run/./sessions/session-one/delete",
		"/v1/dry-run/x/../sessions/session-one/delete",
		"/v1/dry-run/%2e%2e/sessions/session-one/delete",
		"/v1/dry-run/sessions/session-one/../session-one/delete",
		"/v1/dry-run/sessions/session-one/delete/",
		"/v1//dry-run/sessions/session-one/delete",
		"//v1/dry-run/sessions/session-one/delete",
		"/v1/x/../dry-run/sessions/session-one/delete",
	} {
		res, err := follows.Post(n.Base+path, "application/json", strings.NewReader(`{"by":"ada","why":"a test"}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode < 300 && res.Header.Get(api.HeaderDryRun) != "true" {
			t.Errorf("%s was executed: %s", path, res.Status)
		}
	}
	if after := n.stored(t); after != before {
		t.Errorf("something was stored:\n%s\n%s", before, after)
	}
}
