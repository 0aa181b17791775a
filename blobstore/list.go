package blobstore

import (
	"bytes"
	"context"
	"fmt"
	"iter"
)

// ListAfter is List that starts after the given Ref, which need not exist. It
// lists the Bucket in 256 parts, so that the last page costs about as much as the
// first.
func (b *Blobs) ListAfter(ctx context.Context, after Ref) iter.Seq2[BlobInfo, error] {
	return func(yield func(BlobInfo, error) bool) {
		for part := int(after[0]); part <= 0xff; part++ {
			for info, err := range b.list(ctx, fmt.Sprintf("%s%02x/", blobPrefix, part)) {
				if err == nil && bytes.Compare(info.Ref[:], after[:]) <= 0 {
					continue
				}
				if !yield(info, err) || err != nil {
					return
				}
			}
		}
	}
}

// list yields the blobs whose keys begin with prefix.
func (b *Blobs) list(ctx context.Context, prefix string) iter.Seq2[BlobInfo, error] {
	return func(yield func(BlobInfo, error) bool) {
		for info, err := range b.bucket.List(ctx, prefix) {
			if err != nil {
				yield(BlobInfo{}, err)
				return
			}
			ref, ok := refOfKey(info.Key)
			if ok && !yield(BlobInfo{Ref: ref, Size: info.Size, Modified: info.Modified}, nil) {
				return
			}
		}
	}
}
