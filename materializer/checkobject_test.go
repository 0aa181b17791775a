package materializer_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/snapshot"
	"github.com/sesslog/sesslog/materializer"
)

func TestCheckObjectFindsEveryFlippedBitOfContent(t *testing.T) {
	t.Parallel()
	plain := bytes.Repeat([]byte("a line of the snapshot\n"), 20)
	packed, err := snapshot.Pack(plain)
	if err != nil {
		t.Fatal(err)
	}
	bucket := memblob.New()
	s := materializer.NewSnapshots(bucket)
	for _, key := range []string{
		materializer.SnapshotKey("main", "a-session", 7, core.DigestOf(plain)),
		materializer.ChangeKey("main", "a-session", 7, core.DigestOf(plain)),
	} {
		check := func(b []byte) error {
			t.Helper()
			if err := bucket.Put(t.Context(), key, bytes.NewReader(b), int64(len(b))); err != nil {
				t.Fatal(err)
			}
			return s.CheckObject(t.Context(), key)
		}
		if err := check(packed); err != nil {
			t.Errorf("intact: %v", err)
		}
		for i := range 8 * len(packed) {
			b := bytes.Clone(packed)
			b[i/8] ^= 1 << (i % 8)
			err := check(b)
			if got, uerr := snapshot.Unpack(b); (err != nil) != (uerr != nil || !bytes.Equal(got, plain)) {
				t.Errorf("bit %d: %v; unpacked %d bytes, %v", i, err, len(got), uerr)
			}
			if err != nil && !errors.Is(err, core.ErrCorrupt) {
				t.Errorf("bit %d: %v", i, err)
			}
		}
		for n := range packed {
			if got, err := snapshot.Unpack(packed[:n]); err == nil && bytes.Equal(got, plain) {
				continue // a part of the table of frames is missing
			}
			if err := check(packed[:n]); !errors.Is(err, core.ErrCorrupt) {
				t.Errorf("%d of %d bytes: %v", n, len(packed), err)
			}
		}
	}
	if err := s.CheckObject(t.Context(), "snapshots/main/a-session/1-0.jsonl.zst"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("of a missing object: %v", err)
	}
}
