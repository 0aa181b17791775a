package harness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/s3server"
)

// Bucket is a bucket on a separate S3 server.
type Bucket struct {
	*s3server.Server
	Name string
}

// StartBucket starts an S3 server and makes a bucket on it.
func StartBucket(tb testing.TB) *Bucket {
	tb.Helper()
	return bucketOn(tb, s3server.Start(tb))
}

// StartBucketAt is StartBucket at an address of this host that nodes in another
// network namespace can reach.
func StartBucketAt(tb testing.TB, ip string) *Bucket {
	tb.Helper()
	return bucketOn(tb, s3server.StartAt(tb, ip))
}

func bucketOn(tb testing.TB, s *s3server.Server) *Bucket {
	tb.Helper()
	b := &Bucket{Server: s, Name: "sessions"}
	if err := b.MakeBucket(tb.Context(), b.Name); err != nil {
		tb.Fatal(err)
	}
	return b
}

// Args returns the settings of a node that stores its blobs in b.
func (b *Bucket) Args() []string {
	return []string{
		"--blobs-store", "s3",
		"--blobs-s3-endpoint", b.Endpoint,
		"--blobs-s3-region", b.Region,
		"--blobs-s3-bucket", b.Name,
		"--blobs-s3-ca", b.CAFile,
		"--blobs-s3-access-key", b.AccessKey,
		"SESS_BLOBS_S3_SECRET_KEY=" + b.SecretKey,
	}
}

// StartCluster starts n nodes as one cluster with 3 replicas and b for their blobs,
// and returns once all are ready. They are named n1, n2 and so on.
func StartCluster(tb testing.TB, n int, b *Bucket, args ...string) []*Node {
	tb.Helper()
	nodes := NewCluster(tb, n, b, args...)
	StartAll(tb, nodes)
	return nodes
}

// NewCluster is StartCluster without the start.
func NewCluster(tb testing.TB, n int, b *Bucket, args ...string) []*Node {
	tb.Helper()
	routes := testkit.FreeAddrs(tb, n)
	nodes := make([]*Node, n)
	for i := range nodes {
		more := append(b.Args(),
			"--node", fmt.Sprintf("n%d", i+1),
			"--cluster-name", "e2e",
			"--cluster-listen", routes[i],
			"--cluster-routes", strings.Join(routes, ","))
		nodes[i] = NewNode(tb, append(more, args...)...)
	}
	return nodes
}
