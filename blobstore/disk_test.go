package blobstore

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/internal/testkit"
)

var (
	long = flag.Bool("long", false, "more rounds")
	seed = flag.Uint64("seed", 0, "of the random choices; 0: random")
)

// diskBody returns the body of size bytes that is specific to n.
func diskBody(n, size int) (Ref, []byte) {
	p := bytes.Repeat([]byte{byte(n), byte(n >> 8), 0xa5}, size/3+1)[:size]
	return RefOf(p), p
}

func newDisk(t *testing.T, dir string, size int64) *Disk {
	t.Helper()
	d, err := OpenDisk(dir, size)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDiskEvictsLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	d := newDisk(t, t.TempDir(), 4000)
	for n := range 4 {
		d.Add(diskBody(n, 1000))
	}
	first, want := diskBody(0, 1000)
	if p, ok := d.Get(first); !ok || !bytes.Equal(p, want) {
		t.Fatal("the added blob is missing")
	}
	d.Add(diskBody(4, 1000))
	second, _ := diskBody(1, 1000)
	if _, ok := d.Get(second); ok {
		t.Error("the least recently used blob was not evicted")
	}
	if _, ok := d.Get(first); !ok {
		t.Error("a recently used blob was evicted")
	}
	d.Add(diskBody(5, 1001)) // more than a quarter of the cache
	if f := d.Stats(); f != (CacheStats{Objects: 4, Bytes: 4000, Limit: 4000, Hits: 2, Misses: 1}) {
		t.Errorf("stats: %+v", f)
	}
}

func TestDiskKeepsOrderAcrossRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		d := newDisk(t, dir, 4000)
		for n := range 4 {
			d.Add(diskBody(n, 1000))
			time.Sleep(time.Minute)
			first, _ := diskBody(0, 1000)
			d.Get(first)
		}
		d = newDisk(t, dir, 2000)
		for n, want := range []bool{true, false, false, true} {
			ref, _ := diskBody(n, 1000)
			if _, ok := d.Get(ref); ok != want {
				t.Errorf("blob %d: Get = %v; want %v", n, ok, want)
			}
		}
		if files := filesIn(t, dir); len(files) != 2 {
			t.Errorf("files: %v", files)
		}
	})
}

func TestDiskNeverReturnsWrongBytes(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"a bit flipped": func(path string) error {
			p, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			p[500] ^= 1
			return os.WriteFile(path, p, 0o600)
		},
		"cut short": func(path string) error { return os.Truncate(path, 500) },
		"emptied":   func(path string) error { return os.Truncate(path, 0) },
		"longer":    func(path string) error { return os.Truncate(path, 1001) },
		"deleted":   os.Remove,
	} {
		for _, restart := range []bool{false, true} {
			dir := t.TempDir()
			d := newDisk(t, dir, 1<<20)
			ref, want := diskBody(1, 1000)
			d.Add(ref, want)
			for _, f := range filesIn(t, dir) {
				if err := spoil(filepath.Join(dir, f)); err != nil {
					t.Fatal(err)
				}
			}
			if restart {
				d = newDisk(t, dir, 1<<20)
			}
			if p, ok := d.Get(ref); ok {
				t.Errorf("%s: Get returns %d bytes", name, len(p))
			}
			if f := d.Stats(); f.Bytes != 0 || f.Hits != 0 || f.Misses != 1 {
				t.Errorf("%s: stats %+v", name, f)
			}
			if files := filesIn(t, dir); len(files) != 0 {
				t.Errorf("%s: files left: %v", name, files)
			}
			d.Add(ref, want)
			if p, ok := d.Get(ref); !ok || !bytes.Equal(p, want) {
				t.Errorf("%s: the blob cannot be added again", name)
			}
		}
	}
}

