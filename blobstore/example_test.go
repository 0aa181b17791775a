package blobstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/memblob"
)

// A blob is stored under the SHA-256 of its bytes. Any Bucket stores it: a
// directory (fsblob), an S3 server (s3blob) or memory.
func ExampleBlobs_Put() {
	ctx := context.Background()
	blobs := blobstore.New(memblob.New())
	ref, err := blobs.Put(ctx, []byte("hello"))
	if err != nil {
		log.Fatal(err)
	}
	again, err := blobs.Put(ctx, []byte("hello")) // is stored once
	fmt.Println(ref, again == ref, err)
	// Output: sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824 true <nil>
}

func ExampleBlobs_Get() {
	ctx := context.Background()
	blobs := blobstore.New(memblob.New())
	ref, err := blobs.Put(ctx, []byte("hello"))
	if err != nil {
		log.Fatal(err)
	}
	b, err := blobs.Get(ctx, ref)
	fmt.Println(string(b), err)

	_, err = blobs.Get(ctx, blobstore.RefOf([]byte("other")))
	fmt.Println(errors.Is(err, blobstore.ErrNotFound))
	// Output:
	// hello <nil>
	// true
}
