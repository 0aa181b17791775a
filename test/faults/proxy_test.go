package faults_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A proxy forwards requests from nodes to an S3 server, unless a fault is set.
type proxy struct {
	*harness.Bucket
	URL string

	mu    sync.Mutex
	fault fault
	on    string            // part of the keys that have the fault
	hits  int               // since the fault began
	first map[string][]byte // by family: the first object that was read
}

// A fault is what the proxy does instead of forwarding.
type fault string

const (
	none     fault = ""
	down     fault = "down"           // connections break
	answers5 fault = "500"            // every request returns a server error
	busy     fault = "503"            // every request returns "slow down"
	limited  fault = "429"            // every request returns a rate limit error
	gone     fault = "bucket gone"    // the bucket does not exist
	denied   fault = "denied"         // the credentials have lost the permission
	skewed   fault = "clock"          // the server rejects the node's clock
	hangs    fault = "hangs"          // requests get no answer
	tornIn   fault = "torn in"        // connections break during a put
	slow     fault = "slow"           // every request is delayed
	cut      fault = "cut short"      // answers end early
	flip     fault = "bit flipped"    // in an answer
	flipIn   fault = "bit flipped in" // in a request body
	missing  fault = "missing"        // the object does not exist
	old      fault = "old object"     // an older object of the same session
)

// slowBy is the delay of each request to a slow server.
const slowBy = 200 * time.Millisecond

// startProxy starts an S3 server and a proxy in front of it.
func startProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{Bucket: harness.StartBucket(t), first: map[string][]byte{}}
	pem := testkit.ReadFile(t, p.CAFile)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatal("the S3 server's certificate is none")
	}
	target, err := url.Parse(p.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableCompression: true}
	pass := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: p.change,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(pass, w, r) }))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	p.URL = server.URL
	return p
}

// Args are the settings of a node that uses p as its object store, without a cache in
// memory or on disk.
func (p *proxy) Args() []string {
	return []string{
		"--blobs-store", "s3", "--blobs-s3-endpoint", p.URL, "--blobs-s3-region", p.Region, "--blobs-s3-bucket", p.Name,
		"--blobs-s3-access-key", p.AccessKey, "SESS_BLOBS_S3_SECRET_KEY=" + p.SecretKey, "--blobs-cache", "0", "--blobs-disk", "0",
	}
}

// do sets the fault f for objects whose keys contain on.
func (p *proxy) do(f fault, on string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.on, p.hits = f, on, 0
}

// met returns how often the fault happened.
func (p *proxy) met() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits
}

// now returns the fault of a request, if there is one.
func (p *proxy) now(r *http.Request, those ...fault) fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range those {
		if p.fault == f && strings.Contains(r.URL.Path, p.on) {
			p.hits++
			return f
		}
	}
	return none
}

func (p *proxy) serve(pass http.Handler, w http.ResponseWriter, r *http.Request) {
	those := []fault{down, answers5, busy, limited, gone, denied, skewed, hangs, slow}
	switch r.Method {
	case http.MethodPut:
		those = append(those, flipIn, tornIn)
	case http.MethodGet, http.MethodHead:
		those = append(those, missing)
	}
	switch p.now(r, those...) {
	case down:
		panic(http.ErrAbortHandler)
	case answers5:
		refuse(w, http.StatusInternalServerError, "InternalError")
		return
	case busy:
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return
	case limited:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, "TooManyRequests")
		return
	case gone:
		refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	case denied:
		refuse(w, http.StatusForbidden, "AccessDenied")
		return
	case skewed:
		refuse(w, http.StatusForbidden, "RequestTimeTooSkewed")
		return
	case missing:
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	case hangs:
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return
	case tornIn:
		_, _ = io.CopyN(io.Discard, r.Body, max(r.ContentLength/2, 1))
		panic(http.ErrAbortHandler)
	case slow:
		<-time.After(slowBy)
	case flipIn:
		r.Body = flipped{r.Body}
	}
	pass.ServeHTTP(w, r)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>so the test says</Message></Error>`, code)
}

// change applies the fault to an answer.
func (p *proxy) change(r *http.Response) error {
	if r.Request.Method != http.MethodGet || r.StatusCode != http.StatusOK || r.Request.URL.RawQuery != "" {
		return nil
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	b = p.remember(r.Request.URL.Path, b)
	size := len(b)
	switch p.now(r.Request, cut, flip, old) {
	case cut:
		b = b[:len(b)/2] // Content-Length says more: the connection breaks
	case flip:
		b = bytes.Clone(b)
		b[len(b)/2] ^= 0x10
	case old:
		b = p.earlier(r.Request.URL.Path, b)
		size = len(b)
	}
	r.Body = io.NopCloser(bytes.NewReader(b))
	r.ContentLength = int64(size)
	r.Header.Set("Content-Length", strconv.Itoa(size))
	return nil
}

// family groups the objects that old exchanges: a session's snapshots, or all blobs.
func family(path string) string {
	if before, _, blob := strings.Cut(path, "/blobs/sha256/"); blob {
		return before
	}
	return path[:strings.LastIndexByte(path, '/')]
}

// remember keeps the first object of each family that was read.
func (p *proxy) remember(path string, b []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, there := p.first[family(path)]; !there {
		p.first[family(path)] = b
	}
	return b
}

func (p *proxy) earlier(path string, b []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if first, there := p.first[family(path)]; there {
		return first
	}
	return b
}

// flipped flips a bit near the end of what is read.
type flipped struct{ io.ReadCloser }

func (f flipped) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if n > 0 {
		p[n/2] ^= 0x10
	}
	return n, err
}
