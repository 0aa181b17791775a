package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/doctor"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/materializer/removal"
	"github.com/sesslog/sesslog/materializer/verify"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

// A node is a whole node in this process: a real server, real files.
type node struct {
	*client.Client
	server  *server.Server
	bucket  blobstore.Bucket
	conn    *nats.Conn
	log     *stream.Log
	cache   *materializer.Cache
	remover *removal.Remover
	stop    func()
}

type nodeOption func(*server.Config)

// startNode runs a node on a server of its own until the test ends.
func startNode(t *testing.T, opts ...nodeOption) *node {
	t.Helper()
	ctx := t.Context()
	var asked server.Config // for what the parts below the server are told, too
	for _, o := range opts {
		o(&asked)
	}
	broker := embeddedtest.Start(t)
	conn, err := broker.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	bucket, err := fsblob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	blobs := blobstore.NewCached(bucket, 1<<20)
	log, err := stream.OpenLog(ctx, conn, stream.LogConfig{Name: "main", Blobs: materializer.NewBlobs(blobs), Tracer: asked.Tracer})
	if err != nil {
		t.Fatal(err)
	}
	snapshots := materializer.NewSnapshots(bucket)
	sessions := engine.NewSessions(engine.Config{
		Log: log, Blobs: materializer.NewBlobs(blobs), Snapshots: snapshots, Dialects: dialect.All(), Host: "test", Logger: quiet,
		Tracer: asked.Tracer,
	})
	cache := materializer.NewCache(sessions, 64<<20)
	directory, err := index.Open(ctx, index.Config{Path: filepath.Join(t.TempDir(), "index.db"), Log: log.Name(), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	audit, err := stream.OpenAudit(ctx, js, log.Name(), 1)
	if err != nil {
		t.Fatal(err)
	}
	mat := materializer.New(materializer.Config{
		Log: log, Sessions: sessions, Cache: cache, Snapshots: snapshots, Directory: directory, Logger: quiet, Tracer: asked.Tracer,
	})
	remover := &removal.Remover{
		Log: log, Sessions: sessions, Cache: cache, Materializer: mat, Directory: directory, Snapshots: snapshots, Window: 720 * time.Hour,
	}
	cfg := server.Config{
		Log: log, Sessions: sessions, Cache: cache, Materializer: mat, Directory: directory,
		Snapshots: snapshots, Blobs: blobs, Audit: audit, Remover: remover, Node: "test", Version: "test", Logger: quiet,
		Tokens: access.NewTokenStore(js, log.Name(), 1, quiet),
	}
	cfg.Doctor = &doctor.Doctor{
		Log: log, Sessions: sessions, Materializer: mat, Directory: directory, Bucket: bucket, Blobs: blobs, Audit: audit,
		Presence: stream.NewPresence(js, log.Name(), 1, session.Presence{}),
		Verifier: &verify.Verifier{
			Log: log, Sessions: sessions, Cache: cache, Materializer: mat, Directory: directory, Snapshots: snapshots, Blobs: blobs,
		},
		Node: doctor.Node{Name: "test", Ready: func(context.Context) error { return nil }, Store: func(context.Context) error { return nil }},
	}
	for _, o := range opts {
		o(&cfg)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{server: server.New(cfg), bucket: bucket, conn: conn, log: log, cache: cache, remover: remover}
	n.Client = &client.Client{Base: "http://" + ln.Addr().String(), Token: cfg.Token}
	http.DefaultClient.Transport.(*conformity).watch(n.Base)
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{}, 3)
	go func() { _ = cfg.Tokens.Run(work); done <- struct{}{} }()
	go func() { _ = n.server.Run(work, ln); done <- struct{}{} }()
	go func() { _ = mat.Run(work); _ = directory.Close(); done <- struct{}{} }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		for range cap(done) {
			<-done
		}
	})
	t.Cleanup(n.stop)
	return n
}

// importText imports a file, which must go well.
func (n *node) importText(t *testing.T, file string) api.Imported {
	t.Helper()
	res, err := n.Import(t.Context(), strings.NewReader(file), int64(len(file)), client.ImportOptions{})
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	return res
}

// read reads all of what a call of the client returned.
func read(t *testing.T, r io.ReadCloser, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// detail is the problem document that err carries.
func detail(t *testing.T, err error) api.Detail {
	t.Helper()
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		t.Fatalf("error is %v, want a problem document", err)
	}
	return e.Detail
}

// request sends a request that the client would not send.
func (n *node) request(t *testing.T, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, n.Base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
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

// mustJSON decodes b.
func mustJSON[T any](t *testing.T, b string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(b), &v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}
