package server_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/server"
)

// Reads, writes, searches and fails, with a marker word in each place that a caller
// controls.
func TestAccessLogOmitsSessionContent(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	n := startNode(t, withTokens, func(c *server.Config) {
		c.Access, c.Logger = true, slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	m := n.create(t, api.TokenRequest{Name: "agent", Scope: access.Read, Prefix: "session-"})
	bearer := "Bearer " + m.Bearer
	n.importText(t, file(header, message("a", "", "haystack with a needle")))
	for _, c := range []struct {
		method, path, body, id, auth string
		status                       int
		call, session, outcome, who  string
	}{
		{"GET", "/v1/sessions/session-one/entries", "", "read-1", bearer, 200, "GET /v1/sessions/{id}/entries", "session-one", "ok", "agent (" + m.ID + ")"},
		{"GET", "/v1/search?q=needle", "", "search-1", bearer, 200, "GET /v1/search", "", "ok", "agent (" + m.ID + ")"},
		{"GET", "/v1/sessions/other-needle", "", "refused-1", bearer, 403, "GET /v1/sessions/{id}", "other-needle", "forbidden", "agent (" + m.ID + ")"},
		{"POST", "/v1/sessions/session-one/entries", message("b", "a", "needle"), "refused-2", bearer, 403, "POST /v1/sessions/{id}/entries", "session-one", "forbidden", "agent (" + m.ID + ")"},
		{"POST", "/v1/sessions/session-one/entries", message("b", "a", "needle"), "write-1", "Bearer the-bootstrap-token", 200, "POST /v1/sessions/{id}/entries", "session-one", "ok", "the node's token"},
		{"POST", "/v1/sessions/session-one/entries", message("c", "needle", "x"), "bad-1", "Bearer the-bootstrap-token", 400, "POST /v1/sessions/{id}/entries", "session-one", "invalid", "the node's token"},
		{"GET", "/v1/sessions", "", "unknown-1", "Bearer needle", 401, "GET /v1/sessions", "", "unauthorized", "-"},
	} {
		res, body := n.request(t, c.method, c.path, c.body, "Authorization", c.auth, "X-Request-Id", c.id)
		if res.StatusCode != c.status || res.Header.Get("X-Request-Id") != c.id {
			t.Errorf("%s: %s, request %q: %s", c.id, res.Status, res.Header.Get("X-Request-Id"), body)
		}
		got := accessLine(t, log.String(), c.id)
		if got["call"] != c.call || got["session"] != c.session || got["outcome"] != c.outcome || got["who"] != c.who || got["from"] == "" {
			t.Errorf("%s is logged as %v", c.id, got)
		}
	}
	for line := range strings.Lines(strings.ReplaceAll(log.String(), "other-needle", "")) {
		if strings.Contains(line, `"msg":"access"`) && strings.Contains(line, "needle") || strings.Contains(line, m.Bearer) || strings.Contains(line, "the-bootstrap-token") {
			t.Errorf("session content in the log: %s", line)
		}
	}
}

func accessLine(t *testing.T, log, request string) map[string]string {
	t.Helper()
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"msg":"access"`) && strings.Contains(line, `"request":"`+request+`"`) {
			return mustJSON[map[string]string](t, line)
		}
	}
	t.Errorf("request %s is not logged", request)
	return nil
}

func TestAuditRecordsNameTokenAndRequest(t *testing.T) {
	t.Parallel()
	n := startNode(t, withTokens)
	m := n.create(t, api.TokenRequest{Name: "ops", Scope: access.Admin})
	n.importText(t, file(header, message("a", "", "1")))
	for _, c := range []struct{ method, path, body, act string }{
		{"POST", "/v1/sessions/session-one/delete", `{"by":"somebody else"}`, "delete"},
		{"POST", "/v1/sessions/session-one/undelete", `{}`, "undelete"},
		{"POST", "/v1/sessions/session-one/hold", `{"why":"law"}`, "hold"},
		{"POST", "/v1/sessions/session-one/unhold", `{"why":"law"}`, "unhold"},
		{"POST", "/v1/sessions/session-one/repair", `{}`, "repair"},
		{"POST", "/v1/rebuild", `{}`, "rebuild"},
	} {
		res, body := n.request(t, c.method, c.path, c.body, "Authorization", "Bearer "+m.Bearer, "X-Request-Id", "request-of-"+c.act)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s", c.act, res.Status, body)
		}
		page, err := n.Audit(t.Context(), api.AuditQuery{})
		if err != nil {
			t.Fatal(err)
		}
		last := page.Records[len(page.Records)-1]
		if last.Act != c.act || last.Token != "ops ("+m.ID+")" || last.Request != "request-of-"+c.act || last.Outcome != "done" {
			b, _ := json.Marshal(last)
			t.Errorf("%s: the last record is %s", c.act, b)
		}
	}
}
