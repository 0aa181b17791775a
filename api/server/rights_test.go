package server_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/internal/nodetest"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/catalog"
)

var updateRights = flag.Bool("update-rights", false, "write testdata/rights.golden and testdata/prefix.golden anew")

// withTokens configures a node that requires tokens.
func withTokens(c *server.Config) { c.Token = "the-bootstrap-token" }

// startWhole runs a node that requires tokens and answers every call.
func startWhole(t *testing.T) *node {
	t.Helper()
	return startNodeOf(t, nodetest.Config{Presence: session.Presence{ID: "the-process-of-the-node"}}, withTokens, func(c *server.Config) {
		c.StreamPoll = time.Second
		c.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	})
}

// create creates a token and waits until the node accepts it.
func (n *node) create(t *testing.T, q api.TokenRequest) access.Issued {
	t.Helper()
	m, err := n.CreateToken(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	n.awaitStatus(t, m.Bearer, http.StatusOK)
	return m
}

// awaitStatus waits until the node answers bearer with that status.
func (n *node) awaitStatus(t *testing.T, bearer string, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		res, body := n.request(t, "GET", "/v1/whoami", "", "Authorization", "Bearer "+bearer)
		if res.StatusCode == want {
			return
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("whoami still answers %d %s, want %d", res.StatusCode, body, want)
		}
	}
}

