package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
)

var cutSeed = flag.Uint64("cut-seed", 0, "where the proxy closes connections; 0 for a random seed")

// largeSession returns a session file of size bytes, or a little more.
func largeSession(id string, size int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":%q,"timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}`+"\n", id)
	parent := ""
	for i := 0; b.Len() < size; i++ {
		next := fmt.Sprintf("%08x", i+1)
		b.WriteString(message(next, parent, strings.Repeat("word ", 4000)) + "\n")
		parent = next
	}
	return []byte(b.String())
}

// A cutter is a proxy that closes each connection after a random number of bytes.
type cutter struct {
	url  string
	mu   sync.Mutex
	rng  *rand.Rand
	cuts int
}

func startCutter(t *testing.T, to string) *cutter {
	t.Helper()
	seed := *cutSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with -cut-seed %d", seed)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{url: "http://" + ln.Addr().String(), rng: rand.New(rand.NewPCG(seed, 1))}
	var open sync.WaitGroup
	t.Cleanup(func() { _ = ln.Close(); open.Wait() })
	open.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			open.Go(func() { c.pass(conn, strings.TrimPrefix(to, "http://")) })
		}
	})
	return c
}

func (c *cutter) pass(from net.Conn, to string) {
	defer from.Close()
	node, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer node.Close()
	c.mu.Lock()
	up, down := 1+c.rng.Int64N(2<<20), 1+c.rng.Int64N(4<<10)
	c.mu.Unlock()
	ended := make(chan bool, 2) // whether the byte limit was reached
	go func() { _, err := io.CopyN(node, from, up); ended <- err == nil }()
	go func() { _, err := io.CopyN(from, node, down); ended <- err == nil }()
	if <-ended {
		c.mu.Lock()
		c.cuts++
		c.mu.Unlock()
	}
	_, _ = from.Close(), node.Close()
	<-ended
}

func TestLargeImportSurvivesBrokenConnections(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	proxy := startCutter(t, n.Base)
	file := largeSession("large-one", 5<<20)
	c := &client.Client{Base: proxy.url, HTTP: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(c.HTTP.CloseIdleConnections)
	large := client.LargeBytes(file)
	var sent int64
	large.Sent = func(n int64) { sent += n }
	var done api.Imported
	err := firstAnswer(func() (err error) {
		done, err = c.ImportLarge(t.Context(), large, client.ImportOptions{By: "ada"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	proxy.mu.Lock()
	if proxy.cuts < 3 {
		t.Errorf("the connection was cut %d times", proxy.cuts)
	}
	proxy.mu.Unlock()
	body, err := n.Export(t.Context(), string(done.Session), false)
	if read(t, body, err) != string(file) {
		t.Error("the stored file differs")
	}
	if sent != int64(len(file)) {
		t.Errorf("%d bytes were reported, the file has %d", sent, len(file))
	}
	blob := []byte(strings.Repeat("pixels", 300_000))
	if err := firstAnswer(func() error { return c.PutLargeBlob(t.Context(), blob) }); err != nil {
		t.Fatal(err)
	}
	stored, err := n.Blob(t.Context(), core.DigestOf(blob))
	if read(t, stored, err) != string(blob) {
		t.Error("the stored blob differs")
	}
}

// firstAnswer repeats f until a node answers. The client leaves that retry to its
// caller.
func firstAnswer(f func() error) (err error) {
	for range 20 {
		if err = f(); !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrUncertain) {
			break
		}
	}
	return err
}

// partsOf returns the parts of b and the body that lists them.
func partsOf(b []byte, size int) (parts [][]byte, list string) {
	var in api.Parts
	for piece := range slices.Chunk(b, size) {
		part := append([]byte(api.PartMark), piece...)
		parts = append(parts, part)
		in.Parts = append(in.Parts, core.DigestOf(part))
	}
	out, _ := json.Marshal(in)
	return parts, string(out)
}

// importParts sends a raw request that imports parts.
func (n *node) importParts(t *testing.T, list string, header ...string) (status int, d api.Detail) {
	t.Helper()
	res, body := n.request(t, "POST", "/v1/import", list, append(header, "Content-Type", api.PartsType)...)
	_ = json.Unmarshal([]byte(body), &d)
	return res.StatusCode, d
}

func TestImportOfPartsIsAllOrNothing(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	file := largeSession("in-parts", 50_000)
	parts, list := partsOf(file, 20_000)
	for left := len(parts); left > 0; left-- {
		status, d := n.importParts(t, list)
		if status != 409 || d.Code != "missing-parts" || len(d.Missing) != left {
			t.Fatalf("with %d parts missing: %d %+v", left, status, d)
		}
		if _, err := n.Info(t.Context(), "in-parts"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("with %d parts missing the session exists: %v", left, err)
		}
		if err := n.PutBlob(t.Context(), parts[left-1]); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second import is a retry
		if status, d := n.importParts(t, list); status != 200 {
			t.Errorf("import: %d %+v", status, d)
		}
	}
	body, err := n.Export(t.Context(), "in-parts", false)
	if read(t, body, err) != string(file) {
		t.Error("the stored file differs")
	}
	d := core.DigestOf(file)
	res, answer := n.request(t, "PUT", "/v1/blobs/"+d.String(), list, "Content-Type", api.PartsType)
	if res.StatusCode != 204 {
		t.Errorf("PUT of a blob in parts: %d %s", res.StatusCode, answer)
	}
	blob, err := n.Blob(t.Context(), d)
	if read(t, blob, err) != string(file) {
		t.Error("the stored blob differs")
	}
	if res, _ := n.request(t, "PUT", "/v1/blobs/"+core.DigestOf(nil).String(), list, "Content-Type", api.PartsType); res.StatusCode != 400 {
		t.Errorf("PUT under another digest: %s", res.Status)
	}
}

func TestImportRefusesInvalidPartLists(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(c *server.Config) { c.MaxBody = 1 << 20 })
	zero := core.DigestOf(nil).String()
	part := append([]byte(api.PartMark), make([]byte, 600<<10)...)
	if err := n.PutBlob(t.Context(), part); err != nil {
		t.Fatal(err)
	}
	large := core.DigestOf(part).String()
	list := func(digests ...string) string {
		b, _ := json.Marshal(map[string][]string{"parts": digests})
		return string(b)
	}
	for what, c := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"no list":         {"", 400, "invalid"},
		"an empty list":   {list(), 400, "invalid"},
		"other JSON":      {`{"digests":[]}`, 400, "invalid"},
		"a wrong digest":  {list("sha256:00"), 400, "invalid"},
		"too many parts":  {list(slices.Repeat([]string{zero}, api.MaxParts+1)...), 400, "invalid"},
		"too many bytes":  {list(large, large), 413, "too-large"},
		"a missing part":  {list(large, zero), 409, "missing-parts"},
		"no session file": {list(large), 400, "invalid"},
	} {
		if status, d := n.importParts(t, c.body); status != c.status || d.Code != c.code {
			t.Errorf("%s: %d %+v", what, status, d)
		}
	}
}

// A blob that is not a part counts as missing, so no caller reads a session's blobs
// by importing them.
func TestImportReadsOnlyParts(t *testing.T) {
	t.Parallel()
	n := startNode(t, withTokens)
	bearer := "Bearer " + n.create(t, api.TokenRequest{Name: "ours", Scope: access.Write, Prefix: "ours-"}).Bearer
	secret := largeSession("ours-stolen", 1000)
	if err := n.PutBlob(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	d := core.DigestOf(secret)
	b, _ := json.Marshal(api.Parts{Parts: []core.Digest{d}})
	if status, got := n.importParts(t, string(b), "Authorization", bearer); status != 409 || !slices.Equal(got.Missing, []core.Digest{d}) {
		t.Errorf("a blob that is not a part: %d %+v", status, got)
	}
	parts, list := partsOf(largeSession("theirs-session", 1000), 500)
	for _, part := range parts {
		if res, body := n.request(t, "PUT", "/v1/blobs/"+core.DigestOf(part).String(), string(part), "Authorization", bearer); res.StatusCode != 204 {
			t.Errorf("PUT of a part: %d %s", res.StatusCode, body)
		}
	}
	if status, got := n.importParts(t, list, "Authorization", bearer); status != 403 {
		t.Errorf("import of another's session: %d %+v", status, got)
	}
	reader := "Bearer " + n.create(t, api.TokenRequest{Name: "reader", Scope: access.Read}).Bearer
	if status, got := n.importParts(t, list, "Authorization", reader); status != 403 {
		t.Errorf("import with a token to read: %d %+v", status, got)
	}
}

func TestDamagedPartIsSentAgain(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	file := largeSession("damaged-part", 3<<20)
	parts, list := partsOf(file, 1<<20)
	for _, part := range parts {
		if err := n.PutBlob(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	bad := bytes.Clone(parts[1])
	bad[len(bad)/2] ^= 1
	d := core.DigestOf(parts[1])
	if err := n.Bucket.Put(t.Context(), blobstore.Ref(d).Key(), bytes.NewReader(bad), int64(len(bad))); err != nil {
		t.Fatal(err)
	}
	if status, got := n.importParts(t, list); status != 409 || !slices.Equal(got.Missing, []core.Digest{d}) {
		t.Errorf("with a damaged part: %d %+v", status, got)
	}
	if _, err := n.ImportLarge(t.Context(), client.LargeBytes(file), client.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	body, err := n.Export(t.Context(), "damaged-part", false)
	if read(t, body, err) != string(file) {
		t.Error("the stored file differs")
	}
}

// startDoor returns a proxy of a node, which a test can close.
func startDoor(t *testing.T, n *node) *httptest.Server {
	t.Helper()
	to, err := url.Parse(n.Base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = &http.Transport{DisableKeepAlives: true}
	door := httptest.NewServer(proxy)
	t.Cleanup(door.Close)
	return door
}

// closeDoor ends a door's connections and accepts no more.
func closeDoor(door *httptest.Server) {
	_ = door.Listener.Close()
	door.CloseClientConnections()
}

// The second node has a separate store, so it needs all parts.
func TestLargeImportContinuesOnTheNextNode(t *testing.T) {
	t.Parallel()
	first, second := startNode(t), startNode(t)
	door := startDoor(t, first)
	c := client.ClientOf([]string{door.URL, second.Base}, "")
	t.Cleanup(c.HTTP.CloseIdleConnections)
	file := largeSession("large-one", 4<<20)
	large := client.LargeBytes(file)
	var sent int64
	large.Sent = func(n int64) {
		if sent == 0 {
			closeDoor(door)
		}
		sent += n
	}
	done, err := c.ImportLarge(t.Context(), large, client.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	body, err := second.Export(t.Context(), string(done.Session), false)
	if read(t, body, err) != string(file) {
		t.Error("the stored file differs")
	}
	if sent != int64(len(file)) {
		t.Errorf("%d bytes were reported, the file has %d", sent, len(file))
	}
}

// A second import of a longer file sends only what is new.
func TestLargeImportSkipsPresentParts(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	file := largeSession("grows", 6<<20)
	short := file[:bytes.LastIndexByte(file[:4<<20], '\n')+1]
	if _, err := n.ImportLarge(t.Context(), client.LargeBytes(short), client.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	counting := &counter{to: http.DefaultTransport}
	c := &client.Client{Base: n.Base, HTTP: &http.Client{Transport: counting}}
	if _, err := c.ImportLarge(t.Context(), client.LargeBytes(file), client.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if most := int64(len(file)-len(short)) + 1<<20 + 10_000; counting.bytes > most {
		t.Errorf("%d bytes were sent, %d are new", counting.bytes, len(file)-len(short))
	}
}

// A counter counts the bytes of requests.
type counter struct {
	to    http.RoundTripper
	bytes int64
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.bytes += max(0, r.ContentLength)
	return c.to.RoundTrip(r)
}

// A fakeNode has parts in memory and can be unavailable.
type fakeNode struct {
	away func() bool
	has  map[string]bool
}

func (n *fakeNode) RoundTrip(r *http.Request) (*http.Response, error) {
	if n.away() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	w := httptest.NewRecorder()
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodPut {
		n.has[strings.TrimPrefix(r.URL.Path, "/v1/blobs/")] = true
		w.WriteHeader(http.StatusNoContent)
		return w.Result(), nil
	}
	var in api.Parts
	_ = json.Unmarshal(body, &in)
	in.Parts = slices.DeleteFunc(in.Parts, func(d core.Digest) bool { return n.has[d.String()] })
	if len(in.Parts) > 0 {
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(api.Detail{Code: "missing-parts", Status: 409, Missing: in.Parts})
		return w.Result(), nil
	}
	_ = json.NewEncoder(w).Encode(api.Imported{ID: "done"})
	return w.Result(), nil
}

func TestLargeImportRetriesForTwoMinutes(t *testing.T) {
	t.Parallel()
	for away, want := range map[time.Duration]error{0: nil, time.Second: nil, 90 * time.Second: nil, time.Hour: core.ErrUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			var since time.Time
			n := &fakeNode{has: map[string]bool{}, away: func() bool { return !since.IsZero() && time.Since(since) < away }}
			c := &client.Client{Base: "http://a", HTTP: &http.Client{Transport: n}}
			large := client.LargeBytes(bytes.Repeat([]byte("0123456789abcdef"), 1<<18))
			var sent int64
			large.Sent = func(n int64) {
				sent += n
				if since.IsZero() {
					since = time.Now()
				}
			}
			done, err := c.ImportLarge(t.Context(), large, client.ImportOptions{})
			if !errors.Is(err, want) || err == nil && (done.ID != "done" || sent != large.Size) {
				t.Errorf("unavailable for %v: %+v, %d bytes reported, %v", away, done, sent, err)
			}
		})
	}
}

// If no node answers at all, the caller decides whether to try again.
func TestLargeImportFailsAtOnceWithoutANode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &fakeNode{away: func() bool { return true }}
		c := &client.Client{Base: "http://a", HTTP: &http.Client{Transport: n}}
		began := time.Now()
		_, err := c.ImportLarge(t.Context(), client.LargeBytes([]byte("x")), client.ImportOptions{})
		if !errors.Is(err, core.ErrUnavailable) || time.Since(began) > 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestLargeImportRefusesChangedContent(t *testing.T) {
	t.Parallel()
	n := &fakeNode{has: map[string]bool{}, away: func() bool { return false }}
	c := &client.Client{Base: "http://a", HTTP: &http.Client{Transport: n}}
	for what, after := range map[string][]byte{"changed": bytes.Repeat([]byte("b"), 1000), "shorter": []byte("a")} {
		content := &switched{before: bytes.Repeat([]byte("a"), 1000), after: after}
		if _, err := c.ImportLarge(t.Context(), client.Large{Bytes: content, Size: 1000}, client.ImportOptions{}); !errors.Is(err, core.ErrConflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A switched is content that changes after it was read once.
type switched struct {
	before, after []byte
	read          bool
}

func (s *switched) ReadAt(b []byte, at int64) (int, error) {
	now := s.before
	if s.read {
		now = s.after
	}
	s.read = true
	return bytes.NewReader(now).ReadAt(b, at)
}
