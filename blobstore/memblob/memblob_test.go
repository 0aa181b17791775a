package memblob_test

import (
	"testing"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/blobstoretest"
	"github.com/sesslog/sesslog/blobstore/memblob"
)

func TestBucket(t *testing.T) {
	t.Parallel()
	blobstoretest.Test(t, func(*testing.T) blobstore.Bucket { return memblob.New() })
}
