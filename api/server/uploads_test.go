package server_test

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/upload"
)

var cutSeed = flag.Uint64("cut-seed", 0, "where the proxy cuts connections; 0 for a seed of its own")

// withUploads has a node take uploads.
func withUploads(t *testing.T) nodeOption {
	t.Helper()
	store, err := upload.Open(upload.Config{Dir: t.TempDir(), Bytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *server.Config) { c.Uploads = store }
}

// largeSession is a session file of so many bytes, or a little more.
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

// A cutter is a proxy that ends each connection after some bytes of it.
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
	t.Logf("go on with -cut-seed %d", seed)
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
	up, down := 1+c.rng.Int64N(300<<10), 1+c.rng.Int64N(4<<10)
	c.mu.Unlock()
	ended := make(chan bool, 2) // whether it had its bytes
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

func TestALargeImportGoesOnOverALineThatBreaksAnywhere(t *testing.T) {
	t.Parallel()
	n := startNode(t, withUploads(t))
	proxy := startCutter(t, n.Base)
	file := largeSession("large-one", 3<<20)
	c := &client.Client{Base: proxy.url, HTTP: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(c.HTTP.CloseIdleConnections)
	large := client.LargeBytes(file)
	var sent int64
	large.Sent = func(n int64) { sent += n }
	done, err := c.ImportLarge(t.Context(), large, client.ImportOptions{By: "ada"})
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
		t.Error("the log has another file")
	}
	if sent != int64(len(file)) {
		t.Errorf("%d bytes were told of, the file has %d", sent, len(file))
	}
	blob := []byte(strings.Repeat("pixels", 100_000))
	if err := c.PutLargeBlob(t.Context(), client.LargeBytes(blob)); err != nil {
		t.Fatal(err)
	}
	stored, err := n.Blob(t.Context(), core.DigestOf(blob))
	if read(t, stored, err) != string(blob) {
		t.Error("the blob is another")
	}
}

func metadata(b []byte) string {
	d := core.DigestOf(b)
	return "filename aGVsbG8=,sha256 " + base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString(d[:])))
}

// begun begins the upload of b with raw requests.
func (n *node) begun(t *testing.T, b []byte, header ...string) (path string) {
	t.Helper()
	header = append(header, "Tus-Resumable", "1.0.0", "Upload-Length", fmt.Sprint(len(b)), "Upload-Metadata", metadata(b))
	res, body := n.request(t, "POST", "/v1/uploads", "", header...)
	if res.StatusCode != http.StatusCreated || res.Header.Get("Tus-Resumable") != "1.0.0" {
		t.Fatalf("%s %v %s", res.Status, res.Header, body)
	}
	if until, err := http.ParseTime(res.Header.Get("Upload-Expires")); err != nil || time.Until(until) < time.Hour {
		t.Errorf("Upload-Expires: %v", res.Header)
	}
	return res.Header.Get("Location")
}

// part sends the next bytes of an upload with a raw request.
func (n *node) part(t *testing.T, path string, offset int, b string) *http.Response {
	t.Helper()
	res, _ := n.request(t, "PATCH", path, b, "Tus-Resumable", "1.0.0", "Content-Type", "application/offset+octet-stream", "Upload-Offset", fmt.Sprint(offset))
	return res
}

func (n *node) offset(t *testing.T, path string) string {
	t.Helper()
	res, _ := n.request(t, "HEAD", path, "", "Tus-Resumable", "1.0.0")
	return fmt.Sprint(res.StatusCode, " ", res.Header.Get("Upload-Offset"))
}

