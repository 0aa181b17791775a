package blobstoretest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/blobstore"
)

var trashPromises = []promise{
	{"BlobThatIsOldIsRewritten", blobOld},
	{"TrashIsReadableUntilPurged", trashRead},
	{"TrashSkipsYoungBlobs", trashYoung},
	{"TrashIsRestored", trashRestore},
	{"TrashIsRestoredByPut", trashPut},
	{"TrashKeepsCopiesSeparate", trashCopies},
	{"TrashRestoresNoDamagedCopy", trashDamaged},
	{"TrashSurvivesInterruptionAtAnyStep", trashStops},
}

// later returns a time after every write, allowing for clock skew.
func later() time.Time { return time.Now().Add(time.Hour) }

func blobOld(t *testing.T, b blobstore.Bucket) {
	puts := 0
	counting := Failing{Bucket: b, Before: func(_ context.Context, op Op, _ string) error {
		if op == Put {
			puts++
		}
		return nil
	}}
	for _, c := range []struct {
		grace time.Duration
		want  int
	}{{time.Hour, 1}, {time.Nanosecond, 4}} {
		blobs := blobstore.New(counting).WithGrace(c.grace)
		for range 3 {
			if _, err := blobs.Put(t.Context(), []byte("a blob")); err != nil {
				t.Fatal(err)
			}
		}
		if puts != c.want {
			t.Errorf("%d writes in all after three puts with a grace of %v; want %d", puts, c.grace, c.want)
		}
	}
}

// discarded puts a blob and moves it to the trash.
func discarded(t *testing.T, blobs *blobstore.Blobs, p []byte) blobstore.Ref {
	t.Helper()
	ref, err := blobs.Put(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if moved, err := blobs.Discard(t.Context(), ref, later()); !moved || err != nil {
		t.Fatalf("Discard = %v, %v", moved, err)
	}
	return ref
}

func trashOf(t *testing.T, blobs *blobstore.Blobs) (all []blobstore.Trashed) {
	t.Helper()
	for c, err := range blobs.Trash(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func listed(t *testing.T, blobs *blobstore.Blobs) (refs []blobstore.Ref) {
	t.Helper()
	for info, err := range blobs.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, info.Ref)
	}
	return refs
}

func wantBlob(t *testing.T, blobs *blobstore.Blobs, ref blobstore.Ref, want []byte) {
	t.Helper()
	have, err := blobs.Get(t.Context(), ref)
	if err != nil || !bytes.Equal(have, want) {
		t.Errorf("Get returns %d bytes, %v; want the %d put", len(have), err, len(want))
	}
	if info, err := blobs.Stat(t.Context(), ref); err != nil || info.Ref != ref || info.Size != int64(len(want)) {
		t.Errorf("Stat = %+v, %v", info, err)
	}
}

func trashRead(t *testing.T, b blobstore.Bucket) {
	blobs, p := blobstore.New(b), noise(1000)
	ref := discarded(t, blobs, p)
	if refs := listed(t, blobs); len(refs) > 0 {
		t.Errorf("blobs in the trash are listed: %v", refs)
	}
	wantBlob(t, blobs, ref, p)
	all := trashOf(t, blobs)
	if len(all) != 1 || all[0].Ref != ref || all[0].Size != 1000 || all[0].At.IsZero() || !strings.HasPrefix(all[0].Key, "trash/") {
		t.Fatalf("trash = %+v", all)
	}
	if moved, err := blobs.Discard(t.Context(), ref, later()); moved || err != nil {
		t.Errorf("Discard of a blob in the trash = %v, %v", moved, err)
	}
	for range 2 {
		if err := blobs.Purge(t.Context(), all[0]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := blobs.Get(t.Context(), ref); !errors.Is(err, blobstore.ErrNotFound) {
		t.Errorf("Get after Purge = %v; want ErrNotFound", err)
	}
	if err := blobs.Restore(t.Context(), ref); !errors.Is(err, blobstore.ErrNotFound) {
		t.Errorf("Restore after Purge = %v; want ErrNotFound", err)
	}
}

func trashYoung(t *testing.T, b blobstore.Bucket) {
	blobs := blobstore.New(b)
	ref, err := blobs.Put(t.Context(), noise(10))
	if err != nil {
		t.Fatal(err)
	}
	if moved, err := blobs.Discard(t.Context(), ref, time.Now().Add(-time.Hour)); moved || err != nil {
		t.Errorf("Discard of a young blob = %v, %v", moved, err)
	}
	if len(trashOf(t, blobs)) > 0 || len(listed(t, blobs)) != 1 {
		t.Error("a young blob was moved")
	}
}

func trashRestore(t *testing.T, b blobstore.Bucket) {
	blobs, p := blobstore.New(b), noise(large)
	ref := discarded(t, blobs, p)
	for range 2 {
		if err := blobs.Restore(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range trashOf(t, blobs) {
		if err := blobs.Purge(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	wantObject(t, b, ref.Key(), p)
}

func trashPut(t *testing.T, b blobstore.Bucket) {
	blobs, p := blobstore.New(b), noise(100)
	ref := discarded(t, blobs, p)
	if _, err := blobs.Put(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	wantObject(t, b, ref.Key(), p)
}

func trashCopies(t *testing.T, b blobstore.Bucket) {
	blobs, p := blobstore.New(b), noise(100)
	ref := discarded(t, blobs, p)
	discarded(t, blobs, p)
	all := trashOf(t, blobs)
	if len(all) != 2 || all[0].Ref != ref || all[1].Ref != ref {
		t.Fatalf("trash = %+v; want two copies", all)
	}
	if err := blobs.Purge(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	wantBlob(t, blobs, ref, p)
}

func trashDamaged(t *testing.T, b blobstore.Bucket) {
	blobs, p := blobstore.New(b), noise(100)
	ref := discarded(t, blobs, p)
	put(t, b, trashOf(t, blobs)[0].Key, noise(99))
	if err := blobs.Restore(t.Context(), ref); !errors.Is(err, blobstore.ErrCorrupt) {
		t.Errorf("Restore of a damaged copy = %v; want ErrCorrupt", err)
	}
	if refs := listed(t, blobs); len(refs) > 0 {
		t.Error("a damaged copy was restored")
	}
	// Restore uses any intact copy.
	for range 4 {
		discarded(t, blobs, p)
	}
	if err := blobs.Restore(t.Context(), ref); err != nil {
		t.Error(err)
	}
	wantObject(t, b, ref.Key(), p)
}

func trashStops(t *testing.T, b blobstore.Bucket) {
	p, stop := noise(100), errors.New("stopped")
	whole := blobstore.New(b)
	ref, err := whole.Put(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, act := range []func(*blobstore.Blobs) error{
		func(blobs *blobstore.Blobs) error {
			_, err := blobs.Discard(t.Context(), ref, later())
			return err
		},
		func(blobs *blobstore.Blobs) error { return blobs.Restore(t.Context(), ref) },
	} {
		for at := 1; ; at++ {
			calls := 0
			err := act(blobstore.New(Failing{Bucket: b, Before: func(context.Context, Op, string) error {
				if calls++; calls == at {
					return stop
				}
				return nil
			}}))
			wantBlob(t, whole, ref, p)
			if err == nil {
				break
			}
			if !errors.Is(err, stop) {
				t.Fatal(err)
			}
		}
	}
}
