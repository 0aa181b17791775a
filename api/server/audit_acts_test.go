package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/materializer/gc"
)

// onlyAsks are the calls for admins that change nothing, although their method is not GET.
var onlyAsks = []string{
	"POST /v1/sessions/{id}/restore/plan",
	"POST /v1/restore/blobs",
	"POST /v1/retention/plan",
}

func TestEveryChangingAdminCallIsAnAct(t *testing.T) {
	t.Parallel()
	acts := server.Acts()
	for _, pattern := range server.AdminPatterns() {
		if (acts[pattern] == "") != slices.Contains(onlyAsks, pattern) {
			t.Errorf("%s is the act %q in routes.go; a call that changes nothing belongs in onlyAsks", pattern, acts[pattern])
		}
	}
}

// withCollector configures a node that collects blobs in a separate bucket.
func withCollector(t *testing.T) nodeOption {
	t.Helper()
	return func(c *server.Config) {
		bucket, err := fsblob.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		c.Collector = gc.New(gc.Config{
			Log: c.Log, Sessions: c.Sessions, Bucket: bucket, Blobs: c.Blobs, Node: c.Node, Logger: c.Logger,
			Record: func(context.Context, gc.Deletion) error { return nil },
		})
	}
}

// Performs each act in the table of scopes and looks for its audit record. Refused
// calls are recorded too.
func TestEveryActIsAudited(t *testing.T) {
	t.Parallel()
	n := startNode(t, withCollector(t), func(c *server.Config) { c.StreamPoll = time.Second })
	n.Server.SetRestorePause(time.Millisecond)
	const id = "session-of-acts"
	if _, err := n.Create(t.Context(), api.Create{ID: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Append(t.Context(), id, []byte(message("a1b2c3d4", "", "a secret")), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	n.createStream(t, "acts")
	made, err := n.CreateToken(t.Context(), api.TokenRequest{Name: "first", Scope: "read"})
	if err != nil {
		t.Fatal(err)
	}
	const why = `"by":"ada","why":"a test"`
	blob := core.DigestOf([]byte("bytes")).String()
	acts := server.Acts()
	for _, do := range []struct{ pattern, path, body string }{
		{"POST /v1/sessions/{id}/shares", "", "{" + why + "}"},
		{"DELETE /v1/sessions/{id}/shares/{token}", "/v1/sessions/" + id + "/shares/" + made.ID, ""},
		{"POST /v1/sessions/{id}/hold", "", "{" + why + "}"},
		{"POST /v1/sessions/{id}/unhold", "", "{" + why + "}"},
		{"POST /v1/sessions/{id}/redact", "", `{"entries":["a1b2c3d4"],` + why + "}"},
		{"POST /v1/sessions/{id}/repair", "", "{}"},
		{"POST /v1/sessions/{id}/delete", "", "{" + why + "}"},
		{"POST /v1/sessions/{id}/undelete", "", "{" + why + "}"},
		{"PUT /v1/restore/blobs/{digest}", "/v1/restore/blobs/" + blob, "bytes"},
		{"PUT /v1/sessions/{id}/snapshots/{name}", "/v1/sessions/" + id + "/snapshots/1-x", "{}\n"},
		{"POST /v1/sessions/{id}/restore", "", "{}\n"},
		{"POST /v1/sessions/{id}/erase", "", `{"now":true,` + why + "}"},
		{"POST /v1/blobs/{digest}/repair", "/v1/blobs/" + blob + "/repair", "{}"},
		{"POST /v1/blobs/gc", "", `{"apply":true,"gone":["nobody"],` + why + "}"},
		{"POST /v1/retention/apply", "", ""},
		{"POST /v1/doctor", "", "{}"},
		{"POST /v1/rebuild", "", "{}"},
		{"POST /v1/tokens", "", `{"name":"second","scope":"read",` + why + "}"},
		{"POST /v1/tokens/{token}/rotate", "/v1/tokens/" + made.ID + "/rotate", "{" + why + "}"},
		{"DELETE /v1/tokens/{token}", "/v1/tokens/" + made.ID, ""},
		{"DELETE /v1/stream/{path...}", "/v1/stream/acts", ""},
	} {
		name, ok := acts[do.pattern]
		if !ok {
			t.Errorf("%s is not an act in routes.go", do.pattern)
			continue
		}
		delete(acts, do.pattern)
		last := n.lastAudit(t)
		method, path, _ := strings.Cut(do.pattern, " ")
		if do.path != "" {
			path = do.path
		}
		if method == http.MethodPost && strings.HasSuffix(path, "/retention/apply") {
			plan, err := n.Plan(t.Context(), report.Policy{EraseTrash: true})
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(api.ApplyRequest{Plan: plan, Notice: api.Notice{By: "ada", Why: "a test"}})
			if err != nil {
				t.Fatal(err)
			}
			do.body = string(b)
		}
		res, body := n.request(t, method, strings.Replace(path, "{id}", id, 1), do.body)
		if !n.awaitAct(t, last, name) {
			t.Errorf("%s, answered %s %s, left no record of %q", do.pattern, res.Status, body, name)
		}
	}
	if left := slices.Sorted(maps.Keys(acts)); len(left) > 0 {
		t.Errorf("untested acts: %v", left)
	}
}

// createStream creates a stream, whose answers openapi.json does not have.
func (n *node) createStream(t *testing.T, path string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, n.Base+"/v1/stream/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		t.Fatal(res.Status)
	}
}

func (n *node) lastAudit(t *testing.T) uint64 {
	t.Helper()
	page, err := n.Audit(t.Context(), api.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Records) == 0 {
		return 0
	}
	return page.Records[len(page.Records)-1].N
}

// awaitAct waits for a record of the act that is newer than record last and has an
// outcome.
func (n *node) awaitAct(t *testing.T, last uint64, name string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		page, err := n.Audit(ctx, api.AuditQuery{After: last})
		if err != nil {
			t.Log(err)
			return false
		}
		for _, r := range page.Records {
			if r.Act == name && r.Outcome != "begun" {
				return true
			}
		}
		select {
		case <-ctx.Done():
			t.Log(fmt.Sprint(page.Records))
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// A restore takes thousands of calls and leaves few records.
func TestRestoreIsOneAct(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for i := range 50 {
		if err := n.RestoreBlob(t.Context(), fmt.Append(nil, "blob ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if res, body := n.request(t, "POST", "/v1/sessions/session-1/restore", "no line"); res.StatusCode != 400 {
		t.Errorf("%s %s", res.Status, body)
	}
	page, err := n.Audit(t.Context(), api.AuditQuery{})
	if err != nil || len(page.Records) != 1 || page.Records[0].Act != "restore" || page.Records[0].Outcome != "begun" || page.Records[0].Request == "" {
		t.Fatalf("during the restore: %+v, %v", page.Records, err)
	}
	n.Server.EndRestores()
	page, err = n.Audit(t.Context(), api.AuditQuery{After: page.Records[0].N})
	if err != nil || len(page.Records) != 1 || page.Records[0].Outcome != "done" || page.Records[0].Detail != "50 blobs, calls that failed: 1" {
		t.Errorf("after the restore: %+v, %v", page.Records, err)
	}
}
