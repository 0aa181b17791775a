package blobstoretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/sesslog/sesslog/blobstore"
)

// large is more than an adapter sends in one request.
const large = 12 << 20

// Test checks the buckets that open returns against the contract of
// blobstore.Bucket, and blobstore.Blobs on top of them. Each call of open must
// return a new, empty bucket. The subtests run in parallel.
func Test(t *testing.T, open func(*testing.T) blobstore.Bucket) {
	for _, p := range slices.Concat(bucketPromises, blobPromises, trashPromises) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.check(t, open(t))
		})
	}
}

type promise struct {
	name  string
	check func(*testing.T, blobstore.Bucket)
}

var bucketPromises = []promise{
	{"PutThenGet", putThenGet},
	{"PutTwice", putTwice},
	{"PutReplacesObject", putReplaces},
	{"PutWithWrongSizeStoresNothing", putWrongSize},
	{"PutWithFailingSourceStoresNothing", putFailingSource},
	{"PutDoesNotRetainBytes", putRetainsNothing},
	{"GetMissingIsNotFound", getMissing},
	{"GetDuringReplaceAndDelete", getDuringWrites},
	{"EmptyObject", emptyObject},
	{"LargeObject", largeObject},
	{"LargeObjectFromStream", largeStream},
	{"StatReturnsSizeAndTime", statReturns},
	{"ListIsOrderedAndComplete", listOrder},
	{"ListWithPrefix", listPrefix},
	{"ListEmpty", listEmpty},
	{"ListStopsEarly", listStops},
	{"ListManyPages", listPages},
	{"DeleteIsIdempotent", deleteTwice},
	{"DeleteThenPut", deleteThenPut},
	{"NestedKeysKeepObjectsIntact", nestedKeys},
	{"LongKeysWork", longKeys},
	{"HostileKeysAreRejected", hostileKeys},
	{"ContextCancelled", contextCancelled},
	{"ConcurrentPutsOfOneKey", concurrentPuts},
	{"ConcurrentUseOfManyKeys", concurrentKeys},
}

func putThenGet(t *testing.T, b blobstore.Bucket) {
	for _, size := range []int{1, 100, 4096, 100_000} {
		key := fmt.Sprintf("snapshots/main/session-1/%020d-0123456789abcdef.jsonl.zst", size)
		want := noise(size)
		put(t, b, key, want)
		wantObject(t, b, key, want)
	}
}

func putTwice(t *testing.T, b blobstore.Bucket) {
	put(t, b, "a/b", noise(1000))
	put(t, b, "a/b", noise(1000))
	wantObject(t, b, "a/b", noise(1000))
	wantKeys(t, b, "", "a/b")
}

func putReplaces(t *testing.T, b blobstore.Bucket) {
	for _, p := range []string{"the first is longer", "second", "", "the third and last"} {
		put(t, b, "a", []byte(p))
		wantObject(t, b, "a", []byte(p))
	}
}

func putWrongSize(t *testing.T, b blobstore.Bucket) {
	put(t, b, "there", []byte("old"))
	for _, size := range []int{0, 10, 100_000, large} {
		p := noise(size)
		for _, wrong := range []int64{-1, int64(size) - 1, int64(size) + 1} {
			for _, key := range []string{"absent", "there"} {
				if err := b.Put(t.Context(), key, bytes.NewReader(p), wrong); err == nil {
					t.Errorf("Put of %d bytes as %d succeeded", size, wrong)
				} else if errors.Is(err, blobstore.ErrUnavailable) {
					t.Errorf("Put of %d bytes as %d blames the backend: %v", size, wrong, err)
				}
			}
		}
	}
	wantKeys(t, b, "", "there")
	wantObject(t, b, "there", []byte("old"))
}

