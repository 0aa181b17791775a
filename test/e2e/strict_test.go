//go:build unix

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A leader whose peers hang still believes for a while that it leads, and answers
// plain reads. It answers strict reads only with a quorum.
func TestStrictReadNeedsAQuorum(t *testing.T) {
	t.Parallel()
	nodes := harness.StartCluster(t, 3, harness.StartBucket(t))
	ctx := harness.Timeout(t)
	const id = "strict-session"
	first := nodes[0].Client()
	if _, err := first.Create(ctx, api.Create{ID: id, CWD: "/w"}); err != nil {
		t.Fatal(err)
	}
	var last core.Cursor
	for i := range 5 {
		done, err := nodes[i%3].Client().Append(ctx, id, fmt.Appendf(nil, `{"type":"message","id":"m%d","message":{"role":"user","content":"hi"}}`, i), client.AppendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last = done.Cursor
		for _, n := range nodes {
			info, err := n.Client().WithReadOptions(api.ReadOptions{Strict: true}).Info(ctx, id)
			if err != nil || info.Log.Cursor != last {
				t.Fatalf("a strict read after %s: %s, %v", last, info.Log.Cursor, err)
			}
		}
	}

	leader := leaderOf(t, ctx, nodes, id)
	for i, n := range nodes {
		if i != leader {
			n.Pause()
			t.Cleanup(n.Continue)
		}
	}
	t.Logf("a plain read of the remaining node: %s", readWithin(t, ctx, nodes[leader], id, ""))
	if status := readWithin(t, ctx, nodes[leader], id, "strict=true"); status != "503 Service Unavailable" {
		t.Errorf("a strict read without a quorum: %s", status)
	}

	for i, n := range nodes {
		if i != leader {
			n.Continue()
		}
	}
	for {
		info, err := nodes[leader].Client().WithReadOptions(api.ReadOptions{Strict: true, Seen: last}).Info(ctx, id)
		if err == nil {
			if info.Log.Cursor != last {
				t.Errorf("after the pause the session is at %s, was at %s", info.Log.Cursor, last)
			}
			return
		}
		if !errors.Is(err, core.ErrUnavailable) || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// readWithin returns the status of a read of which the node knows that its caller waits
// for three seconds. The caller waits longer, for a slow machine.
func readWithin(t *testing.T, ctx context.Context, n *harness.Node, id, query string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.URL+"/v1/sessions/"+id+"?"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(api.HeaderPrefer, "wait=3")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.Status
}

// leaderOf returns the node that leads the session's shard.
func leaderOf(t *testing.T, ctx context.Context, nodes []*harness.Node, id string) int {
	t.Helper()
	st, err := nodes[0].Client().Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, sh := range st.Shards {
		if sh.Sessions == 0 {
			continue
		}
		for i, n := range nodes {
			own, err := n.Client().Status(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if own.Node == sh.Leader {
				return i
			}
		}
	}
	t.Fatalf("no node leads the shard of %s: %+v", id, st.Shards)
	return 0
}
