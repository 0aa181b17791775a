package s3blob

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/blobstoretest"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/s3server"
)

// server is shared by all tests that do not stop or damage it.
var server *s3server.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "s3blob-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if server, err = s3server.Launch(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Stop()
	flag.Parse()
	testkit.MoreParallel()
	if code = m.Run(); code != 0 {
		fmt.Fprintf(os.Stderr, "log of the S3 server:\n%s", server.Log())
	}
	return code
}

var buckets atomic.Int64

// config describes a bucket that does not exist yet.
func config(s *s3server.Server) Config {
	return Config{
		Endpoint:  s.Endpoint,
		Region:    s.Region,
		Bucket:    fmt.Sprintf("bucket-%d", buckets.Add(1)),
		Create:    true,
		AccessKey: s.AccessKey,
		SecretKey: s.SecretKey,
		CAFile:    s.CAFile,
		PathStyle: true,
	}
}

func ready(t *testing.T, cfg Config) *Bucket {
	t.Helper()
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// The subtests share one S3 bucket under different prefixes, so that leaks between
// prefixes fail them. The fault tests use buckets without a prefix.
func TestBucket(t *testing.T) {
	t.Parallel()
	shared := config(server)
	blobstoretest.Test(t, func(t *testing.T) blobstore.Bucket {
		cfg := shared
		cfg.Prefix = fmt.Sprintf("some/where-%d", buckets.Add(1))
		return ready(t, cfg)
	})
}
