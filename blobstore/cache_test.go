package blobstore_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/blobstoretest"
	"github.com/sesslog/sesslog/blobstore/memblob"
)

// cachedBlobs puts n blobs of 100 bytes, with a cache for four, and counts the
// reads of the Bucket.
func cachedBlobs(t *testing.T, n int) (*blobstore.Blobs, []blobstore.Ref, *int) {
	t.Helper()
	reads := new(int)
	blobs := blobstore.NewCached(blobstoretest.Failing{Bucket: memblob.New(), Before: func(_ context.Context, op blobstoretest.Op, _ string) error {
		if op == blobstoretest.Get {
			*reads++
		}
		return nil
	}}, 400)
	var refs []blobstore.Ref
	for i := range n {
		ref, err := blobs.Put(t.Context(), bytes.Repeat([]byte{byte(i)}, 100))
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	return blobs, refs, reads
}

func read(t *testing.T, blobs *blobstore.Blobs, ref blobstore.Ref) []byte {
	t.Helper()
	p, err := blobs.Get(t.Context(), ref)
	if err != nil || blobstore.RefOf(p) != ref {
		t.Fatalf("Get returns %d bytes, %v", len(p), err)
	}
	return p
}

func TestCacheEvictsLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	blobs, refs, reads := cachedBlobs(t, 5)
	for _, i := range []int{0, 1, 2, 3, 0, 1, 2, 3} {
		read(t, blobs, refs[i])
	}
	if *reads != 4 {
		t.Errorf("%d reads of four blobs that fit", *reads)
	}
	read(t, blobs, refs[0])
	read(t, blobs, refs[4]) // evicts 1, the least recently used
	for _, i := range []int{0, 2, 3, 4} {
		read(t, blobs, refs[i])
	}
	if *reads != 5 {
		t.Errorf("%d reads; want 5", *reads)
	}
	read(t, blobs, refs[1])
	if *reads != 6 {
		t.Errorf("%d reads; want 6", *reads)
	}
}

func TestCacheSkipsLargeBlobs(t *testing.T) {
	t.Parallel()
	blobs, refs, reads := cachedBlobs(t, 4)
	for _, ref := range refs {
		read(t, blobs, ref)
	}
	large, err := blobs.Put(t.Context(), make([]byte, 399))
	if err != nil {
		t.Fatal(err)
	}
	read(t, blobs, large)
	read(t, blobs, large)
	for _, ref := range refs {
		read(t, blobs, ref)
	}
	if *reads != 6 {
		t.Errorf("%d reads; want 4 of the small blobs and 2 of the large one", *reads)
	}
}

func TestCachedBytesAreNotShared(t *testing.T) {
	t.Parallel()
	blobs, refs, _ := cachedBlobs(t, 1)
	for range 3 {
		clear(read(t, blobs, refs[0]))
		copy(read(t, blobs, refs[0]), "scribble")
	}
}
