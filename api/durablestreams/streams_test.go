package durablestreams_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/durablestreams"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/internal/nodetest"
)

type node struct{ *nodetest.Node }

func start(t *testing.T, cfg nodetest.Config, opts ...func(*server.Config)) node {
	t.Helper()
	cfg.Serve = func(c *server.Config) {
		c.StreamPoll = 10 * time.Second
		for _, o := range opts {
			o(c)
		}
	}
	return node{nodetest.Start(t, cfg)}
}

// do sends a request for a stream and returns the answer with its body.
func (n node) do(t *testing.T, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, n.Base+durablestreams.Prefix+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if n.Token != "" && req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer "+n.Token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

// want is do that fails the test unless the answer has that status.
func (n node) want(t *testing.T, status int, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	res, got := n.do(t, method, path, body, header...)
	if res.StatusCode != status {
		t.Fatalf("%s %s: %s %s, want %d", method, path, res.Status, got, status)
	}
	return res, got
}

var plain = []string{"Content-Type", "text/plain"}

func producer(id string, epoch, seq int) []string {
	return append(plain[:2:2], "Producer-Id", id, "Producer-Epoch", fmt.Sprint(epoch), "Producer-Seq", fmt.Sprint(seq))
}

func TestStreamIsASession(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{})
	n.want(t, 201, "PUT", "team/notes", "hello ", plain...)
	n.want(t, 204, "POST", "team/notes", "wonderful world", plain...)
	if _, got := n.want(t, 200, "GET", "team/notes", ""); got != "hello wonderful world" {
		t.Errorf("the stream has %q", got)
	}
	info, err := n.Info(t.Context(), "ds-team__notes")
	if err != nil || info.Log.Dialect != "bytestream" || *info.Name != "team/notes" || info.EntryCount != 2 {
		t.Errorf("the session is %+v, %v", info, err)
	}
	n.want(t, 204, "DELETE", "team/notes", "")
	n.want(t, 404, "GET", "team/notes", "")
	info, err = n.Info(t.Context(), "ds-team__notes")
	if err != nil || info.Log.Deleted == nil {
		t.Errorf("the session is not in the trash: %+v, %v", info.Log, err)
	}
	n.want(t, 201, "PUT", "team/notes", "new", plain...)
	if _, got := n.want(t, 200, "GET", "team/notes", ""); got != "new" {
		t.Errorf("the new stream has %q", got)
	}
}

// A reader at an offset notices that the stream is another one, and no cache takes them
// for the same.
func TestStreamsAtOnePathAreToldApart(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{})
	seen := map[string]bool{}
	for range 3 {
		n.want(t, 201, "PUT", "notes", "same", plain...)
		first, _ := n.want(t, 200, "GET", "notes", "")
		n.want(t, 204, "POST", "notes", "more", plain...)
		next, _ := n.want(t, 200, "GET", "notes?offset="+first.Header.Get("Stream-Next-Offset"), "")
		if next.Header.Get("Sess-Stream") != first.Header.Get("Sess-Stream") {
			t.Errorf("it was %q and is %q", first.Header.Get("Sess-Stream"), next.Header.Get("Sess-Stream"))
		}
		seen[first.Header.Get("Sess-Stream")] = true
		seen[first.Header.Get("ETag")] = true
		n.want(t, 204, "DELETE", "notes", "")
		if len(seen) == 4 { // the third has the id of the first
			_, err := n.Erase(t.Context(), "ds-notes", api.EraseRequest{Notice: api.Notice{Why: "test"}, Now: true})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(seen) != 6 {
		t.Errorf("three streams have the names and tags %v", seen)
	}
}

// Two nodes accept each sequence number of a producer once, whichever is asked.
func TestTwoNodesAcceptEachRequestOnce(t *testing.T) {
	t.Parallel()
	conn := nodetest.Connect(t)
	first := start(t, nodetest.Config{Conn: conn})
	nodes := []node{first, start(t, nodetest.Config{Conn: conn, Bucket: first.Bucket})}
	first.want(t, 201, "PUT", "shared", "", plain...)
	const requests = 20
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			for seq := range requests {
				res, body := n.do(t, "POST", "shared", fmt.Sprintf("%d,", seq), producer("p", 0, seq)...)
				if res.StatusCode != 200 && res.StatusCode != 204 {
					t.Errorf("node %d, request %d: %s %s", i, seq, res.Status, body)
				}
			}
		})
	}
	wg.Wait()
	var want strings.Builder
	for seq := range requests {
		fmt.Fprintf(&want, "%d,", seq)
	}
	for i, n := range nodes {
		if _, got := n.want(t, 200, "GET", "shared", ""); got != want.String() {
			t.Errorf("node %d has %q", i, got)
		}
	}
	nodes[1].want(t, 200, "POST", "shared", "x", producer("p", 1, 0)...)
	res, _ := nodes[0].want(t, 403, "POST", "shared", "y", producer("p", 0, requests)...)
	if got := res.Header.Get("Producer-Epoch"); got != "1" {
		t.Errorf("the fenced producer hears of epoch %q", got)
	}
}

