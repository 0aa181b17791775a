package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// policyOf returns the bucket policy of docs/OPERATIONS.md for the given logs: the
// keys of each log reach only its own prefix.
func policyOf(t *testing.T, bucket string, logs ...string) string {
	t.Helper()
	doc := testkit.ReadFile(t, "../../docs/OPERATIONS.md")
	_, rest, found := strings.Cut(string(doc), "```json\n{\n  \"Version\"")
	block, _, whole := strings.Cut(rest, "```")
	if !found || !whole {
		t.Fatal("docs/OPERATIONS.md has no policy")
	}
	block = "{\n  \"Version\"" + block
	var policy struct{ Version, Statement any }
	var all []any
	for _, log := range logs {
		mine := strings.NewReplacer("keys-of-main", "keys-of-"+log, ":::sesslog", ":::"+bucket, "main/*", log+"/*").Replace(block)
		if err := json.Unmarshal([]byte(mine), &policy); err != nil {
			t.Fatal(err)
		}
		all = append(all, policy.Statement.([]any)...)
	}
	policy.Statement = all
	b, err := json.Marshal(policy)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sharedBucket returns a bucket in which logs a and b have keys for their prefixes,
// and a third user has no permission.
func sharedBucket(t *testing.T) *harness.Bucket {
	t.Helper()
	b := harness.StartBucket(t)
	if err := b.AddKeys(t.Context(), "keys-of-a", "keys-of-b", "stranger"); err != nil {
		t.Fatal(err)
	}
	if err := b.SetPolicy(t.Context(), b.Name, policyOf(t, b.Name, "a", "b")); err != nil {
		t.Fatal(err)
	}
	return b
}

// nodeWithKeys starts a node of a log that has only that log's keys.
func nodeWithKeys(t *testing.T, b *harness.Bucket, log string) *harness.Node {
	t.Helper()
	args := append(b.Args(), "--log-name", log, "--blobs-s3-prefix", log, "--blobs-s3-access-key", "keys-of-"+log, "SESS_BLOBS_S3_SECRET_KEY=keys-of-"+log+"-secret",
		"--blobs-disk", "0", "--snapshots-min-tail", "1KiB", "--snapshots-idle", "100ms")
	return harness.StartNode(t, args...)
}

// TestKeysOfOnePrefixSufficeForNode exercises every use of the object store with
// keys for one prefix.
func TestKeysOfOnePrefixSufficeForNode(t *testing.T) {
	t.Parallel()
	bucket := sharedBucket(t)
	node := nodeWithKeys(t, bucket, "a")
	h := harness.NewHost(t, node)
	// The image is larger than one upload part.
	file := harness.NewFile(t, harness.Shape{Turns: 2, Images: 1, ImageBytes: 9 << 20})
	gone := harness.NewFile(t, harness.Shape{Turns: 3, Images: 1})
	h.Do(t, "import", file.Save(t, h.Dir))
	h.Do(t, "import", gone.Save(t, h.Dir))
	appendText(t, node.Client(), gone.ID, "one more", client.AppendOptions{})
	h.Do(t, "checkpoint", file.ID)
	h.Do(t, "checkpoint", gone.ID)
	h.Do(t, "verify", "--all")
	h.Do(t, "blobs", "ls")
	h.Do(t, "blobs", "verify")
	h.Do(t, "backup", "--to", h.Path("backup"))
	h.Do(t, "erase", gone.ID, "--now", "--yes", "--why", "a test") // deletes its snapshots
	h.Do(t, "blobs", "gc", "--yes", "--why", "a test")
	node.Kill()
	node.Start(t)
	sameBytes(t, "the export after a new start", harness.Export(t, node.Client(), file.ID), file.Bytes)
	h.URL = node.URL
	h.Do(t, "status")
	if strings.Contains(node.Log(), "may not do this") {
		t.Error("the store refused something")
	}
}

// An objectAttempt is a request with certain keys for an object of log a.
type objectAttempt struct {
	what string
	do   func(context.Context, *minio.Core, string) error
}

func listing(o minio.ListObjectsOptions) func(context.Context, *minio.Core, string) error {
	return func(ctx context.Context, c *minio.Core, bucket string) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		for info := range c.ListObjectsIter(ctx, bucket, o) {
			return info.Err
		}
		return nil
	}
}

func putting(key string) func(context.Context, *minio.Core, string) error {
	return func(ctx context.Context, c *minio.Core, bucket string) error {
		_, err := c.Client.PutObject(ctx, bucket, key, strings.NewReader("x"), 1, minio.PutObjectOptions{})
		return err
	}
}

func copying(from, to string) func(context.Context, *minio.Core, string) error {
	return func(ctx context.Context, c *minio.Core, bucket string) error {
		_, err := c.Client.CopyObject(ctx, minio.CopyDestOptions{Bucket: bucket, Object: to}, minio.CopySrcOptions{Bucket: bucket, Object: from})
		return err
	}
}