func putFailingSource(t *testing.T, b blobstore.Bucket) {
	put(t, b, "there", []byte("old"))
	// An adapter must not mistake an error of the source for one of the backend.
	for _, fault := range []error{errors.New("a fault of the source"), blobstore.ErrNotFound, io.ErrUnexpectedEOF} {
		for _, size := range []int{100, large} {
			for _, key := range []string{"absent", "there"} {
				src := io.MultiReader(bytes.NewReader(noise(size/2)), iotest.ErrReader(fault))
				if err := b.Put(t.Context(), key, src, int64(size)); !errors.Is(err, fault) || errors.Is(err, blobstore.ErrUnavailable) {
					t.Errorf("Put of a source that fails with %q = %v", fault, err)
				}
			}
		}
	}
	wantKeys(t, b, "", "there")
	wantObject(t, b, "there", []byte("old"))
}

func putRetainsNothing(t *testing.T, b blobstore.Bucket) {
	p := noise(1000)
	put(t, b, "a", p)
	if !bytes.Equal(p, noise(1000)) {
		t.Error("Put changed the bytes it was given")
	}
	clear(p)
	wantObject(t, b, "a", noise(1000))
}

func getMissing(t *testing.T, b blobstore.Bucket) {
	put(t, b, "a/b/c", []byte("x"))
	for _, key := range []string{"nothing", "a", "a/b", "a/b/d", "a/b/c/d", "a/b/c/d/e", "a/bb"} {
		if r, err := b.Get(t.Context(), key); !errors.Is(err, blobstore.ErrNotFound) {
			t.Errorf("Get(%q) = %v, %v; want ErrNotFound", key, r, err)
		} else if !strings.Contains(err.Error(), key) {
			t.Errorf("Get(%q): the error does not name the key: %v", key, err)
		}
		if info, err := b.Stat(t.Context(), key); !errors.Is(err, blobstore.ErrNotFound) {
			t.Errorf("Stat(%q) = %v, %v; want ErrNotFound", key, info, err)
		}
	}
}

