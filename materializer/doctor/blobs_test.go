package doctor

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core/report"
)

func TestAuditCapacityIsReported(t *testing.T) {
	t.Parallel()
	for used, want := range map[uint64]report.Level{0: "", 79_999: "", 80_000: report.Warning, 94_999: report.Warning, 95_000: report.Danger, 100_000: report.Danger} {
		f := &finder{}
		(&Doctor{}).auditRoom(f, used, 100_000)
		got := report.Level("")
		if len(f.found) > 0 {
			got = f.found[0].Level
		}
		if got != want {
			t.Errorf("with %d of 100,000: %q, want %q", used, got, want)
		}
	}
}

// An agedBucket reports objects as older than they are.
type agedBucket struct {
	blobstore.Bucket
	by time.Duration
}

func (b agedBucket) List(ctx context.Context, prefix string) iter.Seq2[blobstore.Info, error] {
	return func(yield func(blobstore.Info, error) bool) {
		for info, err := range b.Bucket.List(ctx, prefix) {
			info.Modified = info.Modified.Add(-b.by)
			if !yield(info, err) {
				return
			}
		}
	}
}

func TestUncollectedTrashIsReported(t *testing.T) {
	t.Parallel()
	bucket := memblob.New()
	blobs := blobstore.New(bucket).WithGrace(time.Hour)
	for _, text := range []string{"stays", "goes"} {
		if _, err := blobs.Put(t.Context(), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if moved, err := blobs.Discard(t.Context(), blobstore.RefOf([]byte("goes")), time.Now().Add(time.Hour)); err != nil || !moved {
		t.Fatal(moved, err)
	}
	for age, want := range map[time.Duration]int{0: 0, 2 * time.Hour: 0, 4 * time.Hour: 1} {
		f := &finder{check: "blobs"}
		seen, err := (&Doctor{Blobs: blobstore.New(agedBucket{bucket, age}).WithGrace(time.Hour)}).blobs(t.Context(), f)
		if err != nil || len(f.found) != want || seen != "1 blob, 5 bytes; 1 in the trash" {
			t.Errorf("after %v: %q, %+v, %v", age, seen, f.found, err)
		}
		if want > 0 && !strings.Contains(f.found[0].Next, "gc --yes") {
			t.Errorf("%+v", f.found[0])
		}
	}
}
