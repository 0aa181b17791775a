package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core"
)

// notOfPi are the calls that pi sessions refuse.
var notOfPi = []string{"POST /v1/sessions/{id}/reactions", "PUT /v1/sessions/{id}/entries/{entry}/meta"}

// Makes each call that supports dry runs first as a dry run, then for real: both
// answers have the same status.
func TestDryRunStoresNothing(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	const id, other = "session-one", "session-two"
	for _, s := range []string{id, other} {
		if _, err := n.Create(t.Context(), api.Create{ID: s}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.Append(t.Context(), id, []byte(message("a1b2c3d4", "", "first")), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	const why = `{"by":"ada","why":"a test"}`
	const at = "/v1/sessions/" + id
	image := strings.Repeat("QUJD", 1000)
	tried := map[string]bool{}
	for _, do := range []struct{ pattern, path, body, kind string }{
		{"POST /v1/sessions", "/v1/sessions", `{"id":"session-new"}`, ""},
		{"POST /v1/import", "/v1/import", string(largeSession("session-imported", 60<<10)), ndjson},
		{"POST /v1/sessions/{id}/entries", at + "/entries", `{"type":"message","id":"b1b2c3d4","parentId":"a1b2c3d4","message":{"role":"user","content":[{"type":"image","data":"` + image + `","mimeType":"image/png"}]}}`, ndjson},
		{"PATCH /v1/sessions/{id}/entries/{entry}", at + "/entries/a1b2c3d4", message("a1b2c3d4", "", "second"), ""},
		{"PATCH /v1/sessions/{id}/entries", at + "/entries", message("a1b2c3d4", "", "third"), ndjson},
		{"PUT /v1/sessions/{id}/entries/{entry}/meta", at + "/entries/a1b2c3d4/meta", `{"meta":{"k":1}}`, ""},
		{"POST /v1/sessions/{id}/reactions", at + "/reactions", `{"entry":"a1b2c3d4","reaction":"+1"}`, ""},
		{"POST /v1/sessions/{id}/labels", at + "/labels", `{"target":"a1b2c3d4","label":"good"}`, ""},
		{"POST /v1/sessions/{id}/name", at + "/name", `{"name":"a name"}`, ""},
		{"POST /v1/sessions/{id}/branch", at + "/branch", `{"at":{"id":"a1b2c3d4"},"summary":"so far"}`, ""},
		{"PUT /v1/sessions/{id}/heads/{head}", at + "/heads/side", `{"leaf":{"id":"a1b2c3d4"}}`, ""},
		{"POST /v1/sessions/{id}/claims", at + "/claims", `{"head":"main","writer":"writer-001","agent":"pi"}`, ""},
		{"DELETE /v1/sessions/{id}/claims/{name}", at + "/claims/writer-001?head=main", "", ""},
		{"POST /v1/sessions/{id}/fork", at + "/fork", `{"id":"session-fork","whole":true}`, ""},
		{"POST /v1/sessions/{id}/merge", at + "/merge", `{"with":"` + other + `","id":"session-merged"}`, ""},
		{"POST /v1/sessions/{id}/close", at + "/close", why, ""},
		{"POST /v1/sessions/{id}/hold", at + "/hold", why, ""},
		{"POST /v1/sessions/{id}/unhold", at + "/unhold", why, ""},
		{"POST /v1/sessions/{id}/delete", at + "/delete", why, ""},
		{"POST /v1/sessions/{id}/undelete", at + "/undelete", why, ""},
	} {
		tried[do.pattern] = true
		method, _, _ := strings.Cut(do.pattern, " ")
		header := []string{"Content-Type", "application/json"}
		if do.kind != "" {
			header[1] = do.kind
		}
		before := n.stored(t)
		dry, said := n.request(t, method, do.path, do.body, append(header, api.HeaderDryRun, "true")...)
		if after := n.stored(t); after != before {
			t.Errorf("a dry %s stored something:\n%s\n%s", do.pattern, before, after)
		}
		real, sayd := n.request(t, method, do.path, do.body, header...)
		if dry.StatusCode != real.StatusCode || dry.Header.Get(api.HeaderDryRun) != "true" || real.Header.Get(api.HeaderDryRun) != "" {
			t.Errorf("a dry %s is answered %s %s, the real call %s %s", do.pattern, dry.Status, said, real.Status, sayd)
		}
		if stored := n.stored(t) != before; stored != (real.StatusCode < 300) || !stored && !slices.Contains(notOfPi, do.pattern) {
			t.Errorf("%s stored something: %v, answered %s %s", do.pattern, stored, real.Status, sayd)
		}
	}
	for _, pattern := range server.DryRuns() {
		if !tried[pattern] {
			t.Errorf("no test makes a dry %s", pattern)
		}
	}
}

// stored returns the ends of all sessions, all blobs and all audit records.
func (n *node) stored(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for shard := range n.Config.Log.Shards() {
		ends, err := n.Ends(t.Context(), shard)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range ends.Sessions {
			r, err := n.Config.Log.Last(t.Context(), e.Session)
			for err == nil && r.Kind == core.KindCheckpoint { // the node writes these at any time
				r, err = n.Config.Log.At(t.Context(), e.Session, r.After)
			}
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&b, e.Session, r.Pos)
		}
	}
	blobs, err := n.Blobs(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, blob := range blobs.Blobs {
		b.WriteString(blob.Digest.String() + "\n")
	}
	audit, err := n.Audit(t.Context(), api.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range audit.Records {
		b.WriteString(r.Act + "\n")
	}
	return b.String()
}

func TestDryRunIsRefusedLikeRealCall(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	if _, err := n.Create(t.Context(), api.Create{ID: "session-one"}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Claim(t.Context(), "session-one", core.ClaimRequest{Agent: "pi"}); err != nil {
		t.Fatal(err)
	}
	dry := n.DryRun()
	_, err := dry.Append(t.Context(), "session-one", []byte(message("a1b2c3d4", "", "mine")), client.AppendOptions{})
	if d := detail(t, err); d.Code != "fenced" || d.Holder == nil {
		t.Errorf("an append to a held head: %+v", d)
	}
	_, err = dry.Create(t.Context(), api.Create{ID: "session-one"})
	if d := detail(t, err); d.Code != "exists" {
		t.Errorf("an existing session: %+v", d)
	}
	_, err = dry.Checkpoint(t.Context(), "session-one")
	if d := detail(t, err); d.Code != "invalid" || !strings.Contains(d.Detail, "has no dry run; nothing was done") {
		t.Errorf("a call without dry run: %+v", d)
	}
	if res, body := n.request(t, http.MethodPost, "/v1/sessions", `{}`, api.HeaderDryRun, "yes"); res.StatusCode != 400 {
		t.Errorf("%s %s", res.Status, body)
	}
}
