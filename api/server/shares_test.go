package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/nodetest"
)

// trickle opens a connection and sends the beginning of an append.
func (n *node) trickle(ctx context.Context, bearer string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(n.Base, "http://"))
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "POST /v1/sessions/ours-000001/entries HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n{", bearer)
	return conn, err
}

// 1,000 slow senders with one token leave half of the node to the others.
func TestSlowSendersLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	n := startNodeOf(t, nodetest.Config{Level: slog.LevelError}, withTokens) // every refusal is a warning
	if _, err := n.Create(t.Context(), api.Create{ID: "ours-000001"}); err != nil {
		t.Fatal(err)
	}
	requests := func() api.Bound {
		t.Helper()
		s, err := n.Status(t.Context())
		if err != nil {
			t.Fatalf("status, as admin: %v", err)
		}
		return s.Bounds["requests"]
	}
	bearer := n.create(t, api.TokenRequest{Name: "slow", Scope: access.Write, Prefix: "ours-"}).Bearer
	var g errgroup.Group
	g.SetLimit(50)
	for range 1000 {
		g.Go(func() error {
			conn, err := n.trickle(t.Context(), bearer)
			if err == nil {
				t.Cleanup(func() { _ = conn.Close() })
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for requests().Refused == 0 {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the requests in hand are %+v", requests())
		}
	}
	if b := requests(); b.Used > b.Limit/2+1 {
		t.Errorf("one token has %d of %d requests", b.Used, b.Limit)
	}
	others := client.Client{Base: n.Base, Token: n.create(t, api.TokenRequest{Name: "other", Scope: access.Write}).Bearer}
	var took []time.Duration
	for i := range 100 {
		begin := time.Now()
		if _, err := others.Append(t.Context(), "ours-000001", []byte(message(fmt.Sprintf("a%07d", i), "", "text")), client.AppendOptions{}); err != nil {
			t.Fatalf("an append with another token: %v", err)
		}
		took = append(took, time.Since(begin))
		begin = time.Now()
		requests()
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	t.Logf("appends with another token, and calls of the operator: p50 %v, p99 %v", took[len(took)/2], took[len(took)*99/100])
	if res, body := n.request(t, "GET", "/readyz", ""); res.StatusCode != http.StatusOK {
		t.Errorf("readyz with room: %s", body)
	}
}
