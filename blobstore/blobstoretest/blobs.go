package blobstoretest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sesslog/sesslog/blobstore"
)

var blobPromises = []promise{
	{"BlobRoundTrip", blobRoundTrip},
	{"BlobExistingIsNotRewritten", blobOnce},
	{"BlobUnknownIsNotFound", blobUnknown},
	{"BlobWithFlippedBitIsCorrupt", blobFlipped},
	{"BlobTruncatedIsCorrupt", blobTruncated},
	{"BlobIsRepairedByPut", blobRepaired},
	{"BlobListIsOrderedByRef", blobList},
}

func blobRoundTrip(t *testing.T, b blobstore.Bucket) {
	blobs := blobstore.New(b)
	for _, size := range []int{0, 1, 2, 32 << 10, 32<<10 + 1, 1 << 20} {
		want := noise(size)
		ref, err := blobs.Put(t.Context(), want)
		if err != nil || ref != blobstore.RefOf(want) {
			t.Fatalf("Put = %v, %v", ref, err)
		}
		have, err := blobs.Get(t.Context(), ref)
		if err != nil || !bytes.Equal(have, want) {
			t.Errorf("Get returns %d bytes, %v; want the %d put", len(have), err, size)
		}
		r, err := blobs.Open(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if have, err = io.ReadAll(iotest.OneByteReader(r)); err != nil || !bytes.Equal(have, want) {
			t.Errorf("Open returns %d bytes, %v; want the %d put", len(have), err, size)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if info, err := blobs.Stat(t.Context(), ref); err != nil || info.Ref != ref || info.Size != int64(size) {
			t.Errorf("Stat = %+v, %v", info, err)
		}
		wantObject(t, b, "blobs/sha256/"+ref.String()[7:9]+"/"+ref.String()[7:], want)
	}
}

func blobOnce(t *testing.T, b blobstore.Bucket) {
	puts := 0
	blobs := blobstore.New(Failing{Bucket: b, Before: func(_ context.Context, op Op, _ string) error {
		if op == Put {
			puts++
		}
		return nil
	}})
	for range 3 {
		if _, err := blobs.Put(t.Context(), []byte("once")); err != nil {
			t.Fatal(err)
		}
	}
	if puts != 1 {
		t.Errorf("three puts of a blob caused %d writes", puts)
	}
	if _, err := blobs.Rewrite(t.Context(), []byte("once")); err != nil || puts != 2 {
		t.Errorf("Rewrite = %v after %d writes", err, puts)
	}
}

func blobUnknown(t *testing.T, b blobstore.Bucket) {
	blobs, ref := blobstore.New(b), blobstore.RefOf([]byte("never put"))
	if _, err := blobs.Get(t.Context(), ref); !errors.Is(err, blobstore.ErrNotFound) {
		t.Errorf("Get = %v; want ErrNotFound", err)
	}
	if _, err := blobs.Open(t.Context(), ref); !errors.Is(err, blobstore.ErrNotFound) {
		t.Errorf("Open = %v; want ErrNotFound", err)
	}
	if _, err := blobs.Stat(t.Context(), ref); !errors.Is(err, blobstore.ErrNotFound) {
		t.Errorf("Stat = %v; want ErrNotFound", err)
	}
}

func blobFlipped(t *testing.T, b blobstore.Bucket) {
	for _, size := range []int{1, 1000, 100_000} {
		for _, at := range []int{0, size / 2, size - 1} {
			p := noise(size)
			p[at] ^= 1
			wantCorrupt(t, b, noise(size), p)
		}
	}
}

func blobTruncated(t *testing.T, b blobstore.Bucket) {
	p := noise(100_000)
	for _, left := range []int{0, 1, 32 << 10, len(p) - 1} {
		wantCorrupt(t, b, p, p[:left])
	}
	wantCorrupt(t, b, p, append(p, 0))
	wantCorrupt(t, b, nil, []byte("not empty"))
}

// wantCorrupt checks that damaged bytes are never returned as a complete blob, and
// that Rewrite repairs it.
func wantCorrupt(t *testing.T, b blobstore.Bucket, right, damaged []byte) {
	t.Helper()
	ref := blobstore.RefOf(right)
	put(t, b, ref.Key(), damaged)
	for _, blobs := range []*blobstore.Blobs{blobstore.New(b), blobstore.NewCached(b, 1<<20)} {
		for range 2 {
			have, err := blobs.Get(t.Context(), ref)
			if !errors.Is(err, blobstore.ErrCorrupt) || have != nil {
				t.Errorf("Get returns %d damaged bytes, %v; want ErrCorrupt", len(have), err)
			} else if !strings.Contains(err.Error(), ref.Key()) {
				t.Errorf("the error does not name the blob: %v", err)
			}
		}
		r, err := blobs.Open(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		have, err := io.ReadAll(r)
		if !errors.Is(err, blobstore.ErrCorrupt) || len(damaged) > 0 && len(have) >= len(damaged) {
			t.Errorf("Open returns %d of %d damaged bytes, %v; want ErrCorrupt before the last", len(have), len(damaged), err)
		}
	}
	blobs := blobstore.New(b)
	if _, err := blobs.Rewrite(t.Context(), right); err != nil {
		t.Error(err)
	}
	if have, err := blobs.Get(t.Context(), ref); err != nil || !bytes.Equal(have, right) {
		t.Errorf("after Rewrite: %v", err)
	}
}

func blobRepaired(t *testing.T, b blobstore.Bucket) {
	blobs, want := blobstore.New(b), noise(1000)
	for _, damaged := range [][]byte{nil, want[:999], append(noise(1000), 0), bytes.Repeat([]byte{1}, 1000)} {
		put(t, b, blobstore.RefOf(want).Key(), damaged)
		ref, err := blobs.Put(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		if have, err := blobs.Get(t.Context(), ref); err != nil || !bytes.Equal(have, want) {
			t.Errorf("Get returns %d bytes, %v; want the %d put", len(have), err, len(want))
		}
	}
}

func blobList(t *testing.T, b blobstore.Bucket) {
	blobs := blobstore.New(b)
	var want []blobstore.Ref
	for size := range 40 {
		ref, err := blobs.Put(t.Context(), noise(size))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, ref)
	}
	slices.SortFunc(want, func(x, y blobstore.Ref) int { return bytes.Compare(x[:], y[:]) })
	// None of these keys is that of a blob.
	name := strings.TrimPrefix(want[0].String(), "sha256:")
	for _, key := range []string{
		"snapshots/main/s/1", "blobs/sha256/note.txt", "blobs/sha256/" + name, "blobs/sha256/zz/" + name,
		"blobs/sha512/" + name[:2] + "/" + name, "blobs/sha256/" + name[:2] + "/" + name[:63],
	} {
		put(t, b, key, []byte("not a blob"))
	}
	var have []blobstore.Ref
	for info, err := range blobs.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		have = append(have, info.Ref)
	}
	if !slices.Equal(have, want) {
		t.Errorf("List = %v; want %v", have, want)
	}
}
