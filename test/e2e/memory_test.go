//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// pressure is what callers do to a node at once.
type pressure struct {
	limit     int64 // of the process
	sessions  int   // with one large line each
	line      int   // bytes of a large line
	readers   int   // of all sessions, by all kinds of reads
	rounds    int   // reads of each reader
	writers   int   // of one large line each
	followers int   // that do not read
}

// reads are the kinds of reads: their paths, and whether the answer has all lines.
var reads = []struct {
	path  string
	whole bool
}{
	{"/v1/sessions/%s/export", true},
	{"/v1/sessions/%s/entries", true},
	{"/v1/sessions/%s/context", true},
	{"/v1/sessions/%s/state", true},
	{"/v1/sessions/%s/file", true},
	{"/v1/sessions/%s/export?as=omp", true},
	{"/v1/sessions/%s/usage", false},
	{"/v1/sessions/%s/entries?at=2", true},
	{"/v1/sessions/%s/heads", false},
}

// Whatever callers have a node hold, it stays below the memory limit of its process,
// everybody is served in the end, and small requests of others are, too.
func TestMemoryStaysBelowLimit(t *testing.T) {
	p := pressure{limit: 256 << 20, sessions: 3, line: 6 << 20, readers: 9, rounds: 1, writers: 2, followers: 100}
	if *long {
		p = pressure{limit: 2 << 30, sessions: 13, line: 60 << 20, readers: 64, rounds: 2, writers: 16, followers: 1000}
	} else {
		t.Parallel()
	}
	n := harness.NewNode(t)
	inContainer := *long && limitContainer(t, n, p.limit)
	if !inContainer {
		n.Env = append(n.Env, fmt.Sprintf("GOMEMLIMIT=%d", p.limit/10*9))
	}
	n.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*harness.WaitTimeout)
	defer cancel()
	c := n.Client()
	t.Logf("memory at the start: %d MiB", memoryOf(t, n.Pid(), "VmHWM")>>20)
	for i := range p.sessions {
		storeLarge(t, ctx, n.URL, fmt.Sprintf("large-session-%d", i), p.line)
	}
	t.Logf("peak after %d large sessions: %d MiB", p.sessions, memoryOf(t, n.Pid(), "VmHWM")>>20)
	newSession(t, ctx, c, "small-session")
	for i := range p.followers {
		stuckFollower(t, ctx, n.URL, fmt.Sprintf("large-session-%d", i%p.sessions), 100)
	}
	t.Logf("peak with %d followers that do not read: %d MiB", p.followers, memoryOf(t, n.Pid(), "VmHWM")>>20)

	var busy, done sync.WaitGroup
	var refused atomic.Int64
	for i := range p.readers {
		busy.Go(func() {
			for round := range p.rounds {
				of := reads[(i+round)%len(reads)]
				atLeast := 0
				if of.whole {
					atLeast = p.line
				}
				url := n.URL + fmt.Sprintf(of.path, fmt.Sprintf("large-session-%d", (i+round)%p.sessions))
				refused.Add(untilServed(t, ctx, http.MethodGet, url, nil, atLeast))
			}
		})
	}
	for i := range p.writers {
		busy.Go(func() {
			id := fmt.Sprintf("written-session-%d", i)
			newSession(t, ctx, c, id)
			refused.Add(untilServed(t, ctx, http.MethodPost, n.URL+"/v1/sessions/"+id+"/entries", largeLine(id, p.line), 0))
		})
	}
	stop := make(chan struct{})
	var took []time.Duration
	done.Go(func() { took = smallRequests(t, ctx, c, stop) })
	busy.Wait()
	close(stop)
	done.Wait()
	slices.Sort(took)
	// Pages of the program's file are not counted: the kernel takes them back when memory is short.
	peak := memoryOf(t, n.Pid(), "VmHWM") - memoryOf(t, n.Pid(), "RssFile")
	t.Logf("peak %d of %d MiB (container %v), %d requests refused at first; %d small requests: median %v, p99 %v, most %v", peak>>20, p.limit>>20,
		inContainer, refused.Load(), len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	if peak > p.limit {
		t.Errorf("the node took %d MiB, the limit is %d", peak>>20, p.limit>>20)
	}
}

func newSession(t *testing.T, ctx context.Context, c *client.Client, id string) {
	t.Helper()
	_, err := c.Create(ctx, api.Create{ID: id, Dialect: "pi"})
	if err != nil {
		t.Error(err)
	}
}

// largeLine returns an entry of about size bytes that does not compress well.
func largeLine(id string, size int) []byte {
	noise := make([]byte, size/2)
	r := rand.NewChaCha8([32]byte([]byte(fmt.Sprintf("%-32.32s", id))))
	_, _ = r.Read(noise)
	return fmt.Appendf(nil, `{"type":"message","id":"e1","message":{"role":"user","content":"%s"}}`+"\n", hex.EncodeToString(noise))
}

func storeLarge(t *testing.T, ctx context.Context, base, id string, size int) {
	t.Helper()
	body := fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}`+"\n", id)
	untilServed(t, ctx, http.MethodPost, base+"/v1/import", append([]byte(body), largeLine(id, size)...), 0)
}

// untilServed repeats a request that a busy node refuses, and returns how often that
// was. The answer has at least so many bytes.
func untilServed(t *testing.T, ctx context.Context, method, url string, body []byte, atLeast int) (refused int64) {
	for ; ; refused++ {
		r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return refused
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Errorf("%s %s: %v", method, url, err)
			return refused
		}
		got, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		switch {
		case resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
			time.Sleep(100 * time.Millisecond)
			continue
		case err != nil || resp.StatusCode/100 != 2 || got < int64(atLeast):
			t.Errorf("%s %s: %s, %d bytes, %v", method, url, resp.Status, got, err)
		}
		return refused
	}
}

// smallRequests appends to and reads a small session until stop is closed.
func smallRequests(t *testing.T, ctx context.Context, c *client.Client, stop chan struct{}) (took []time.Duration) {
	for i := 0; ; i++ {
		began := time.Now()
		if _, err := c.Append(ctx, "small-session", noisy(fmt.Sprint("s", i), 100), client.AppendOptions{}); err != nil {
			t.Errorf("a small append: %v", err)
		}
		took = append(took, time.Since(began))
		began = time.Now()
		if _, err := c.Info(ctx, "small-session"); err != nil {
			t.Errorf("a small read: %v", err)
		}
		took = append(took, time.Since(began))
		select {
		case <-stop:
			return took
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// limitContainer makes the node run in a control group with a memory limit, and
// reports whether this host allows that.
func limitContainer(t *testing.T, n *harness.Node, limit int64) bool {
	dir := filepath.Join("/sys/fs/cgroup/memory", "sesslog-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Logf("no control groups: %v", err)
		return false
	}
	t.Cleanup(func() {
		harness.Await(t, "remove the control group", func() error { n.Kill(); return os.Remove(dir) })
	})
	if err := os.WriteFile(filepath.Join(dir, "memory.limit_in_bytes"), []byte(strconv.FormatInt(limit, 10)), 0o644); err != nil {
		t.Log(err)
		return false
	}
	n.Via = []string{"sh", "-c", "echo $$ > " + dir + `/cgroup.procs; exec "$@"`, "sh"}
	t.Cleanup(func() {
		b, err := os.ReadFile(filepath.Join(dir, "memory.failcnt"))
		t.Logf("the container was at its limit %s times (page cache counts), %v", strings.TrimSpace(string(b)), err)
	})
	return true
}
