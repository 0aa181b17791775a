package server_test

import (
	"context"
	"errors"
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
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/nodetest"
)

// slowly opens 1,000 connections that send a request and read nothing of its answer.
func (n *node) slowly(t *testing.T, request string) {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(50)
	for range 1000 {
		g.Go(func() error {
			var d net.Dialer
			conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(n.Base, "http://"))
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = conn.Close() })
			_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			_, err = conn.Write([]byte(request))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// timed logs how long calls of others take, and fails the test if one of them fails.
func timed(t *testing.T, what string, rounds int, calls ...func(i int) error) {
	t.Helper()
	var took []time.Duration
	for i := range rounds {
		for _, call := range calls {
			begin := time.Now()
			if err := call(i); err != nil {
				t.Fatalf("%s: call %d of another token: %v", what, i, err)
			}
			took = append(took, time.Since(begin))
		}
	}
	slices.Sort(took)
	t.Logf("%s: calls of another token and of the operator: p50 %v, p99 %v", what, took[len(took)/2], took[len(took)*99/100])
}

// 1,000 connections with one token that send slowly, or do not read, leave half of the
// node to the others, whatever they ask for.
func TestSlowCallersLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	n := startNodeOf(t, nodetest.Config{Level: slog.LevelError}, withTokens) // every refusal is a warning
	for _, id := range []string{"ours-000001", "ours-000002", "other-000001"} {
		if _, err := n.Create(t.Context(), api.Create{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	large := message("large", "", strings.Repeat("noise ", 1<<20)) // more than the buffers of a connection
	if _, err := n.Append(t.Context(), "ours-000001", []byte(large), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	others := client.Client{Base: n.Base, Token: n.create(t, api.TokenRequest{Name: "other", Scope: access.Write}).Bearer}
	bearer := n.create(t, api.TokenRequest{Name: "slow", Scope: access.Write, Prefix: "ours-"}).Bearer
	for _, slow := range []struct{ what, bound, request string }{
		{"senders", "requests", "POST /v1/sessions/ours-000001/entries HTTP/1.1\r\nContent-Length: 1000\r\n%s\r\n{"},
		{"senders of dry runs", "dry", "POST /v1/dry-run/sessions/ours-000001/entries HTTP/1.1\r\nContent-Length: 1000\r\n%s\r\n{"},
		{"readers of files", "requests", "GET /v1/sessions/ours-000001/export HTTP/1.1\r\n%s\r\n"},
		{"readers of contexts", "heavy", "GET /v1/sessions/ours-000001/context HTTP/1.1\r\n%s\r\n"},
		{"followers of several", "feeds", "GET /v1/events HTTP/1.1\r\n%s\r\n"},
		{"followers", "followers", "GET /v1/sessions/ours-000002/events HTTP/1.1\r\n%s\r\n"},
	} {
		t.Run(slow.what, func(t *testing.T) {
			n.slowly(t, fmt.Sprintf(slow.request, "Host: localhost\r\nAuthorization: Bearer "+bearer+"\r\n"))
			n.awaitBound(t, slow.bound, func(b api.Bound) bool { return b.Used >= b.Limit*45/100 })
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			timed(t, slow.what, 20, func(i int) error {
				_, err := others.Append(ctx, "other-000001", []byte(message(fmt.Sprintf("%s %d", slow.what, i), "", "text")), client.AppendOptions{})
				return err
			}, func(i int) error {
				_, err := others.DryRun().Append(ctx, "other-000001", []byte(message(fmt.Sprintf("dry %d", i), "", "text")), client.AppendOptions{})
				return err
			}, func(int) error {
				_, err := others.Context(ctx, "other-000001", client.View{})
				return err
			}, func(int) error {
				return others.Follow(ctx, "other-000001", core.Cursor{}, false, func(api.Event) error { return nil })
			}, func(int) error {
				err := others.FollowMany(ctx, client.FeedOptions{Sessions: []string{"other-000001"}}, func(client.FeedEvent) error { return errEnough })
				if errors.Is(err, errEnough) {
					return nil
				}
				return err
			}, func(int) error {
				_, err := n.Status(ctx)
				return err
			})
			if res, body := n.request(t, "GET", "/readyz", ""); res.StatusCode != http.StatusOK {
				t.Errorf("readyz with room: %s", body)
			}
			b := n.awaitBound(t, slow.bound, func(api.Bound) bool { return true })
			if b.Used > b.Limit/2+2 {
				t.Errorf("one token has %d of %d", b.Used, b.Limit)
			}
		})
		if slow.bound != "followers" { // the last
			n.awaitBound(t, slow.bound, func(b api.Bound) bool { return b.Used <= 2 })
		}
	}
}

// awaitBound waits until a bound of the node is as wanted, and returns it.
func (n *node) awaitBound(t *testing.T, name string, is func(api.Bound) bool) api.Bound {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		s, err := n.Status(ctx)
		if err != nil {
			t.Fatalf("status, as admin: %v", err)
		}
		if b := s.Bounds[name]; is(b) {
			return b
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the bound %s is %+v", name, s.Bounds[name])
		}
	}
}