func TestUploadsSpeakTus(t *testing.T) {
	t.Parallel()
	n := startNode(t, withUploads(t))
	res, _ := n.request(t, "OPTIONS", "/v1/uploads", "")
	if res.StatusCode != 204 || res.Header.Get("Tus-Version") != "1.0.0" || res.Header.Get("Tus-Extension") != "creation,expiration,termination" || res.Header.Get("Tus-Max-Size") == "" {
		t.Errorf("OPTIONS: %s %v", res.Status, res.Header)
	}
	file := largeSession("session-by-tus", 1000)
	path := n.begun(t, file)
	if res := n.part(t, path, 0, string(file[:10])); res.StatusCode != 204 || res.Header.Get("Upload-Offset") != "10" {
		t.Errorf("the first part: %s %v", res.Status, res.Header)
	}
	if res := n.part(t, path, 0, string(file[:10])); res.StatusCode != 409 || res.Header.Get("Upload-Offset") != "10" {
		t.Errorf("the first part again: %s %v", res.Status, res.Header)
	}
	if got := n.offset(t, path); got != "200 10" {
		t.Errorf("HEAD: %s", got)
	}
	if again := n.begun(t, file); again != path {
		t.Errorf("begun again it is %s, was %s", again, path)
	}
	if res, body := n.request(t, "POST", path+"/import", ""); res.StatusCode != 409 || !strings.Contains(body, `"code":"offset"`) {
		t.Errorf("import of half a file: %d %s", res.StatusCode, body)
	}
	if res := n.part(t, path, 10, string(file[10:])); res.StatusCode != 204 {
		t.Errorf("the rest: %s", res.Status)
	}
	for range 2 { // it can be repeated
		if res, body := n.request(t, "POST", path+"/import?by=ada", ""); res.StatusCode != 200 || !strings.Contains(body, `"session":"session-by-tus"`) {
			t.Errorf("import: %d %s", res.StatusCode, body)
		}
	}
	if res, _ := n.request(t, "DELETE", path, "", "Tus-Resumable", "1.0.0"); res.StatusCode != 204 {
		t.Errorf("DELETE: %s", res.Status)
	}
	if got := n.offset(t, path); got != "404 " {
		t.Errorf("HEAD behind that: %s", got)
	}
}

func TestWhatIsNoUploadIsRefused(t *testing.T) {
	t.Parallel()
	n := startNode(t, withUploads(t), func(c *server.Config) { c.MaxBody = 1 << 20 })
	tus := []string{"Tus-Resumable", "1.0.0"}
	good := n.begun(t, []byte("bytes"))
	for _, c := range []struct {
		what, method, path string
		header             []string
		status             int
		code               string
	}{
		{"without a version", "POST", "/v1/uploads", nil, 412, "tus-version"},
		{"of another version", "PATCH", good, []string{"Tus-Resumable", "0.2.2"}, 412, "tus-version"},
		{"without a length", "POST", "/v1/uploads", tus, 400, "invalid"},
		{"of no length yet", "POST", "/v1/uploads", append([]string{"Upload-Defer-Length", "1"}, tus...), 400, "invalid"},
		{"of too many bytes", "POST", "/v1/uploads", append([]string{"Upload-Length", "1048577", "Upload-Metadata", metadata(nil)}, tus...), 413, "too-large"},
		{"without a digest", "POST", "/v1/uploads", append([]string{"Upload-Length", "10", "Upload-Metadata", "filename aGVsbG8="}, tus...), 400, "invalid"},
		{"with half a digest", "POST", "/v1/uploads", append([]string{"Upload-Length", "10", "Upload-Metadata", "sha256 aGVsbG8="}, tus...), 400, "invalid"},
		{"of another type", "PATCH", good, append([]string{"Content-Type", "text/plain", "Upload-Offset", "0"}, tus...), 415, "media-type"},
		{"at no place", "PATCH", good, append([]string{"Content-Type", "application/offset+octet-stream"}, tus...), 400, "invalid"},
		{"that is not there", "PATCH", "/v1/uploads/" + strings.Repeat("0", 32), append([]string{"Content-Type", "application/offset+octet-stream", "Upload-Offset", "0"}, tus...), 404, "no-upload"},
		{"with a path for a name", "DELETE", "/v1/uploads/..%2fnats", tus, 404, "no-upload"},
	} {
		res, body := n.request(t, c.method, c.path, "", c.header...)
		if res.StatusCode != c.status || !strings.Contains(body, `"code":"`+c.code+`"`) {
			t.Errorf("%s: %d %s", c.what, res.StatusCode, body)
		}
	}
	if res, body := n.request(t, "PATCH", good, "bytes and more", append([]string{"Content-Type", "application/offset+octet-stream", "Upload-Offset", "0"}, tus...)...); res.StatusCode != 400 {
		t.Errorf("more bytes than announced: %d %s", res.StatusCode, body)
	}
}

