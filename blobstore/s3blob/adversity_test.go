package s3blob

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/s3server"
)

var long = flag.Bool("long", false, "with an object of 150 MB, and more rounds")

// wired returns a Bucket that reaches the shared server through a faulty wire, and
// a direct one on the same S3 bucket.
func wired(t *testing.T, stall time.Duration) (b, direct *Bucket, w *s3server.Wire) {
	t.Helper()
	cfg := config(server)
	direct = ready(t, cfg)
	w = server.Wire(t)
	cfg.Endpoint, cfg.stall = w.Endpoint, stall
	return ready(t, cfg), direct, w
}

// bytesOf returns size bytes that are specific to n.
func bytesOf(n, size int) []byte {
	h := sha256.Sum256(fmt.Append(nil, n))
	return bytes.Repeat(h[:], size/len(h)+1)[:size]
}

// holds fails unless the object under key is want.
func holds(t *testing.T, b *Bucket, key string, want []byte) {
	t.Helper()
	r, err := b.Get(t.Context(), key)
	if err != nil {
		t.Errorf("get %s: %v", key, err)
		return
	}
	defer r.Close()
	have, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(have, want) {
		t.Errorf("%s is %d bytes, %v; want the %d put", key, len(have), err, len(want))
	}
}

// If the connection breaks in the middle of a Put, in one request or in parts, the
// old object stays intact and a retry stores the new one.
func TestInterruptedPutKeepsOldObject(t *testing.T) {
	t.Parallel()
	b, direct, w := wired(t, 0)
	for n, size := range []int{1 << 20, partSize + 1<<20} {
		key := fmt.Sprint("torn-", n)
		old, fresh := bytesOf(n, size/2), bytesOf(n+10, size)
		put := func() error { return b.Put(t.Context(), key, bytes.NewReader(fresh), int64(size)) }
		if err := direct.Put(t.Context(), key, bytes.NewReader(old), int64(len(old))); err != nil {
			t.Fatal(err)
		}
		w.Do(s3server.Fault{Up: 300_000})
		wantUnavailable(t, put(), "put "+key)
		if met := w.Met(); met == 0 || met > 2*attempts {
			t.Errorf("%d connections for one call", met)
		}
		holds(t, direct, key, old)
		w.Do(s3server.Fault{Up: 300_000, Times: 1}) // a transient fault is hidden from the caller
		if err := put(); err != nil {
			t.Error(err)
		}
		holds(t, direct, key, fresh)
	}
}

// If the response is lost after the server stored the object, the outcome is
// unknown and a retry is safe.
func TestPutRetriesAfterLostResponse(t *testing.T) {
	t.Parallel()
	cfg := config(server)
	ready(t, cfg)
	var lose atomic.Int32
	b := withMiddleMan(t, cfg, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && r.Method != http.MethodGet && lose.Add(-1) >= 0 {
			_ = resp.Body.Close()
			return nil, io.ErrUnexpectedEOF
		}
		return resp, err
	})
	for n, size := range []int{1000, 2*partSize + 5} {
		for _, times := range []int32{1, attempts + 10} {
			lose.Store(times)
			want := bytesOf(n, size)
			err := b.Put(t.Context(), "lost", bytes.NewReader(want), int64(size))
			if err != nil && !errors.Is(err, blobstore.ErrUnavailable) {
				t.Errorf("%d responses lost: %v", times, err)
			}
			if lose.Store(0); err != nil {
				if err := b.Put(t.Context(), "lost", bytes.NewReader(want), int64(size)); err != nil {
					t.Error(err)
				}
			}
			holds(t, b, "lost", want)
		}
	}
}

func TestInterruptedGetIsError(t *testing.T) {
	t.Parallel()
	b, _, w := wired(t, 0)
	want := bytesOf(1, 4<<20)
	blobs := blobstore.New(b)
	ref, err := blobs.Put(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	w.Do(s3server.Fault{Down: 2 << 20})
	_, err = blobs.Get(t.Context(), ref)
	wantUnavailable(t, err, "get "+ref.Key())
	w.Do(s3server.Fault{})
	if p, err := blobs.Get(t.Context(), ref); err != nil || !bytes.Equal(p, want) {
		t.Errorf("afterwards: %d bytes, %v", len(p), err)
	}
}

// A server that accepts connections and never responds delays a call by a few
// timeouts at most.
func TestSilentServerTimesOut(t *testing.T) {
	t.Parallel()
	b, _, w := wired(t, time.Second)
	w.Do(s3server.Fault{Hang: true})
	wantUnavailable(t, b.Put(t.Context(), "a", strings.NewReader("x"), 1), "put a", "stopped responding")
	if met := w.Met(); met == 0 || met > 2*attempts {
		t.Errorf("%d connections for one call", met)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := b.Stat(ctx, "a")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is not the caller's deadline", err)
	}
	wantText(t, err, "stat a", "did not respond before the deadline")
}

// A server stops responding in the middle of a response, and of an upload.
func TestStalledTransferTimesOut(t *testing.T) {
	t.Parallel()
	cfg := config(server)
	cfg.CAFile, cfg.stall = "", 300*time.Millisecond
	release := make(chan struct{})
	half := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			_, _ = io.ReadFull(r.Body, make([]byte, 1000))
			<-release
			return
		}
		w.Header().Set("Content-Length", "2000")
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		_, _ = w.Write(make([]byte, 1000))
		_ = http.NewResponseController(w).Flush()
		<-release
	}))
	defer half.Close()
	defer close(release)
	cfg.Endpoint = half.URL
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, r)
	wantUnavailable(t, err, "get a")
	if n > 1000 {
		t.Errorf("%d bytes", n)
	}
	wantUnavailable(t, b.Put(t.Context(), "a", bytes.NewReader(make([]byte, 4<<20)), 4<<20), "put a")
}

func TestThrottledCallsAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
	}{{http.StatusServiceUnavailable, "SlowDown"}, {http.StatusTooManyRequests, "TooManyRequests"}, {http.StatusTooManyRequests, ""}} {
		for what, call := range map[string]func(*Bucket) error{
			"put a":    func(b *Bucket) error { return b.Put(t.Context(), "a", strings.NewReader("x"), 1) },
			"stat a":   func(b *Bucket) error { _, err := b.Stat(t.Context(), "a"); return err },
			"delete a": func(b *Bucket) error { return b.Delete(t.Context(), "a") },
		} {
			t.Run(fmt.Sprint(what, c.status, c.code), func(t *testing.T) {
				t.Parallel()
				var calls atomic.Int32
				b := withMiddleMan(t, config(server), func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
					calls.Add(1)
					resp := answer(r, c.status, c.code)
					resp.Header.Set("Retry-After", "1")
					return resp, nil
				})
				wantUnavailable(t, call(b), what, "is overloaded")
				if n := calls.Load(); n < 2 || n > attempts {
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}

func TestRefusalNamesFix(t *testing.T) {
	t.Parallel()
	for code, fix := range map[string]string{
		"SignatureDoesNotMatch": "correct the credentials", "InvalidAccessKeyId": "unknown access key",
		"ExpiredToken": "renew them", "AccessDenied": "allow the credentials to list the bucket",
		"NoSuchBucket": "create it or correct its name", "RequestTimeTooSkewed": "set the clock",
		"AuthorizationHeaderMalformed": "correct the region", "InternalError": "check its log",
	} {
		var calls atomic.Int32
		b := withMiddleMan(t, config(server), func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			calls.Add(1)
			return answer(r, map[bool]int{true: 500, false: 403}[code == "InternalError"], code), nil
		})
		err := b.Put(t.Context(), "a", strings.NewReader("x"), 1)
		wantText(t, err, "put a", fix, code)
		if _, serr := b.Stat(t.Context(), "a"); code != "NoSuchBucket" && code != "InternalError" {
			wantText(t, serr, "stat a", fix, code) // although the response has no body
		}
		if n := calls.Load(); n > 4*attempts {
			t.Errorf("%s: %d requests", code, n)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q has several lines", code, err)
		}
	}
}

func TestConnectionErrorsNameCause(t *testing.T) {
	t.Parallel()
	cfg := config(server)
	cfg.CAFile = otherAuthority(t)
	wantUnavailable(t, unready(t, cfg), "untrusted authority", "set the CA file")

	cfg = config(server)
	cfg.Endpoint = strings.Replace(cfg.Endpoint, "127.0.0.1", "127.0.0.2", 1)
	wantUnavailable(t, unready(t, cfg)) // no server listens there; some systems have no such address

	plain := httptest.NewServer(nil)
	defer plain.Close()
	cfg = config(server)
	cfg.Endpoint = strings.Replace(plain.URL, "http://", "https://", 1)
	wantUnavailable(t, unready(t, cfg), "HTTP")

	gone := httptest.NewServer(nil)
	gone.Close()
	cfg.Endpoint, cfg.CAFile = gone.URL, ""
	wantUnavailable(t, unready(t, cfg), "no server listens there")
}

// otherAuthority writes a self-signed certificate that did not sign the server's.
func otherAuthority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "other authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "other.pem")
	testkit.WriteFile(t, path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return path
}

// A deleted bucket is not replaced by an empty one, even with Config.Create.
func TestDeletedBucketIsReportedAndNotRecreated(t *testing.T) {
	t.Parallel()
	cfg := config(server)
	b := ready(t, cfg)
	if err := b.Put(t.Context(), "a", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(server.BucketOf(cfg.Bucket), filepath.Join(t.TempDir(), "away")); err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func() error{
		"bucket": func() error { return b.Ready(t.Context()) },
		"put a":  func() error { return b.Put(t.Context(), "a", strings.NewReader("x"), 1) },
		"put b":  func() error { return b.Put(t.Context(), "b", bytes.NewReader(make([]byte, partSize+1)), partSize+1) },
		"get a":  func() error { _, err := b.Get(t.Context(), "a"); return err },
		"list": func() (err error) {
			for _, err = range b.List(t.Context(), "") {
			}
			return err
		},
	} {
		wantRefusal(t, call(), what, "NoSuchBucket", "create it or correct its name")
	}
	if _, err := os.Stat(server.BucketOf(cfg.Bucket)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the bucket was created again: %v", err)
	}
}

// A listing of several pages, of which one fails once or permanently, yields all
// keys in order or an error.
func TestListManyPagesIsCompleteOrError(t *testing.T) {
	t.Parallel()
	cfg := config(server)
	ready(t, cfg)
	const n = 2005
	for i := range n { // the server keeps objects as files
		dir := filepath.Join(server.BucketOf(cfg.Bucket), fmt.Sprintf("d%02d", i%100))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		testkit.WriteFile(t, filepath.Join(dir, fmt.Sprintf("k%04d", i)), []byte("x"))
	}
	var page, failFrom, failTimes atomic.Int32
	b := withMiddleMan(t, cfg, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if page.Add(1) >= failFrom.Load() && failTimes.Add(-1) >= 0 {
			return answer(r, http.StatusServiceUnavailable, "SlowDown"), nil
		}
		return next.RoundTrip(r)
	})
	list := func() (keys int, err error) {
		last := ""
		for info, err := range b.List(t.Context(), "") {
			if err != nil {
				return keys, err
			}
			if info.Key <= last {
				t.Errorf("%s after %s", info.Key, last)
			}
			last = info.Key
			keys++
		}
		return keys, nil
	}
	if got, err := list(); got != n || err != nil || page.Load() != 3 {
		t.Errorf("%d keys in %d pages, %v", got, page.Load(), err)
	}
	page.Store(0)
	failFrom.Store(2)
	failTimes.Store(1)
	if got, err := list(); got != n || err != nil {
		t.Errorf("with one page rejected once: %d keys, %v", got, err)
	}
	page.Store(0)
	failFrom.Store(3)
	failTimes.Store(1000)
	got, err := list()
	wantUnavailable(t, err, "list", "is overloaded")
	if got != 2000 {
		t.Errorf("%d keys before the page that failed", got)
	}
}

// Not parallel, because it counts goroutines.
func TestFaultsLeakNoGoroutines(t *testing.T) {
	cfg := config(server)
	ready(t, cfg)
	w := server.Wire(t)
	cfg.Endpoint, cfg.stall = w.Endpoint, 200*time.Millisecond
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	body := bytesOf(1, partSize+100)
	if err := b.Put(t.Context(), "a", bytes.NewReader(body), int64(len(body))); err != nil {
		t.Fatal(err)
	}
	rounds := 1
	if *long {
		rounds = 20
	}
	runtime.GC()
	before := runtime.NumGoroutine()
	for range rounds {
		for _, f := range []s3server.Fault{{Up: 5000}, {Down: 10_000}, {Hang: true}} {
			w.Do(f)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			if err := b.Put(ctx, "b", bytes.NewReader(body), int64(len(body))); err == nil && f.Up != 0 {
				t.Errorf("%+v: put succeeded", f)
			}
			if r, err := b.Get(ctx, "a"); err == nil {
				if _, err := io.Copy(io.Discard, r); err == nil && f.Down != 0 {
					t.Errorf("%+v: read succeeded", f)
				}
				_ = r.Close()
			}
			for _, err := range b.List(ctx, "") {
				_ = err
			}
			cancel()
		}
	}
	w.Do(s3server.Fault{})
	holds(t, b, "a", body)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	w.Do(s3server.Fault{})
	var after int
	for range 3000 { // 30 s
		if after = runtime.NumGoroutine(); after <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines, before %d:\n%s", after, before, stacks[:runtime.Stack(stacks, true)])
}

// A large object is uploaded in parts, some of which are lost and retried.
func TestLargeObjectSurvivesLostParts(t *testing.T) {
	t.Parallel()
	b, direct, w := wired(t, 0)
	size := 3*partSize + 12345
	if *long {
		size = 150 << 20
	}
	want := make([]byte, size)
	for i := 0; i < size; i += 4096 { // no two parts are the same
		h := sha256.Sum256(fmt.Append(nil, i))
		copy(want[i:], h[:])
	}
	cut := s3server.Fault{Up: partSize + partSize/2, Times: 3} // in the second part of each connection
	w.Do(cut)
	if err := b.Put(t.Context(), "large", struct{ io.Reader }{bytes.NewReader(want)}, int64(size)); err != nil {
		t.Fatal(err)
	}
	if w.Met() == 0 {
		t.Error("no connection was cut")
	}
	holds(t, direct, "large", want)
	info, err := direct.Stat(t.Context(), "large")
	if err != nil || info.Size != int64(size) {
		t.Errorf("%+v, %v", info, err)
	}
	// A failed upload of another version keeps this one intact.
	w.Do(s3server.Fault{Up: partSize / 2})
	other := bytes.Clone(want)
	other[size-1] ^= 1
	wantUnavailable(t, b.Put(t.Context(), "large", bytes.NewReader(other), int64(size)), "put large")
	holds(t, direct, "large", want)
}
