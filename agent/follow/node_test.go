package follow_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/internal/nodetest"
	"github.com/sesslog/sesslog/session"
)

// A cluster is a real server with a log, for several nodes.
type cluster struct {
	conn   *nats.Conn
	bucket blobstore.Bucket
}

func startCluster(t testing.TB) *cluster {
	t.Helper()
	bucket, err := fsblob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{nodetest.Connect(t), bucket}
}

// node runs a node until the test ends, and returns a client to it.
func (c *cluster) node(t testing.TB) *client.Client {
	t.Helper()
	return nodetest.Start(t, nodetest.Config{
		Conn: c.conn, Bucket: c.bucket, Level: slog.LevelError,
		Presence: session.Presence{ID: ulid.Make().String(), Agent: "test"},
	}).Client
}

// A line is a connection to a node that can be cut and can lose answers.
type line struct {
	down atomic.Bool
	lose atomic.Int64 // how many answers to writes to lose
	hang atomic.Bool  // requests get no answer
	hung atomic.Int64 // how many of them have a deadline
	sent atomic.Int64 // bytes of requests
	slow atomic.Int64 // how many writes to delay, without an answer
	rest sync.WaitGroup
	late atomic.Pointer[late]
	// before is called with each request before it is sent.
	before atomic.Pointer[func(*http.Request)]
}

// through returns a client of c's node over l.
func (l *line) through(c *client.Client) *client.Client {
	return &client.Client{Base: c.Base, Token: c.Token, HTTP: &http.Client{Transport: l}}
}

var errCut = &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}

// RoundTrip implements http.RoundTripper.
func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.down.Load() {
		return nil, errCut
	}
	if l.hang.Load() {
		if _, ok := r.Context().Deadline(); ok {
			l.hung.Add(1)
		}
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if x := l.late.Load(); x.is(r) && l.late.CompareAndSwap(x, nil) {
		return nil, x.take(r)
	}
	if l.slow.Load() > 0 && r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/claims") && !strings.Contains(r.URL.Path, "/presence") && l.slow.Add(-1) >= 0 {
		x := &late{then: func() {}}
		err := x.take(r)
		l.rest.Go(func() {
			time.Sleep(rand.N(30 * time.Millisecond)) // random timing; the test does not depend on it
			if r, err := http.DefaultTransport.RoundTrip(x.request); err == nil {
				_ = r.Body.Close()
			}
		})
		return nil, err
	}
	if f := l.before.Load(); f != nil {
		(*f)(r)
	}
	l.sent.Add(r.ContentLength)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.Method == http.MethodGet {
		return resp, err
	}
	if l.lose.Load() > 0 && l.lose.Add(-1) >= 0 {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return nil, errors.New("the answer was lost")
	}
	return resp, nil
}

// exported returns the session as a file of its agent.
func exported(t testing.TB, node *client.Client, id string) []byte {
	t.Helper()
	r, err := node.Export(t.Context(), id, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// entries returns the session's entry lines.
func entries(t testing.TB, node *client.Client, id string) [][]byte {
	t.Helper()
	r, err := node.Entries(t.Context(), id, false, client.View{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(b, []byte("\n"))
	return lines[:len(lines)-1]
}