// objectAttempts are made in this order; deletions come last.
var objectAttempts = []objectAttempt{
	{"list what log a has", listing(minio.ListObjectsOptions{Prefix: "a/", Recursive: true})},
	{"list everything", listing(minio.ListObjectsOptions{Recursive: true})},
	{"list what begins with a", listing(minio.ListObjectsOptions{Prefix: "a", Recursive: true})},
	{"read an object", func(ctx context.Context, c *minio.Core, bucket string) error {
		r, _, _, err := c.GetObject(ctx, bucket, "a/probe", minio.GetObjectOptions{})
		if err == nil {
			_ = r.Close()
		}
		return err
	}},
	{"see whether there is an object", func(ctx context.Context, c *minio.Core, bucket string) error {
		_, err := c.StatObject(ctx, bucket, "a/probe", minio.StatObjectOptions{})
		return err
	}},
	{"write an object", putting("a/written")},
	{"write over an object", putting("a/probe")},
	{"write beside all prefixes", putting("elsewhere")},
	{"begin an object in parts", func(ctx context.Context, c *minio.Core, bucket string) error {
		id, err := c.NewMultipartUpload(ctx, bucket, "a/parts", minio.PutObjectOptions{})
		if err == nil {
			err = c.AbortMultipartUpload(ctx, bucket, "a/parts", id)
		}
		return err
	}},
	{"copy an object within the prefix", copying("a/probe", "a/copy")},
	{"copy an object to the other prefix", copying("a/probe", "b/copy")},
	{"copy an object from the other prefix", copying("b/probe", "a/copy")},
	{"read by way of the other prefix", func(ctx context.Context, c *minio.Core, bucket string) error {
		r, _, _, err := c.GetObject(ctx, bucket, "b/../a/probe", minio.GetObjectOptions{})
		if err == nil {
			_ = r.Close()
		}
		return err
	}},
	{"see the bucket's policy", func(ctx context.Context, c *minio.Core, bucket string) error {
		_, err := c.GetBucketPolicy(ctx, bucket)
		return err
	}},
	{"change the bucket's policy", func(ctx context.Context, c *minio.Core, bucket string) error {
		return c.SetBucketPolicy(ctx, bucket, `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::`+bucket+`/*"}]}`)
	}},
	{"make a bucket", func(ctx context.Context, c *minio.Core, _ string) error {
		return c.MakeBucket(ctx, "another", minio.MakeBucketOptions{})
	}},
	{"delete the bucket", func(ctx context.Context, c *minio.Core, bucket string) error { return c.RemoveBucket(ctx, bucket) }},
	{"delete an object", func(ctx context.Context, c *minio.Core, bucket string) error {
		return c.RemoveObject(ctx, bucket, "a/probe", minio.RemoveObjectOptions{})
	}},
	{"delete several at once", func(ctx context.Context, c *minio.Core, bucket string) error {
		objects := make(chan minio.ObjectInfo, 1)
		objects <- minio.ObjectInfo{Key: "a/probe"}
		close(objects)
		for failed := range c.RemoveObjects(ctx, bucket, objects, minio.RemoveObjectsOptions{}) {
			return failed.Err
		}
		return nil
	}},
}

// TestKeysOfOnePrefixOpenNoOther compares a table of requests and answers with a
// golden file: the keys of two logs in one bucket, keys without permission, and
// invalid ones.
func TestKeysOfOnePrefixOpenNoOther(t *testing.T) {
	t.Parallel()
	bucket := sharedBucket(t)
	owner, err := bucket.Client(bucket.AccessKey, bucket.SecretKey)
	if err != nil {
		t.Fatal(err)
	}
	who := []struct{ name, access, secret string }{
		{"a", "keys-of-a", "keys-of-a-secret"},
		{"b", "keys-of-b", "keys-of-b-secret"},
		{"stranger", "stranger", "stranger-secret"},
		{"wrong", "keys-of-a", "keys-of-b-secret"},
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-40s", "ATTEMPT, ON WHAT LOG a HAS")
	for _, w := range who {
		fmt.Fprintf(&table, " %-8s", w.name)
	}
	table.WriteString("\n")
	for _, attempt := range objectAttempts {
		fmt.Fprintf(&table, "%-40s", attempt.what)
		for _, w := range who {
			for _, key := range []string{"a/probe", "b/probe"} {
				if err := putting(key)(t.Context(), owner, bucket.Name); err != nil {
					t.Fatal(err)
				}
			}
			c, err := bucket.Client(w.access, w.secret)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&table, " %-8s", objectAnswer(t, attempt, attempt.do(harness.Timeout(t), c, bucket.Name)))
		}
		table.WriteString("\n")
	}
	sameAttempts(t, "testdata/permissions-objects.golden", table.String())
}

// objectAnswer returns the result of an attempt.
func objectAnswer(t *testing.T, a objectAttempt, err error) string {
	t.Helper()
	if err == nil {
		return "yes"
	}
	// A deletion of several objects has an answer for each, without a status.
	if said := minio.ToErrorResponse(err); said.StatusCode == http.StatusForbidden || said.Code == minio.AccessDenied {
		return "refused"
	}
	t.Errorf("%s: %v", a.what, err)
	return "?"
}

// TestNodeWithKeysOfAnotherPrefixFailsToStart starts a node whose keys belong to
// another log's prefix.
func TestNodeWithKeysOfAnotherPrefixFailsToStart(t *testing.T) {
	t.Parallel()
	bucket := sharedBucket(t)
	args := append(bucket.Args(), "--log-name", "b", "--blobs-s3-prefix", "a", "--blobs-s3-access-key", "keys-of-b", "SESS_BLOBS_S3_SECRET_KEY=keys-of-b-secret")
	r := harness.NewNode(t, args...).Run(t)
	if r.Code != 1 || !strings.Contains(r.Err, "permission denied; allow the credentials to list the bucket") || strings.Contains(r.Err, "keys-of-b-secret") {
		t.Errorf("the output is: %s", r)
	}
}