func getDuringWrites(t *testing.T, b blobstore.Bucket) {
	old := noise(200_000)
	for _, change := range []func(key string){
		func(key string) { put(t, b, key, []byte("new")) },
		func(key string) { remove(t, b, key) },
	} {
		put(t, b, "a", old)
		r, err := b.Get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		change("a")
		// A backend may end the read with an error; it must not return other
		// bytes, or fewer, as the object.
		if have, err := io.ReadAll(r); err == nil && !bytes.Equal(have, old) {
			t.Errorf("read %d bytes that differ from those stored when Get was called", len(have))
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func emptyObject(t *testing.T, b blobstore.Bucket) {
	put(t, b, "a/empty", nil)
	wantObject(t, b, "a/empty", nil)
	wantKeys(t, b, "", "a/empty")
}

func largeObject(t *testing.T, b blobstore.Bucket) {
	want := noise(large + 1)
	put(t, b, "large", want)
	wantObject(t, b, "large", want)
	put(t, b, "large", want[1:])
	wantObject(t, b, "large", want[1:])
	wantKeys(t, b, "", "large")
}

func largeStream(t *testing.T, b blobstore.Bucket) {
	// Sizes around multiples of the usual part size.
	for _, size := range []int{8<<20 - 1, 8 << 20, 8<<20 + 1, 16 << 20} {
		want := noise(size)
		src := struct{ io.Reader }{iotest.HalfReader(bytes.NewReader(want))}
		if err := b.Put(t.Context(), "stream", src, int64(size)); err != nil {
			t.Fatal(err)
		}
		wantObject(t, b, "stream", want)
	}
}

func statReturns(t *testing.T, b blobstore.Bucket) {
	put(t, b, "a", noise(123))
	info, err := b.Stat(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if info.Key != "a" || info.Size != 123 || info.Modified.IsZero() {
		t.Errorf("Stat = %+v", info)
	}
	for listed, err := range b.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		// HTTP times have a resolution of seconds.
		if d := listed.Modified.Sub(info.Modified).Abs(); listed.Key != info.Key || listed.Size != info.Size || d.Seconds() >= 1 {
			t.Errorf("List returns %+v, Stat %+v", listed, info)
		}
	}
}

func listOrder(t *testing.T, b blobstore.Bucket) {
	keys := []string{
		// "/" must sort after "-" and ".", and before letters.
		"a-b", "a/b", "a.b", "a0", "aB", "ab", "a/b-c", "a/b.c/d", "a/bc/d", "a_",
		"A/b", "A0", "0", "z/z/z/z", "z/z/z-z", "z/z-", "b/" + strings.Repeat("x", 200),
	}
	for i, key := range keys {
		put(t, b, key, noise(i))
	}
	wantKeys(t, b, "", keys...)
	for info, err := range b.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if want := slices.Index(keys, info.Key); info.Size != int64(want) {
			t.Errorf("List returns size %d for %q; want %d", info.Size, info.Key, want)
		}
	}
}

func listPrefix(t *testing.T, b blobstore.Bucket) {
	keys := []string{"a", "ab/c", "ab/cd", "ab/d", "abc", "b/c/d", "b/c-d", "b/cc"}
	for _, key := range keys {
		put(t, b, key, []byte(key))
	}
	for _, prefix := range []string{"", "a", "ab", "ab/", "ab/c", "abc", "abc/", "b", "b/", "b/c", "b/c/", "b/c/d", "b/x", "x", "x/", "x/y/z", "a/"} {
		var want []string
		for _, key := range keys {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		wantKeys(t, b, prefix, want...)
	}
}

func listEmpty(t *testing.T, b blobstore.Bucket) {
	wantKeys(t, b, "")
	wantKeys(t, b, "a/b")
}

func listStops(t *testing.T, b blobstore.Bucket) {
	for _, key := range []string{"a/1", "a/2", "b"} {
		put(t, b, key, nil)
	}
	for info, err := range b.List(t.Context(), "") {
		if err != nil || info.Key != "a/1" {
			t.Fatalf("List starts with %v, %v", info, err)
		}
		break
	}
}

func listPages(t *testing.T, b blobstore.Bucket) {
	// S3 servers list up to 1000 objects at a time.
	const objects, writers = 1100, 8
	var keys []string
	for i := range objects {
		keys = append(keys, fmt.Sprintf("p/%04d", i))
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < objects; i += writers {
				put(t, b, keys[i], nil)
			}
		})
	}
	wg.Wait()
	wantKeys(t, b, "p/", keys...)
}

func deleteTwice(t *testing.T, b blobstore.Bucket) {
	put(t, b, "a/b", []byte("x"))
	put(t, b, "a/c", []byte("y"))
	for range 2 {
		remove(t, b, "a/b")
		if _, err := b.Stat(t.Context(), "a/b"); !errors.Is(err, blobstore.ErrNotFound) {
			t.Errorf("Stat after Delete = %v; want ErrNotFound", err)
		}
		wantKeys(t, b, "", "a/c")
	}
	remove(t, b, "never/existed")
	remove(t, b, "a") // a parent of a key is not an object
	remove(t, b, "a/c/d")
	wantObject(t, b, "a/c", []byte("y"))
}

func deleteThenPut(t *testing.T, b blobstore.Bucket) {
	for i := range 3 {
		put(t, b, "a/b", noise(i))
		wantObject(t, b, "a/b", noise(i))
		remove(t, b, "a/b")
	}
	wantKeys(t, b, "")
}

func nestedKeys(t *testing.T, b blobstore.Bucket) {
	put(t, b, "file", []byte("file"))
	put(t, b, "dir/deep/file", []byte("deep"))
	want := []string{"dir/deep/file", "file"}
	for _, key := range []string{"file/below", "file/below/that", "dir", "dir/deep"} {
		err := b.Put(t.Context(), key, strings.NewReader("x"), 1)
		switch {
		case err == nil:
			want = append(want, key)
		case !errors.Is(err, blobstore.ErrBadKey):
			t.Errorf("Put(%q) = %v; want nil or ErrBadKey", key, err)
		}
	}
	wantObject(t, b, "file", []byte("file"))
	wantObject(t, b, "dir/deep/file", []byte("deep"))
	wantKeys(t, b, "", want...)
	// The key becomes available once the parent object is deleted.
	remove(t, b, "file")
	put(t, b, "file/below", []byte("below"))
	wantObject(t, b, "file/below", []byte("below"))
}

func longKeys(t *testing.T, b blobstore.Bucket) {
	long := strings.Repeat("x", blobstore.MaxSegment) + "/" + strings.Repeat("y", blobstore.MaxSegment)
	long = long[:len(long)-2] + "/"
	long += strings.Repeat("z", blobstore.MaxKey-len(long))
	put(t, b, long, []byte("long"))
	wantObject(t, b, long, []byte("long"))
	wantKeys(t, b, long[:300], long)
	remove(t, b, long)
}

// hostile lists keys that every Bucket rejects, none of which is a valid prefix.
var hostile = []string{
	"..", ".", "../x", "a/../b", "a/..", "a/./b", "/a", "/", "//", "a//b", "a/.hidden", ".tmp/x", ".lock",
	"a b", "a\x00b", "a\nb", `a\b`, "a:b", "ä", "a\xffb", "a?b", "a#b", "a%2e%2e/b", "a*", "~/a", "a+b", "C:/a",
	strings.Repeat("x", blobstore.MaxSegment+1),
	"a/" + strings.Repeat("x", blobstore.MaxSegment+1),
	strings.Repeat("x/", blobstore.MaxKey/2) + "x",
}

func hostileKeys(t *testing.T, b blobstore.Bucket) {
	for _, key := range slices.Concat(hostile, []string{"", "a/"}) {
		name := key[:min(len(key), 40)]
		if err := b.Put(t.Context(), key, strings.NewReader("x"), 1); !errors.Is(err, blobstore.ErrBadKey) {
			t.Errorf("Put(%q) = %v; want ErrBadKey", name, err)
		} else if len(err.Error()) > 400 {
			t.Errorf("Put(%q): the error has %d bytes", name, len(err.Error()))
		}
		if _, err := b.Get(t.Context(), key); !errors.Is(err, blobstore.ErrBadKey) {
			t.Errorf("Get(%q) = %v; want ErrBadKey", name, err)
		}
		if _, err := b.Stat(t.Context(), key); !errors.Is(err, blobstore.ErrBadKey) {
			t.Errorf("Stat(%q) = %v; want ErrBadKey", name, err)
		}
		if err := b.Delete(t.Context(), key); !errors.Is(err, blobstore.ErrBadKey) {
			t.Errorf("Delete(%q) = %v; want ErrBadKey", name, err)
		}
	}
	for _, prefix := range hostile {
		if _, err := list(t.Context(), b, prefix); !errors.Is(err, blobstore.ErrBadKey) {
			t.Errorf("List(%q) = %v; want ErrBadKey", prefix[:min(len(prefix), 40)], err)
		}
	}
	wantKeys(t, b, "")
}

func contextCancelled(t *testing.T, b blobstore.Bucket) {
	put(t, b, "there", noise(1000))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantCancelled := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, context.Canceled) || errors.Is(err, blobstore.ErrUnavailable) || errors.Is(err, blobstore.ErrNotFound) {
			t.Errorf("%s = %v; want context.Canceled alone", what, err)
		}
	}
	wantCancelled("Put", b.Put(ctx, "a", strings.NewReader("x"), 1))
	wantCancelled("Put", b.Put(ctx, "there", bytes.NewReader(noise(large)), large))
	_, err := b.Get(ctx, "there")
	wantCancelled("Get", err)
	_, err = b.Stat(ctx, "there")
	wantCancelled("Stat", err)
	_, err = list(ctx, b, "")
	wantCancelled("List", err)
	wantCancelled("Delete", b.Delete(ctx, "there"))

	// Cancel in the middle of a Put.
	for _, size := range []int64{1000, large} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		half := bytes.NewReader(noise(int(size / 2)))
		src := io.MultiReader(half, readerFunc(func([]byte) (int, error) {
			cancel()
			return 0, nil
		}))
		wantCancelled("Put", b.Put(ctx, "a", src, size))
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	r, err := b.Get(ctx, "there")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel()
	_, err = io.ReadAll(r)
	wantCancelled("Read", err)

	wantKeys(t, b, "", "there")
	wantObject(t, b, "there", noise(1000))
}