// An erased blob also leaves the caches of nodes that were not notified.
func TestDiskExpiresUsedEntries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		d := newDisk(t, dir, 1<<20)
		ref, p := diskBody(1, 1000)
		d.Add(ref, p)
		for range 23 {
			time.Sleep(time.Hour)
			if _, ok := d.Get(ref); !ok {
				t.Fatal("expired too early")
			}
		}
		time.Sleep(time.Hour + time.Second)
		if _, ok := d.Get(ref); ok {
			t.Error("still returned after 24 hours")
		}
		d.Add(ref, p)
		time.Sleep(25 * time.Hour)
		newDisk(t, dir, 1<<20)
		if files := filesIn(t, dir); len(files) != 0 {
			t.Errorf("files after OpenDisk: %v", files)
		}
		d = newDisk(t, dir, 1<<20)
		d.Add(ref, p)
		go func() { _ = d.Run(t.Context()) }()
		time.Sleep(26 * time.Hour)
		if files := filesIn(t, dir); len(files) != 0 {
			t.Errorf("files after a day: %v", files)
		}
	})
}

func TestDiskIgnoresOtherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	others := []string{"README", strings.Repeat("a", 64), strings.Repeat("A", 64) + "-1", strings.Repeat("a", 64) + "-01"}
	for _, f := range others {
		testkit.WriteFile(t, filepath.Join(dir, f), []byte("x"))
	}
	newDisk(t, dir, 0)
	if files := filesIn(t, dir); len(files) != len(others) {
		t.Errorf("files: %v", files)
	}
}

func TestDiskWriteFailureIsMiss(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "gone")
	d := newDisk(t, dir, 1<<20)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	ref, p := diskBody(1, 1000)
	d.Add(ref, p)
	if _, ok := d.Get(ref); ok {
		t.Error("Get returns a blob that was not written")
	}
	if f := d.Stats(); f.Failed != 1 || f.Bytes != 0 {
		t.Errorf("stats: %+v", f)
	}
}

const diskChild = "SESS_TEST_DISK"

// A child process adds, reads and evicts until it is killed. The next process
// finds only intact blobs.
func TestDiskSurvivesKill(t *testing.T) {
	const size = 1 << 20
	if dir := os.Getenv(diskChild); dir != "" {
		d := newDisk(t, dir, size)
		fmt.Println("running")
		for n := 0; ; n++ {
			d.Add(diskBody(n%64, 20_000+n%64*1000))
			ref, _ := diskBody(n*7%64, 20_000+n*7%64*1000)
			d.Get(ref)
		}
	}
	t.Parallel()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("seed %d", *seed)
	chance := rand.New(rand.NewPCG(*seed, 1))
	rounds, dir, found := 8, t.TempDir(), 0
	if *long {
		rounds = 300
	}
	for n := 0; n < rounds || found == 0 && n < 200; n++ { // on a busy machine the first are killed before they write
		cmd := exec.Command(os.Args[0], "-test.run=^TestDiskSurvivesKill$")
		cmd.Env = append(os.Environ(), diskChild+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 8)); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Duration(chance.IntN(30_000)) * time.Microsecond) // a random moment
		_ = cmd.Process.Kill()
		_ = cmd.Wait()

		d := newDisk(t, dir, size)
		f := d.Stats()
		if f.Bytes > size {
			t.Errorf("%d bytes in the cache", f.Bytes)
		}
		for n := range 64 {
			ref, want := diskBody(n, 20_000+n*1000)
			if p, ok := d.Get(ref); ok && !bytes.Equal(p, want) {
				t.Fatalf("body %d: Get returns wrong bytes", n)
			} else if ok {
				found++
			}
		}
		if files := filesIn(t, dir); int64(len(files)) != d.Stats().Objects {
			t.Errorf("%d files, %+v", len(files), d.Stats())
		}
	}
	if found == 0 {
		t.Error("no body survived")
	}
}

func TestDiskConcurrentUse(t *testing.T) {
	t.Parallel()
	d := newDisk(t, t.TempDir(), 50_000)
	done := make(chan struct{})
	for g := range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			for n := range 200 {
				var b [8]byte
				binary.LittleEndian.PutUint64(b[:], uint64((n*g)%40))
				p := bytes.Repeat(b[:], 200)
				ref := RefOf(p)
				d.Add(ref, p)
				if got, ok := d.Get(ref); ok && !bytes.Equal(got, p) {
					t.Error("Get returns wrong bytes")
				}
				if n%17 == 0 {
					d.Drop(ref)
				}
			}
		}()
	}
	for range 8 {
		<-done
	}
	if f := d.Stats(); f.Bytes > 50_000 || f.Damaged != 0 || f.Failed != 0 || f.Bytes != 1600*f.Objects {
		t.Errorf("stats: %+v", f)
	}
}

func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}
