package s3blob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/s3server"
)

// unready returns the error of Ready, which must fail.
func unready(t *testing.T, cfg Config) error {
	t.Helper()
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	err = b.Ready(t.Context())
	if err == nil {
		t.Fatal("Ready succeeded")
	}
	if cfg.SecretKey != "" && strings.Contains(err.Error(), cfg.SecretKey) {
		t.Errorf("the error contains the secret key: %v", err)
	}
	return err
}

// wantRefusal checks that err is ErrRefused and contains the given texts.
func wantRefusal(t *testing.T, err error, texts ...string) {
	t.Helper()
	if !errors.Is(err, blobstore.ErrRefused) || errors.Is(err, blobstore.ErrUnavailable) || errors.Is(err, blobstore.ErrNotFound) {
		t.Errorf("%v is not only ErrRefused", err)
	}
	wantText(t, err, texts...)
}

func wantUnavailable(t *testing.T, err error, texts ...string) {
	t.Helper()
	if !errors.Is(err, blobstore.ErrUnavailable) {
		t.Errorf("%v is not ErrUnavailable", err)
	}
	wantText(t, err, texts...)
}

func wantText(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, s := range texts {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not contain %q", err, s)
		}
	}
}

func TestWrongSecretKeyIsReported(t *testing.T) {
	t.Parallel()
	cfg := config(server)
	ready(t, cfg)
	cfg.SecretKey = "not-the-secret"
	wantRefusal(t, unready(t, cfg), cfg.Bucket, "SignatureDoesNotMatch", "403")

	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, b.Put(t.Context(), "a", strings.NewReader("x"), 1), "put a", "SignatureDoesNotMatch")
	_, err = b.Get(t.Context(), "a")
	wantRefusal(t, err, "get a", "SignatureDoesNotMatch")
}

func TestUnknownAccessKeyIsReported(t *testing.T) {
	t.Parallel()
	cfg := config(server)
	cfg.AccessKey = "unknown"
	wantRefusal(t, unready(t, cfg), cfg.Bucket)
}

func TestMissingBucketIsReported(t *testing.T) {
	t.Parallel()
	cfg := config(server)
	cfg.Create = false
	wantRefusal(t, unready(t, cfg), cfg.Bucket, "NoSuchBucket")

	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	// A missing bucket must not look like missing objects.
	_, err = b.Get(t.Context(), "a")
	wantRefusal(t, err, "get a", "NoSuchBucket")
	wantRefusal(t, b.Put(t.Context(), "a", strings.NewReader("x"), 1), "put a", "NoSuchBucket")
	for _, err := range b.List(t.Context(), "") {
		wantRefusal(t, err, "NoSuchBucket")
	}
}

func TestConcurrentCreate(t *testing.T) {
	t.Parallel()
	cfg := config(server)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			b, err := New(cfg)
			if err != nil {
				t.Error(err)
				return
			}
			defer b.Close()
			if err := b.Ready(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestExistingBucketIsUsed(t *testing.T) {
	t.Parallel()
	cfg := config(server)
	cfg.Create, cfg.Region = false, "" // ask the server
	if err := server.MakeBucket(t.Context(), cfg.Bucket); err != nil {
		t.Fatal(err)
	}
	b := ready(t, cfg)
	if err := b.Put(t.Context(), "a", strings.NewReader("x"), 1); err != nil {
		t.Error(err)
	}
}

func TestUnknownAuthorityIsReported(t *testing.T) {
	t.Parallel()
	cfg := config(server)
	cfg.CAFile = ""
	wantUnavailable(t, unready(t, cfg), "certificate")
}

func TestStoppedServerIsUnavailableUntilRestart(t *testing.T) {
	t.Parallel()
	s := s3server.Start(t)
	b := ready(t, config(s))
	if err := b.Put(t.Context(), "kept", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	s.Stop()

	var wg sync.WaitGroup // each call retries for a while
	for what, call := range map[string]func() error{
		"put kept":    func() error { return b.Put(t.Context(), "kept", strings.NewReader("y"), 1) },
		"put big":     func() error { return b.Put(t.Context(), "big", bytes.NewReader(make([]byte, 9<<20)), 9<<20) },
		"get kept":    func() error { _, err := b.Get(t.Context(), "kept"); return err },
		"stat kept":   func() error { _, err := b.Stat(t.Context(), "kept"); return err },
		"delete kept": func() error { return b.Delete(t.Context(), "kept") },
		"bucket":      func() error { return b.Ready(t.Context()) },
		"list": func() error {
			for _, err := range b.List(t.Context(), "") {
				return err
			}
			return nil
		},
	} {
		wg.Go(func() {
			if err := call(); !errors.Is(err, blobstore.ErrUnavailable) || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v is not ErrUnavailable, or does not name the operation", what, err)
			}
		})
	}
	wg.Wait()

	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := b.Stat(t.Context(), "kept"); err != nil || info.Size != 1 {
		t.Errorf("after the restart: %+v, %v", info, err)
	}
}

func TestTruncatedReadIsUnavailable(t *testing.T) {
	t.Parallel()
	s := s3server.Start(t)
	b := ready(t, config(s))
	const size = 32 << 20 // more than fits into the network buffers
	if err := b.Put(t.Context(), "a", bytes.NewReader(make([]byte, size)), size); err != nil {
		t.Fatal(err)
	}
	r, err := b.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	_, err = io.Copy(io.Discard, r)
	wantUnavailable(t, err, "get a")
}

func TestRefusedConnectionIsUnavailable(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	cfg := config(server)
	cfg.Endpoint, cfg.CAFile = gone.URL, ""
	wantUnavailable(t, unready(t, cfg), "connection refused")
}

func TestCancelEndsCallToSilentServer(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 1), make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-release
	}))
	defer silent.Close()
	defer close(release)
	cfg := config(server)
	cfg.Endpoint, cfg.CAFile = silent.URL, ""
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := b.Get(ctx, "a"); !errors.Is(err, context.Canceled) || errors.Is(err, blobstore.ErrUnavailable) {
		t.Errorf("Get = %v; want only context.Canceled", err)
	}
}

