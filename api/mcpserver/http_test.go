package mcpserver_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/mcpserver"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/internal/nodetest"
)

// bearing sends requests with a token.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// dial connects to a node's MCP server by HTTP.
func dial(t *testing.T, base, token string) (*mcp.ClientSession, error) {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "v1"}, nil)
	return c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: base + mcpserver.Path, HTTPClient: &http.Client{Transport: bearing(token)}, DisableStandaloneSSE: true,
	}, nil)
}

func TestHTTPCallersReadWithTheirOwnRights(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, nodetest.Config{Serve: func(c *server.Config) {
		c.Token = "the-bootstrap-token"
		c.Page = func(api http.Handler) http.Handler { return mcpserver.Handler(api, "v1", c.Memory) }
	}})
	for _, id := range []string{"port-one", "other-one"} {
		text := fmt.Sprintf(talk, id, "failed")
		if _, err := node.Import(t.Context(), strings.NewReader(text), int64(len(text)), client.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	issued, err := node.CreateToken(t.Context(), api.TokenRequest{Name: "ours", Scope: access.Read, Prefix: "port-"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, node.Base, "wrong"); err == nil {
		t.Error("a wrong token is accepted")
	}
	var session *mcp.ClientSession
	for session == nil { // until the node knows the token
		if session, err = dial(t, node.Base, issued.Bearer); t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	defer session.Close()
	for id, allowed := range map[string]bool{"port-one": true, "other-one": false} {
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_session", Arguments: map[string]any{"session": id}})
		if err != nil || got.IsError == allowed {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 4 {
		t.Errorf("tools %+v, %v", tools, err)
	}
	if session.InitializeResult().Capabilities.Resources.Subscribe {
		t.Error("the server offers subscriptions, which it does not have")
	}
}

func TestHTTPServerRefusesPagesOfOtherOrigins(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, nodetest.Config{Serve: func(c *server.Config) {
		c.Page = func(api http.Handler) http.Handler { return mcpserver.Handler(api, "v1", c.Memory) }
	}})
	for _, header := range [][2]string{{"Origin", "https://example.com"}, {"Sec-Fetch-Site", "cross-site"}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, node.Base+mcpserver.Path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(header[0], header[1])
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%v: %s", header, res.Status)
		}
	}
}

// Requests that arrive slowly delay no other.
func TestHTTPSlowSendersDelayNoOther(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, nodetest.Config{Serve: func(c *server.Config) {
		c.Page = func(api http.Handler) http.Handler { return mcpserver.Handler(api, "v1", c.Memory) }
	}})
	for range 100 {
		var d net.Dialer
		conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(node.Base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
	}
	session, err := dial(t, node.Base, "")
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for range 20 { // while these arrive
		if _, err := session.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}
