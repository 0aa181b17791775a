package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/server"
)

// A client with the current version gets 304 until something is stored.
func TestUnchangedAnswerIs304(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one"), message("b", "a", "two")))
	before := map[string]string{}
	for _, path := range []string{"", "/tree", "/entries", "/entries?path=true", "/state", "/children", "/digest", "/export", "/export?original=true", "/file"} {
		res, body := n.request(t, "GET", "/v1/sessions/session-one"+path, "")
		tag := res.Header.Get("ETag")
		if res.StatusCode != http.StatusOK || body == "" || tag == "" {
			t.Fatalf("%s: %s with ETag %q", path, res.Status, tag)
		}
		before[path] = tag
		for _, have := range []string{tag, `"other", W/` + tag, "*"} {
			res, body = n.request(t, "GET", "/v1/sessions/session-one"+path, "", "If-None-Match", have)
			if res.StatusCode != http.StatusNotModified || body != "" || res.Header.Get("ETag") != tag {
				t.Errorf("%s with %s: %s, ETag %q, %q", path, have, res.Status, res.Header.Get("ETag"), body)
			}
		}
	}
	n.tell(t, "session-one", "more")
	for path, tag := range before {
		res, _ := n.request(t, "GET", "/v1/sessions/session-one"+path, "", "If-None-Match", tag)
		if res.StatusCode != http.StatusOK || res.Header.Get("ETag") == tag {
			t.Errorf("%s after an append: %s, ETag %q", path, res.Status, res.Header.Get("ETag"))
		}
	}
	if res, body := n.request(t, "GET", "/v1/sessions/session-one/file?leaf=nope", "", "If-None-Match", "*"); res.StatusCode != http.StatusNotFound || res.Header.Get("ETag") != "" {
		t.Errorf("an error: %s, ETag %q: %s", res.Status, res.Header.Get("ETag"), body)
	}
}

// An answer carries the caller's request id, even if the request is refused.
func TestEveryAnswerHasRequestID(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(c *server.Config) { c.Token = "secret" })
	for path, token := range map[string]string{"/healthz": "", "/v1/status": "secret", "/v1/sessions/no-such-session": "secret", "/nowhere": "", "/v1/holds": "wrong"} {
		res, body := n.request(t, "GET", path, "", "Authorization", "Bearer "+token, server.HeaderRequest, "job-4711:a.b_c")
		if got := res.Header.Get(server.HeaderRequest); got != "job-4711:a.b_c" {
			t.Errorf("%s: the request id is %q", path, got)
		}
		if res.StatusCode >= 400 && mustJSON[api.Detail](t, body).Request != "job-4711:a.b_c" {
			t.Errorf("%s: the problem does not name it: %s", path, body)
		}
		for _, bad := range []string{"", "a b", strings.Repeat("x", 129)} {
			res, _ := n.request(t, "GET", path, "", "Authorization", "Bearer "+token, server.HeaderRequest, bad)
			if got := res.Header.Get(server.HeaderRequest); len(got) != 26 {
				t.Errorf("%s, sent id %q: the request id is %q, want one that the node generated", path, bad, got)
			}
		}
	}
}

func TestRetriedMergeCreatesOneSession(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.make(t, "session-a", "/w")
	n.make(t, "session-b", "/w")
	n.tell(t, "session-a", "one")
	n.tell(t, "session-b", "two")
	first, err := n.Merge(t.Context(), "session-a", api.MergeRequest{With: "session-b", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := n.Merge(t.Context(), "session-a", api.MergeRequest{With: "session-b", Key: "k"})
	if err != nil || again.ID != first.ID {
		t.Errorf("retry: %+v, %v; want session %s", again, err, first.ID)
	}
	other, err := n.Merge(t.Context(), "session-a", api.MergeRequest{With: "session-b", Key: "other"})
	if err != nil || other.ID == first.ID {
		t.Errorf("another: %+v, %v", other, err)
	}
}