func TestConcurrentAppendsAreAllStored(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{})
	n.want(t, 201, "PUT", "busy", "", plain...)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if res, body := n.do(t, "POST", "busy", "x", plain...); res.StatusCode != 204 {
				t.Errorf("%s %s", res.Status, body)
			}
		})
	}
	wg.Wait()
	if _, got := n.want(t, 200, "GET", "busy", ""); got != strings.Repeat("x", 50) {
		t.Errorf("the stream has %q", got)
	}
}

func TestLongPollReturnsWhatAnotherNodeStored(t *testing.T) {
	t.Parallel()
	conn := nodetest.Connect(t)
	a := start(t, nodetest.Config{Conn: conn})
	b := start(t, nodetest.Config{Conn: conn, Bucket: a.Bucket})
	res, _ := a.want(t, 201, "PUT", "live", "old", plain...)
	offset := res.Header.Get("Stream-Next-Offset")
	done := make(chan string, 1)
	go func() {
		_, got := b.do(t, "GET", "live?live=long-poll&offset="+offset, "")
		done <- got
	}()
	a.want(t, 204, "POST", "live", "new", plain...)
	if got := <-done; got != "new" {
		t.Errorf("the reader got %q", got)
	}
}

func TestTokensReachTheirPrefixOnly(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{}, func(c *server.Config) { c.Token = "the-bootstrap-token" })
	bearer := n.writer(t, "ds-ours")
	ours := []string{"Content-Type", "text/plain", "Authorization", "Bearer " + bearer}
	n.want(t, 201, "PUT", "theirs", "secret", plain...)
	n.want(t, 201, "PUT", "ours/a", "x", ours...)
	for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "PUT"} {
		n.want(t, 403, method, "theirs", "x", ours...)
	}
	n.want(t, 403, "PUT", "ours/b", "", append(ours, "Stream-Forked-From", "/v1/stream/theirs")...)
	n.want(t, 401, "GET", "ours/a", "", "Authorization", "Bearer wrong")

	// A line that names a fork does not reveal whether the fork exists.
	c := &client.Client{Base: n.Base, Token: bearer}
	for name, fork := range map[string]string{"ours/exists": "theirs", "ours/absent": "absent"} {
		n.want(t, 201, "PUT", name, "x", ours...)
		line := bytestream.Line{Type: bytestream.TypeFork, ID: "ff01", Time: "2026-01-02T03:04:05.000Z", Fork: string(durablestreams.SessionID(fork, 1))}
		if _, err := c.Append(t.Context(), string(durablestreams.SessionID(name, 1)), line.Encode(), client.AppendOptions{}); err != nil {
			t.Fatal(err)
		}
		n.want(t, 204, "DELETE", name, "", ours...)
		n.want(t, 201, "PUT", name, "y", ours...)
	}
}

func TestAgentsSessionsAreNotStreams(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{})
	if _, err := n.Create(t.Context(), api.Create{ID: "ds-agent"}); err != nil {
		t.Fatal(err)
	}
	n.want(t, 409, "GET", "agent", "")
	n.want(t, 409, "PUT", "agent", "", plain...)
	n.want(t, 409, "POST", "agent", "x", plain...)
}

func TestReservedPathsAreNotStreams(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{})
	for _, method := range []string{"PUT", "POST", "GET", "HEAD", "DELETE"} {
		n.want(t, 404, method, "__ds/streams/a", "x", plain...)
	}
	n.want(t, 201, "PUT", "a/__ds/b", "", plain...)
}

func TestLargeBodiesAreRefusedWhole(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{}, func(c *server.Config) { c.MaxLine = 64 << 10 })
	n.want(t, 201, "PUT", "large", "", plain...)
	n.want(t, 413, "POST", "large", strings.Repeat("\x01", 63<<10), plain...)
	n.want(t, 413, "PUT", "larger", strings.Repeat("x", 65<<10), plain...)
	n.want(t, 404, "GET", "larger", "")
	if _, got := n.want(t, 200, "GET", "large", ""); got != "" {
		t.Errorf("the stream has %d bytes", len(got))
	}
}

func TestProtocolCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{}, func(c *server.Config) { c.StreamPoll = 0 })
	if _, body := n.want(t, 404, "PUT", "a", "", plain...); !strings.Contains(body, "streams.serve") {
		t.Errorf("the answer does not name the setting: %s", body)
	}
}

func TestBrowsersRunNothingOfAStream(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{})
	n.want(t, 201, "PUT", "page", "<script>alert(1)</script>", "Content-Type", "text/html")
	res, _ := n.want(t, 200, "GET", "page", "")
	if got := res.Header.Get("Content-Security-Policy"); !strings.Contains(got, "sandbox") {
		t.Errorf("the policy is %q", got)
	}
}
