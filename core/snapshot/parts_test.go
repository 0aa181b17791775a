package snapshot

import (
	"strings"
	"testing"

	"github.com/sesslog/sesslog/blobstore"
)

func TestKeysAreThoseOfTheBlobStore(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"", "a", "a/b", "snapshots/main/session-1/0001-ab.change.zst", "/a", "a/", "a//b", "a/.b", ".", "..", "a/../b", "a b", "a\\b", "é", "\xff", "a\x00",
		strings.Repeat("a", maxSegment), strings.Repeat("a", maxSegment+1), strings.Repeat("a/", maxKey/2-1) + "aa", strings.Repeat("a/", maxKey/2) + "a",
	} {
		if got, want := isKey(key), blobstore.CheckKey(key) == nil; got != want {
			t.Errorf("isKey(%.40q) = %v, the blob store says %v", key, got, want)
		}
	}
}