// A middleMan modifies or replaces requests.
type middleMan struct {
	next http.RoundTripper
	do   func(*http.Request, http.RoundTripper) (*http.Response, error)
}

func (m middleMan) RoundTrip(r *http.Request) (*http.Response, error) { return m.do(r, m.next) }

func withMiddleMan(t *testing.T, cfg Config, do func(*http.Request, http.RoundTripper) (*http.Response, error)) *Bucket {
	t.Helper()
	b, err := newBucket(cfg, func(next http.RoundTripper) http.RoundTripper { return middleMan{next, do} })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func TestBytesCorruptedInTransitAreNotStored(t *testing.T) {
	t.Parallel()
	cfg := config(server)
	sound := ready(t, cfg)
	damaging := withMiddleMan(t, cfg, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Body != nil && r.ContentLength >= 1000 {
			p, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			p[500] ^= 1
			r.Body = io.NopCloser(bytes.NewReader(p))
		}
		return next.RoundTrip(r)
	})
	for _, size := range []int{1000, partSize + 1} {
		wantUnavailable(t, damaging.Put(t.Context(), "a", bytes.NewReader(make([]byte, size)), int64(size)), "put a", "BadDigest")
		if info, err := sound.Stat(t.Context(), "a"); !errors.Is(err, blobstore.ErrNotFound) {
			t.Errorf("stored corrupt bytes: %+v, %v", info, err)
		}
	}
}

func TestTransientErrorsAreRetriedWithSameBytes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1000, partSize, partSize + 1, 2*partSize + 1} {
		var mu sync.Mutex
		refused := make(map[string]bool)
		cfg := config(server)
		ready(t, cfg)
		b := withMiddleMan(t, cfg, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			call := r.Method + r.URL.String()
			mu.Lock()
			first := !refused[call]
			refused[call] = true
			mu.Unlock()
			if !first {
				return next.RoundTrip(r)
			}
			if r.Body != nil { // fail only after the body was read
				_, _ = io.Copy(io.Discard, r.Body)
				_ = r.Body.Close()
			}
			return answer(r, http.StatusServiceUnavailable, "SlowDown"), nil
		})
		want := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		if err := b.Put(t.Context(), "a", struct{ io.Reader }{bytes.NewReader(want)}, int64(size)); err != nil {
			t.Fatal(err)
		}
		r, err := b.Get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		have, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(have, want) {
			t.Errorf("Get returns %d bytes, %v; want the %d put", len(have), err, size)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestErrorResponsesAreMapped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
		want   error // nil means ErrRefused
	}{
		{404, "NoSuchKey", blobstore.ErrNotFound},
		{404, "NoSuchBucket", nil},
		{404, "XAdminUserNotFound", nil},
		{404, "NoSuchUpload", blobstore.ErrUnavailable},
		{403, "AccessDenied", nil},
		{403, "RequestTimeTooSkewed", blobstore.ErrUnavailable},
		{400, "ExpiredToken", blobstore.ErrUnavailable},
		{400, "RequestTimeout", blobstore.ErrUnavailable},
		{400, "InvalidArgument", nil},
		{409, "ObjectParentIsFile", blobstore.ErrBadKey},
		{409, "OperationAborted", blobstore.ErrUnavailable},
		{429, "TooManyRequests", blobstore.ErrUnavailable},
		{500, "InternalError", blobstore.ErrUnavailable},
		{501, "NotImplemented", nil},
		{502, "", blobstore.ErrUnavailable},
		{503, "SlowDown", blobstore.ErrUnavailable},
		{507, "InsufficientStorage", blobstore.ErrUnavailable},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			b := withMiddleMan(t, config(server), func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
				return answer(r, c.status, c.code), nil
			})
			_, err := b.Get(t.Context(), "a")
			switch c.want {
			case nil:
				wantRefusal(t, err, "get a", c.code)
			default:
				if !errors.Is(err, c.want) {
					t.Errorf("Get = %v; want %v", err, c.want)
				}
			}
		})
	}
}