func TestAnUploadWhoseBytesAreOtherOnesIsDropped(t *testing.T) {
	t.Parallel()
	n := startNode(t, withUploads(t))
	path := n.begun(t, []byte("bytes"))
	n.part(t, path, 0, "bytez")
	if res, body := n.request(t, "POST", path+"/blob", ""); res.StatusCode != 409 || !strings.Contains(body, `"code":"digest"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if got := n.offset(t, path); got != "404 " {
		t.Errorf("HEAD behind that: %s", got)
	}
	// The client begins it again, once: what the node had of it may be damaged.
	path = n.begun(t, []byte("other"))
	n.part(t, path, 0, "oth??")
	if err := n.PutLargeBlob(t.Context(), client.LargeBytes([]byte("other"))); err != nil {
		t.Error(err)
	}
	large := client.LargeBytes([]byte("third"))
	large.SHA256 = core.DigestOf([]byte("3rd"))
	if err := n.PutLargeBlob(t.Context(), large); !errors.Is(err, upload.ErrDigest) {
		t.Errorf("of a file that has changed: %v", err)
	}
}

func TestAnUploadIsForTheTokenThatBeganIt(t *testing.T) {
	t.Parallel()
	n := startNode(t, withTokens, withUploads(t))
	bearer := func(name, prefix string) string {
		return "Bearer " + n.create(t, api.TokenRequest{Name: name, Scope: access.Write, Prefix: prefix}).Bearer
	}
	mine, other, ours := bearer("mine", ""), bearer("other", ""), bearer("ours", "ours-")
	file := largeSession("other-session", 100)
	path := n.begun(t, file, "Authorization", mine)
	for _, who := range []string{other, "Bearer " + n.Token} {
		for _, call := range []string{"HEAD " + path, "DELETE " + path, "POST " + path + "/import", "POST " + path + "/blob"} {
			method, path, _ := strings.Cut(call, " ")
			if res, _ := n.request(t, method, path, "", "Tus-Resumable", "1.0.0", "Authorization", who); res.StatusCode != 404 {
				t.Errorf("%s by another token: %s", call, res.Status)
			}
		}
	}
	path = n.begun(t, file, "Authorization", ours)
	n.request(t, "PATCH", path, string(file), "Tus-Resumable", "1.0.0", "Content-Type", "application/offset+octet-stream", "Upload-Offset", "0", "Authorization", ours)
	if res, body := n.request(t, "POST", path+"/import", "", "Authorization", ours); res.StatusCode != 403 {
		t.Errorf("import of another's session: %d %s", res.StatusCode, body)
	}
}

func TestANodeWithoutUploadsSaysSo(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	if res, body := n.request(t, "POST", "/v1/uploads", "", "Tus-Resumable", "1.0.0"); res.StatusCode != 501 || !strings.Contains(body, `"code":"no-uploads"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if _, err := n.ImportLarge(t.Context(), client.LargeBytes([]byte("x")), client.ImportOptions{}); !errors.Is(err, client.ErrNoParts) {
		t.Errorf("the client says %v", err)
	}
}

// Whoever comes again asks where the upload ends, while the node still waits for
// the bytes of a connection that is no more.
func TestASenderThatIsStuckHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	n := startNode(t, withUploads(t))
	path := n.begun(t, []byte("0123456789"))
	conn, err := net.Dial("tcp", strings.TrimPrefix(n.Base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "PATCH %s HTTP/1.1\r\nHost: localhost\r\nTus-Resumable: 1.0.0\r\nContent-Type: application/offset+octet-stream\r\n"+
		"Upload-Offset: 0\r\nContent-Length: 10\r\n\r\n012", path)
	answered := make(chan *http.Response, 1)
	go func() {
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil {
			_ = res.Body.Close()
		}
		answered <- res
	}()
	for {
		got := n.offset(t, path)
		select {
		case res := <-answered:
			if res == nil || res.StatusCode != 503 {
				t.Errorf("the sender is answered %+v", res)
			}
			return
		case <-time.After(5 * time.Millisecond):
		}
		if !strings.HasPrefix(got, "200 ") {
			t.Fatal(got)
		}
	}
}