func concurrentPuts(t *testing.T, b blobstore.Bucket) {
	const writers, rounds = 8, 5
	// All bytes of a writer are equal, so a mixture is detectable.
	size := func(w int) int { return 1000 + 20_000*w }
	var wg sync.WaitGroup
	wantComplete := func() {
		have, err := get(t.Context(), b, "contended")
		if errors.Is(err, blobstore.ErrNotFound) || errors.Is(err, blobstore.ErrUnavailable) {
			return // not written yet, or replaced during the read
		}
		if err != nil {
			t.Error(err)
			return
		}
		if len(have) == 0 || len(have) != size(int(have[0])) || bytes.Count(have, have[:1]) != len(have) {
			t.Errorf("read %d bytes that no Put wrote", len(have))
		}
	}
	for w := range writers {
		wg.Go(func() {
			for range rounds {
				put(t, b, "contended", bytes.Repeat([]byte{byte(w)}, size(w)))
				wantComplete()
			}
		})
	}
	wg.Wait()
	wantComplete()
	wantKeys(t, b, "", "contended")
}

func concurrentKeys(t *testing.T, b blobstore.Bucket) {
	const workers, rounds = 8, 10
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				// All workers share directories that are being created.
				key := fmt.Sprintf("shared-%d/below/%d", i, w)
				put(t, b, key, noise(w*i))
				wantObject(t, b, key, noise(w*i))
				if i%2 == 1 {
					remove(t, b, key)
				}
				if _, err := list(t.Context(), b, fmt.Sprintf("shared-%d", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	have, err := list(t.Context(), b, "")
	if err != nil || len(have) != workers*rounds/2 {
		t.Errorf("%d objects are left, %v; want %d", len(have), err, workers*rounds/2)
	}
}

// noise returns size bytes that depend only on size; none is a prefix of another.
func noise(size int) []byte {
	p := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size), byte(size >> 8), byte(size >> 16)}).Read(p)
	return p
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func put(t *testing.T, b blobstore.Bucket, key string, p []byte) {
	t.Helper()
	if err := b.Put(t.Context(), key, bytes.NewReader(p), int64(len(p))); err != nil {
		t.Errorf("Put of %d bytes: %v", len(p), err)
	}
}

