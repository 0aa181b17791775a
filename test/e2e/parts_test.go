package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A valve is a proxy of a node that counts the bytes of requests.
type valve struct {
	url, to string
	ln      net.Listener
	mu      sync.Mutex
	passed  int64
	marks   []mark
}

// A mark is a number of bytes, and a channel that is closed when they have passed.
type mark struct {
	at   int64
	met  chan struct{}
	shut bool // then the valve closes and accepts no connections
}

func startValve(t *testing.T, n *harness.Node, marks ...mark) *valve {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v := &valve{url: "http://" + ln.Addr().String(), to: strings.TrimPrefix(n.URL, "http://"), ln: ln, marks: marks}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go v.pass(conn)
		}
	}()
	return v
}

func (v *valve) pass(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", v.to)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(from, to)
		_, _ = from.Close(), to.Close()
	}()
	_, _ = io.Copy(counter{v, to}, from)
}

// A counter writes to the node and counts.
type counter struct {
	v  *valve
	to io.Writer
}

func (c counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.v.mu.Lock()
	defer c.v.mu.Unlock()
	c.v.passed += int64(n)
	for len(c.v.marks) > 0 && c.v.passed >= c.v.marks[0].at {
		m := c.v.marks[0]
		c.v.marks = c.v.marks[1:]
		close(m.met)
		if m.shut {
			_ = c.v.ln.Close()
			return n, io.ErrClosedPipe
		}
	}
	return n, err
}

// TestLargeImportResumesAfterKills kills sessctl and the node in the middle of an
// import, imports the file again, and kills the node again.
func TestLargeImportResumesAfterKills(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	n := harness.StartNode(t)
	h := harness.NewHost(t, n)
	file := h.Path("large.jsonl")
	text := largeFile(14 * mib)
	testkit.WriteFile(t, file, text)

	// Each part is 1 MiB, and is sent once the one before was stored.
	half := make(chan struct{})
	h.URL = startValve(t, n, mark{9 * mib, half, true}).url
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	cmd := h.Command(ctx, t, "import", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-half
	kill() // sends SIGKILL
	_ = cmd.Wait()
	n.Kill()
	n.Start(t)
	if _, err := n.Client().Info(harness.Timeout(t), "large-session"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("after half of the file the session is there: %v", err)
	}

	most := make(chan struct{})
	second := startValve(t, n, mark{3 * mib, most, false})
	h.URL = second.url
	done := make(chan harness.Result, 1)
	go func() { done <- h.Sessctl(t, "import", file) }()
	<-most
	n.Kill()
	n.Start(t)
	if r := <-done; r.Code != 0 || !strings.Contains(r.Out, "large-session") {
		t.Fatalf("import: %s", r)
	}
	second.mu.Lock()
	if sent, left := second.passed, int64(len(text))-8*mib; sent > left+6*mib { // a part may be sent twice, and a starting node refuses some
		t.Errorf("%d bytes were sent the second time, %d were missing", sent, left)
	}
	second.mu.Unlock()
	h.URL = n.URL
	if got := h.Do(t, "export", "large-session"); got != string(text) {
		t.Errorf("the log has another file, of %d bytes", len(got))
	}
}

// TestLargeImportContinuesOnAnotherNode kills the node that has received half of a
// file. The other node has the same store, so it needs only the rest.
func TestLargeImportContinuesOnAnotherNode(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	ns := startNATS(t)
	args := append(harness.StartBucket(t).Args(), "--nats-url", ns.ClientURL())
	nodes := []*harness.Node{harness.NewNode(t, append(args, "--node", "a")...), harness.NewNode(t, append(args, "--node", "b")...)}
	harness.StartAll(t, nodes)
	h := harness.NewHost(t, nodes[0])
	file := h.Path("large.jsonl")
	text := largeFile(14 * mib)
	testkit.WriteFile(t, file, text)

	half := make(chan struct{})
	rest := startValve(t, nodes[1])
	h.URL = startValve(t, nodes[0], mark{9 * mib, half, true}).url + "," + rest.url
	done := make(chan harness.Result, 1)
	go func() { done <- h.Sessctl(t, "import", file) }()
	<-half
	nodes[0].Kill() // sends SIGKILL
	r := <-done
	if r.Code != 0 || !strings.Contains(r.Out, "large-session") {
		t.Fatalf("import: %s", r)
	}
	rest.mu.Lock()
	if sent, left := rest.passed, int64(len(text))-8*mib; sent > left+2*mib {
		t.Errorf("the other node was sent %d bytes, %d were missing", sent, left)
	}
	rest.mu.Unlock()
	h.URL = nodes[1].URL
	if got := h.Do(t, "export", "large-session"); got != string(text) {
		t.Errorf("the log has another file, of %d bytes", len(got))
	}
}

// largeFile returns a pi session of size bytes, or a little more.
func largeFile(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"type":"session","version":3,"id":"large-session","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}` + "\n")
	parent := "null"
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":%q,"timestamp":1}}`+"\n",
			i, parent, strings.Repeat("words ", 10_000))
		parent = fmt.Sprintf(`"%08x"`, i)
	}
	return b.Bytes()
}
