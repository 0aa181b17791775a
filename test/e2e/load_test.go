//go:build linux

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// memoryOf returns a field of /proc/PID/status in bytes: VmRSS, or VmHWM for the peak.
func memoryOf(t testing.TB, pid int, field string) int64 {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), field+":"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("no %s", field)
	return 0
}

// longTimeout bounds a test of many calls, any of which may wait on a busy machine.
func longTimeout(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 4*harness.WaitTimeout)
	t.Cleanup(cancel)
	return ctx
}

// With many more clients than a node serves at once, each request is either stored
// once or refused and not stored. If a connection breaks before the answer, the client
// reports an unknown outcome.
func TestOverloadStoresOrRefuses(t *testing.T) {
	t.Parallel()
	n := harness.StartNode(t)
	ctx := longTimeout(t)
	c := n.Client()
	ids := []string{"load-session-1", "load-session-2"}
	for _, id := range ids {
		if _, err := c.Create(ctx, api.Create{ID: id, CWD: "/w"}); err != nil {
			t.Fatal(err)
		}
	}
	const clients = 1200
	before := memoryOf(t, n.Pid(), "VmRSS")
	var mu sync.Mutex
	stored, refused, unknown := map[string]bool{}, map[string]bool{}, map[string]bool{}
	round := func(r, clients int) {
		var wg sync.WaitGroup
		defer wg.Wait()
		for k := range clients {
			wg.Go(func() {
				for i := range often(1) {
					name := fmt.Sprintf("e%d-%d-%d", r, k, i)
					_, err := c.Append(ctx, ids[k%len(ids)], noisy(name, 30<<10), client.AppendOptions{})
					mu.Lock()
					switch {
					case err == nil:
						stored[name] = true
					case errors.Is(err, core.ErrUnavailable):
						refused[name] = true
					case errors.Is(err, core.ErrUncertain):
						unknown[name] = true
					default:
						t.Errorf("%s: %v", name, err)
					}
					mu.Unlock()
				}
			})
		}
	}
	release := occupy(t, ctx, n.URL, ids[0])
	round(0, 20)
	if len(refused) == 0 {
		t.Errorf("a node without a free place refused none of 20 appends")
	}
	release()
	round(1, clients)
	peak := memoryOf(t, n.Pid(), "VmHWM")
	t.Logf("%d stored, %d refused, %d unknown; memory %d MiB before, %d MiB at most", len(stored), len(refused), len(unknown), before>>20, peak>>20)
	if len(stored) == 0 {
		t.Error("no append was stored")
	}
	for _, id := range ids {
		r, err := c.Entries(ctx, id, false, client.View{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		_ = r.Close()
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			name, _, _ := strings.Cut(string(line[bytes.Index(line, []byte(`"id":"`))+6:]), `"`)
			if refused[name] {
				t.Errorf("%s was refused but is stored", name)
			}
			if !stored[name] && !unknown[name] {
				t.Errorf("%s is stored twice, or was never sent", name)
			}
			delete(stored, name)
			delete(unknown, name)
		}
	}
	for name := range stored {
		t.Errorf("%s was acknowledged but is not stored", name)
	}
	if more := peak - before; more > 1<<30 {
		t.Errorf("%d clients took %d MiB", clients, more>>20)
	}
	for { // a request whose connection broke may still be served
		st, err := c.Status(ctx)
		if err != nil {
			t.Fatalf("after the load: %+v, %v", st.Bounds, err)
		}
		if st.Bounds["requests"].Used == 1 && st.Bounds["appends"].Used == 0 && st.Bounds["smallBytes"].Used == 0 && st.Bounds["followerBytes"].Used == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// occupy holds requests of a session whose bodies do not come, until the node refuses
// more of this host.
func occupy(t *testing.T, ctx context.Context, base, id string) (release func()) {
	t.Helper()
	var mu sync.Mutex
	var held []net.Conn
	var full atomic.Bool
	var g errgroup.Group
	for range 32 {
		g.Go(func() error {
			for !full.Load() {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(base, "http://"))
				if err != nil {
					return err
				}
				mu.Lock()
				held = append(held, conn)
				mu.Unlock()
				fmt.Fprintf(conn, "POST /v1/sessions/%s/entries HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n", id)
				status, err := bufio.NewReader(conn).ReadString('\n')
				if err != nil {
					return err
				}
				if !strings.HasPrefix(status, "HTTP/1.1 100 ") { // it waits for the body
					full.Store(true)
				}
			}
			return nil
		})
	}
	err := g.Wait()
	release = func() {
		for _, conn := range held {
			_ = conn.Close()
		}
	}
	t.Cleanup(release)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

// Followers that do not read cost a node one copy of the record they wait at, and do
// not slow down writers.
func TestStuckFollowersShareOneRecord(t *testing.T) {
	t.Parallel()
	n := harness.StartNode(t)
	ctx := longTimeout(t)
	c := n.Client()
	var file bytes.Buffer
	file.WriteString(`{"type":"session","version":3,"id":"stuck-session","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}` + "\n")
	parent := "null"
	for i := 0; file.Len() < 32<<20; i++ {
		fmt.Fprintf(&file, `{"type":"message","id":"m%d","parentId":%s,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":%q}}`+"\n",
			i, parent, strings.Repeat("some words that fill a line ", 700))
		parent = fmt.Sprintf("%q", fmt.Sprint("m", i))
	}
	if _, err := c.Import(ctx, bytes.NewReader(file.Bytes()), int64(file.Len()), client.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	before := memoryOf(t, n.Pid(), "VmRSS")
	const followers = 40
	for range followers {
		stuckFollower(t, ctx, c.Base, "stuck-session", 400)
	}
	for { // until all of them wait at the record
		st, err := c.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if st.Bounds["followers"].Used == followers {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for i := range often(20) {
		if _, err := c.Append(ctx, "stuck-session", fmt.Appendf(nil, `{"type":"message","id":"after%d","message":{"role":"user","content":"hi"}}`, i), client.AppendOptions{}); err != nil {
			t.Fatalf("an append beside followers that do not read: %v", err)
		}
	}
	most := memoryOf(t, n.Pid(), "VmRSS")
	for range 30 {
		most = max(most, memoryOf(t, n.Pid(), "VmRSS"))
		time.Sleep(50 * time.Millisecond)
	}
	st, err := c.Status(ctx)
	if err != nil || st.Bounds["followers"].Used != followers {
		t.Fatalf("%+v, %v", st.Bounds, err)
	}
	t.Logf("%d followers: memory %d MiB before, %d MiB with them; %+v", followers, before>>20, most>>20, st.Bounds["followerBytes"])
	if more := most - before; more > 800<<20 {
		t.Errorf("%d followers of one record of 32 MiB took %d MiB", followers, more>>20)
	}
}

// stuckFollower requests a session's records and reads only the first bytes.
func stuckFollower(t *testing.T, ctx context.Context, base, id string, first int) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /v1/sessions/%s/events HTTP/1.1\r\nHost: localhost\r\n\r\n", id)
	if _, err := io.ReadFull(conn, make([]byte, first)); err != nil {
		t.Fatal(err)
	}
}