// Tries every call with every kind of token. The results are 401 (unauthenticated),
// 403 (forbidden), and "in" for any answer of the handler. They are in
// testdata/rights.golden; review every change to it.
func TestEveryCallRequiresItsScope(t *testing.T) {
	t.Parallel()
	n := startWhole(t)
	for _, id := range []string{"ours-000001", "other-000001"} {
		if _, err := n.Create(t.Context(), api.Create{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	until := time.Now().Add(time.Hour)
	revoked := n.create(t, api.TokenRequest{Name: "revoked", Scope: access.Admin})
	if _, err := n.RevokeToken(t.Context(), revoked.ID, api.Notice{By: "test"}); err != nil {
		t.Fatal(err)
	}
	n.awaitStatus(t, revoked.Bearer, http.StatusUnauthorized)
	expired := n.create(t, api.TokenRequest{Name: "expired", Scope: access.Admin, Expires: time.Now().Add(3 * time.Second)})
	n.awaitStatus(t, expired.Bearer, http.StatusUnauthorized)
	rotated := n.create(t, api.TokenRequest{Name: "rotated", Scope: access.Admin})
	if _, err := n.RotateToken(t.Context(), rotated.ID, api.RotateRequest{}); err != nil {
		t.Fatal(err)
	}
	n.awaitStatus(t, rotated.Bearer, http.StatusUnauthorized)
	kinds := []struct{ name, header string }{
		{"nobody", ""},
		{"basic", "Basic dGhlLWJvb3RzdHJhcC10b2tlbjo="},
		{"wrong", "Bearer the-bootstrap-tokem"},
		{"revoked", "Bearer " + revoked.Bearer},
		{"expired", "Bearer " + expired.Bearer},
		{"rotated", "Bearer " + rotated.Bearer},
		{"read", "Bearer " + n.create(t, api.TokenRequest{Name: "r", Scope: access.Read, Expires: until}).Bearer},
		{"write", "Bearer " + n.create(t, api.TokenRequest{Name: "w", Scope: access.Write, Expires: until}).Bearer},
		{"admin", "Bearer " + n.create(t, api.TokenRequest{Name: "a", Scope: access.Admin, Expires: until}).Bearer},
		{"first", "Bearer the-bootstrap-token"},
		{"ours/read", "Bearer " + n.create(t, api.TokenRequest{Name: "or", Scope: access.Read, Prefix: "ours-"}).Bearer},
		{"ours/write", "Bearer " + n.create(t, api.TokenRequest{Name: "ow", Scope: access.Write, Prefix: "ours-"}).Bearer},
		{"ds/write", "Bearer " + n.create(t, api.TokenRequest{Name: "dw", Scope: access.Write, Prefix: "ds-"}).Bearer},
		{"share", "Bearer " + n.shareOf(t, "ours-000001", "").Bearer},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-62s", "CALL")
	for _, k := range kinds {
		fmt.Fprintf(&b, " %-10s", k.name)
	}
	b.WriteString("\n")
	dryRuns := server.DryRuns()
	for _, pattern := range server.RoutePatterns() {
		for _, path := range pathsOf(pattern) {
			method, _, _ := strings.Cut(pattern, " ")
			fmt.Fprintf(&b, "%-62s", method+" "+strings.Replace(path, zeroDigest, "{digest}", 1))
			for _, k := range kinds {
				got := n.attempt(t, method, path, k.header)
				fmt.Fprintf(&b, " %-10s", got)
				if !slices.Contains(dryRuns, pattern) {
					continue
				}
				if dry := n.attempt(t, method, strings.Replace(path, api.Prefix, api.DryRunPrefix, 1), k.header); dry != got {
					t.Errorf("%s %s: %s answers %s, and %s for a dry run", method, path, k.name, got, dry)
				}
			}
			b.WriteString("\n")
		}
	}
	golden(t, "testdata/rights.golden", trimmed(b.String()))
}

var zeroDigest = "sha256:" + strings.Repeat("0", 64)

// pathsOf returns the paths of a call: of sessions inside and outside the prefix ours-,
// and of the subscriptions of streams.
func pathsOf(pattern string) (paths []string) {
	method, path, _ := strings.Cut(pattern, " ")
	streams, isStream := strings.CutSuffix(path, "{path...}")
	if isStream {
		sub := streams + "__ds/subscriptions/ours"
		paths = append(paths, streams+"ours-000001")
		switch method {
		case "GET", "PUT":
			return append(paths, sub)
		case "POST":
			return append(paths, sub+"/claim", sub+"/streams")
		}
		return append(paths, sub, sub+"/streams/ours-000001")
	}
	for _, session := range []string{"ours-000001", "other-000001"} {
		paths = append(paths, strings.NewReplacer("{id}", session, "{entry}", "e", "{head}", "h", "{name}", "n", "{shard}", "0",
			"{token}", "aaaaaaaaaaaa", "{digest}", zeroDigest).Replace(path))
	}
	if !strings.Contains(path, "/sessions/{id}") {
		return paths[:1]
	}
	return paths
}

// attempt returns the result of a request that every handler rejects.
func (n *node) attempt(t *testing.T, method, path, header string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, n.Base+path, strings.NewReader("no JSON"))
	if err != nil {
		t.Fatal(err)
	}
	if header != "" {
		req.Header.Set("Authorization", header)
	}
	do := http.DefaultClient.Do
	if strings.HasPrefix(path, "/v1/stream/") || path == "/metrics" { // openapi.json does not have these answers
		do = http.DefaultTransport.RoundTrip
	}
	res, err := do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	_ = res.Body.Close() // some bodies never end
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprint(res.StatusCode)
	}
	return "in"
}

func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	want, err := os.ReadFile(path)
	if *updateRights {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil || !bytes.Equal(want, []byte(got)) {
		t.Errorf("%s differs (%v); review it and update it with: go test ./api/server -run TestEveryCallRequiresItsScope -args -update-rights\n%s", path, err, got)
	}
}

func TestEveryRouteRequiresAScope(t *testing.T) {
	t.Parallel()
	if without := server.RoutesWithoutScope(); len(without) > 0 {
		t.Errorf("routes without a scope: %q", without)
	}
	if diff := cmp.Diff([]string{
		"GET /healthz", "GET /openapi.json", "GET /readyz", "GET /v1/stream/__ds/jwks.json",
		"POST /v1/stream/__ds/subscriptions/{id}/ack", "POST /v1/stream/__ds/subscriptions/{id}/callback", "POST /v1/stream/__ds/subscriptions/{id}/release",
	}, server.PublicPatterns()); diff != "" {
		t.Errorf("routes that require no token (-want +got):\n%s", diff)
	}
}

// Tries the calls that name a session outside the path.
func TestRestrictedTokenSeesNoOtherSessions(t *testing.T) {
	t.Parallel()
	n := startNode(t, withTokens)
	for _, id := range []string{"ours-000001", "other-000001"} {
		if _, err := n.Create(t.Context(), api.Create{ID: id}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Append(t.Context(), id, []byte(message("a1b2c3d4", "", "a needle in "+id)), client.AppendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	bearer := n.create(t, api.TokenRequest{Name: "ours", Scope: access.Write, Prefix: "ours-"}).Bearer
	whole := func(id string) string {
		return `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}` + "\n"
	}
	ofParent := func(id string) string {
		return strings.Replace(whole(id), `"cwd"`, `"parentSession":"other-000001","cwd"`, 1)
	}
	const jsonType, lineType = "application/json", "application/x-ndjson"
	attempts := []struct{ what, method, path, kind, body string }{
		{"make one of ours", "POST", "/v1/sessions", jsonType, `{"id":"ours-000002"}`},
		{"make another", "POST", "/v1/sessions", jsonType, `{"id":"other-000002"}`},
		{"make one that exists", "POST", "/v1/sessions", jsonType, `{"id":"other-000001"}`},
		{"make one without an id", "POST", "/v1/sessions", jsonType, `{}`},
		{"make one of ours from another", "POST", "/v1/sessions", jsonType, `{"id":"ours-000003","parents":[{"session":"other-000001"}]}`},
		{"make a whole one of ours", "POST", "/v1/sessions", lineType, whole("ours-000004")},
		{"make a whole other one", "POST", "/v1/sessions", lineType, whole("other-000004")},
		{"import one of ours", "POST", "/v1/import", lineType, whole("ours-000005")},
		{"import another", "POST", "/v1/import", lineType, whole("other-000005")},
		{"import into another", "POST", "/v1/import", lineType, whole("other-000001")},
		{"make one of ours, child of another", "POST", "/v1/sessions", jsonType, `{"id":"ours-000010","parent":"other-000001"}`},
		{"make a sub-agent of another", "POST", "/v1/sessions", jsonType, `{"id":"ours-000011","dialect":"codex","parent":"subagent:other-000001"}`},
		{"make a whole one, fork of another", "POST", "/v1/sessions", lineType, ofParent("ours-000012")},
		{"import one, fork of another", "POST", "/v1/import", lineType, ofParent("ours-000013")},
		{"fork ours as ours", "POST", "/v1/sessions/ours-000001/fork", jsonType, `{"id":"ours-000006","whole":true}`},
		{"fork ours as another", "POST", "/v1/sessions/ours-000001/fork", jsonType, `{"id":"other-000006","whole":true}`},
		{"fork ours without an id", "POST", "/v1/sessions/ours-000001/fork", jsonType, `{"whole":true}`},
		{"fork another as ours", "POST", "/v1/sessions/other-000001/fork", jsonType, `{"id":"ours-000007","whole":true}`},
		{"merge another into ours", "POST", "/v1/sessions/ours-000001/merge", jsonType, `{"with":"other-000001","id":"ours-000008"}`},
		{"merge ours without an id", "POST", "/v1/sessions/ours-000001/merge", jsonType, `{"with":"ours-000001"}`},
		{"list", "GET", "/v1/sessions", "", ""},
		{"list by the other's id", "GET", "/v1/sessions?prefix=other", "", ""},
		{"list behind the other", "GET", "/v1/sessions?after=other-000001", "", ""},
		{"list the trash", "GET", "/v1/sessions?deleted=true", "", ""},
		{"search", "GET", "/v1/search?q=needle", "", ""},
		{"search in ours", "GET", "/v1/search?q=needle&session=ours-000001", "", ""},
		{"search in the other", "GET", "/v1/search?q=needle&session=other-000001", "", ""},
		{"prompts of all", "GET", "/v1/prompts?q=needle", "", ""},
		{"prompts of ours", "GET", "/v1/prompts?q=needle&session=ours-000001", "", ""},
		{"prompts of the other", "GET", "/v1/prompts?q=needle&session=other-000001", "", ""},
		{"a session's path that is escaped", "GET", "/v1/sessions/%6fther-000001", "", ""},
	}
	var b strings.Builder
	for _, a := range attempts {
		res, body := n.request(t, a.method, a.path, a.body, "Authorization", "Bearer "+bearer, "Content-Type", a.kind)
		tells := ""
		if res.StatusCode < 300 && strings.Contains(body, "other-") {
			t.Errorf("%s: the answer reveals the other session: %s", a.what, body)
		}
		if n := strings.Count(body, "ours-00000"); a.method == "GET" && n > 0 && res.StatusCode < 300 {
			tells = " ours"
		}
		fmt.Fprintf(&b, "%-34s %d%s\n", a.what, res.StatusCode, tells)
	}
	golden(t, "testdata/prefix.golden", b.String())
}

func TestRestrictedTokenSeesNoOtherChanges(t *testing.T) {
	t.Parallel()
	n := startNode(t, withTokens)
	c := &client.Client{Base: n.Base, Token: n.create(t, api.TokenRequest{Name: "ours", Scope: access.Read, Prefix: "ours-"}).Bearer}
	list, err := c.List(t.Context(), catalog.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"other-000001", "ours-000001", "other-000002", "ours-000002"} {
		if _, err := n.Create(t.Context(), api.Create{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	told := map[string]bool{}
	err = c.Changes(t.Context(), catalog.Filter{}, list.Mark, func(ch api.RowChange) error {
		told[string(ch.ID)] = true
		if told["ours-000001"] && told["ours-000002"] {
			return errEnough
		}
		return nil
	})
	if got := slices.Sorted(maps.Keys(told)); err != errEnough || len(got) != 2 {
		t.Errorf("received %v, %v", got, err)
	}
}

func TestRestrictedTokenCannotAnnounceOtherProcesses(t *testing.T) {
	t.Parallel()
	n := startWhole(t)
	ours := "Bearer " + n.create(t, api.TokenRequest{Name: "ours", Scope: access.Write, Prefix: "ours-"}).Bearer
	put := func(who, process, session string) int {
		res, _ := n.request(t, "PUT", "/v1/presence/"+process, `{"agent":"a","holds":[{"session":"`+session+`","head":"main","writer":"writer-1"}]}`, "Authorization", who)
		return res.StatusCode
	}
	const first = "Bearer the-bootstrap-token"
	if a, b := put(first, "process-theirs", "other-000001"), put(ours, "process-ours", "ours-000001"); a != 204 || b != 204 {
		t.Fatalf("heartbeats: %d, %d", a, b)
	}
	if got := put(ours, "process-theirs", "ours-000001"); got != 403 {
		t.Errorf("a heartbeat of another caller's process: %d", got)
	}
	for process, want := range map[string]int{"process-theirs": 403, "process-ours": 204, "process-absent": 204} {
		if res, body := n.request(t, "DELETE", "/v1/presence/"+process, "", "Authorization", ours); res.StatusCode != want {
			t.Errorf("the end of %s: %d %s, want %d", process, res.StatusCode, body, want)
		}
	}
}
