package backup_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/internal/nodetest"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
)

// A node is a node in this process whose bucket can be hooked.
type node struct {
	*nodetest.Node
	bucket *hooked
}

// A hooked bucket calls a function before each Stat.
type hooked struct {
	blobstore.Bucket
	look atomic.Pointer[func(key string)]
}

func (h *hooked) Stat(ctx context.Context, key string) (blobstore.Info, error) {
	if f := h.look.Load(); f != nil {
		(*f)(key)
	}
	return h.Bucket.Stat(ctx, key)
}

// startNode runs a node with its own server until the test ends.
func startNode(t *testing.T) *node { return startNodeOf(t, "main") }

func startNodeOf(t *testing.T, name string) *node {
	t.Helper()
	files, err := fsblob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bucket := &hooked{Bucket: files}
	return &node{bucket: bucket, Node: nodetest.Start(t, nodetest.Config{
		Log: name, Bucket: bucket, Uncached: true, First: stream.FirstPos(time.Now()),
		Policy: materializer.Policy{MinTail: 1 << 40, Idle: time.Hour}, // snapshots are made on request only
	})}
}

// bring imports a file.
func (n *node) bring(t *testing.T, file string) string {
	t.Helper()
	res, err := n.Import(t.Context(), strings.NewReader(file), int64(len(file)), client.ImportOptions{})
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	return string(res.Session)
}

// say appends a message.
func (n *node) say(t *testing.T, id, text string) {
	t.Helper()
	line := `{"type":"message","message":{"role":"user","content":"` + text + `"}}`
	if _, err := n.Append(t.Context(), id, []byte(line), client.AppendOptions{}); err != nil {
		t.Fatalf("append: %v", err)
	}
}