func get(ctx context.Context, b blobstore.Bucket, key string) ([]byte, error) {
	r, err := b.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	p, err := io.ReadAll(r)
	if err := r.Close(); err != nil {
		return nil, err
	}
	return p, err
}

func remove(t *testing.T, b blobstore.Bucket, key string) {
	t.Helper()
	if err := b.Delete(t.Context(), key); err != nil {
		t.Errorf("Delete: %v", err)
	}
}

func list(ctx context.Context, b blobstore.Bucket, prefix string) (keys []string, err error) {
	for info, err := range b.List(ctx, prefix) {
		if err != nil {
			if info != (blobstore.Info{}) {
				return nil, fmt.Errorf("%w, with a non-zero Info %+v", err, info)
			}
			return nil, err
		}
		keys = append(keys, info.Key)
	}
	return keys, nil
}

func wantObject(t *testing.T, b blobstore.Bucket, key string, want []byte) {
	t.Helper()
	have, err := get(t.Context(), b, key)
	if err != nil {
		t.Errorf("Get: %v", err)
	} else if !bytes.Equal(have, want) {
		t.Errorf("Get(%q) returns %d bytes that differ from the %d put", key, len(have), len(want))
	}
	if info, err := b.Stat(t.Context(), key); err != nil || info.Size != int64(len(want)) || info.Key != key {
		t.Errorf("Stat(%q) = %+v, %v; want %d bytes", key, info, err, len(want))
	}
}

// wantKeys compares a listing with the given keys, in any order.
func wantKeys(t *testing.T, b blobstore.Bucket, prefix string, want ...string) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	have, err := list(t.Context(), b, prefix)
	if err != nil || !slices.Equal(have, want) {
		t.Errorf("List(%q) = %.40q, %v; want %.40q", prefix, have, err, want)
	}
}
