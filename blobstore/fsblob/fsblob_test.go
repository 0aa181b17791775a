package fsblob_test

import (
	"testing"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/blobstoretest"
	"github.com/sesslog/sesslog/blobstore/fsblob"
)

func TestBucket(t *testing.T) {
	t.Parallel()
	blobstoretest.Test(t, func(t *testing.T) blobstore.Bucket { return open(t, t.TempDir()) })
}

func open(t *testing.T, dir string) *fsblob.Bucket {
	t.Helper()
	b, err := fsblob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}