// answer returns an error response of an S3 server, or of a proxy if code is "".
func answer(r *http.Request, status int, code string) *http.Response {
	body := "<html>an error page of a proxy</html>"
	if code != "" {
		body = "<Error><Code>" + code + "</Code><Message>injected by the test</Message></Error>"
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

func TestUnorderedListIsError(t *testing.T) {
	t.Parallel()
	b := withMiddleMan(t, config(server), func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		resp := answer(r, http.StatusOK, "")
		resp.Body = io.NopCloser(strings.NewReader(`<ListBucketResult><IsTruncated>false</IsTruncated>` +
			`<Contents><Key>b</Key></Contents><Contents><Key>a</Key></Contents></ListBucketResult>`))
		return resp, nil
	})
	var last error
	for _, err := range b.List(t.Context(), "") {
		last = err
	}
	wantRefusal(t, last, "not in key order")
}

func TestListIsLimitedToPrefix(t *testing.T) {
	t.Parallel()
	cfg := config(server)
	root := ready(t, cfg)
	for _, key := range []string{"mine/a", "mine-too/a", "other/a"} {
		if err := root.Put(t.Context(), key, strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Prefix = "mine"
	for info, err := range ready(t, cfg).List(t.Context(), "") {
		if err != nil || info.Key != "a" {
			t.Errorf("List yields %+v, %v", info, err)
		}
	}
}

func TestNewReportsAllConfigFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	testkit.WriteFile(t, empty, nil)
	for _, c := range []struct {
		cfg   Config
		texts []string
	}{
		{Config{}, []string{"endpoint", "bucket"}},
		{Config{Endpoint: "ftp://h", Bucket: "b", Prefix: "/x", AccessKey: "k"}, []string{"ftp", "bucket", "prefix", "secret key"}},
		{Config{Endpoint: "https://h/path", Bucket: "bbb"}, []string{"endpoint"}},
		{Config{Endpoint: "http://h", Bucket: "bbb", CAFile: empty}, []string{"CA file", "TLS"}},
		{Config{Endpoint: "h", Bucket: "bbb", CAFile: empty}, []string{"CA file", "no certificate"}},
		{Config{Endpoint: "h", Bucket: "bbb", CAFile: filepath.Join(dir, "none")}, []string{"CA file", "no such file"}},
	} {
		_, err := New(c.cfg)
		if err == nil {
			t.Errorf("New(%+v) succeeded", c.cfg)
			continue
		}
		wantText(t, err, c.texts...)
	}
	if _, err := New(Config{Endpoint: "https://user:hunter2@h", Bucket: "bbb"}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("New with a password in the endpoint = %v", err)
	}
}

// Every read and write sets the deadline.
func TestStallConnSetsDeadlines(t *testing.T) {
	t.Parallel()
	var c deadlines
	conn := stallConn{&c, stallTimeout}
	before := time.Now()
	_, _ = conn.Read(nil)
	if c.read.Before(before.Add(stallTimeout)) || !c.write.IsZero() {
		t.Errorf("Read sets %+v", c)
	}
	_, _ = conn.Write(nil)
	if c.read != c.write || c.write.Before(before.Add(stallTimeout)) {
		t.Errorf("Write sets %+v", c)
	}
}
