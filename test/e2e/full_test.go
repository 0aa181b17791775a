//go:build linux

package e2e_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// smallDisk mounts a file system of n bytes for the test.
func smallDisk(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", n)); err != nil {
		t.Skipf("this test mounts a small file system, which needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill uses up the disk's space except for about left bytes. The returned function
// frees it.
func fill(t *testing.T, dir string, left int64) (release func()) {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "ballast")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.CopyN(f, zeroes{}, int64(st.Bavail)*int64(st.Bsize)-left)
	_ = f.Close()
	if err != nil && left > 0 {
		t.Fatal(err)
	}
	return func() { _ = os.Remove(name) }
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A node refuses entries before its disk is full, and accepts them again when there is
// space. Acknowledged entries are kept, and reads continue.
func TestFullDiskRefusesWritesAndServesReads(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 64<<20)
	n := harness.StartNode(t, "--data", filepath.Join(disk, "data"), "--nats-max-store", "1GiB")
	ctx := harness.Timeout(t)
	c := n.Client()
	const id = "full-session"
	if _, err := c.Create(ctx, api.Create{ID: id, CWD: "/w"}); err != nil {
		t.Fatal(err)
	}
	stored := map[string]bool{}
	put := func(i int) error {
		name := fmt.Sprintf("n%d", i)
		short, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_, err := c.Append(short, id, noisy(name, 20<<10), client.AppendOptions{})
		if err == nil {
			stored[name] = true
		}
		return err
	}
	i := 0
	for ; i < 20; i++ {
		if err := put(i); err != nil {
			t.Fatal(err)
		}
	}
	release := fill(t, disk, 4<<20) // of 64: more than nine tenths are used
	full := func() bool {
		st, err := c.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return !st.Healthy && strings.Contains(st.Summary, "full")
	}
	for !full() {
		time.Sleep(10 * time.Millisecond)
	}
	refused(t, ctx, func() error { i++; return put(i) })
	entriesThere(t, ctx, c, id, stored)
	if _, err := c.Claim(ctx, id, core.ClaimRequest{Agent: "x"}); err != nil {
		t.Errorf("a claim on a nearly full disk: %v", err)
	}
	release()

	// If the disk becomes full at once, the outcome of an append may be unknown, but
	// no entry is lost and further appends are soon refused.
	const other = "full-session-2"
	await := func(do func() error) {
		t.Helper()
		for err := do(); err != nil; err = do() {
			if !errors.Is(err, core.ErrFull) || ctx.Err() != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	await(func() error { _, err := c.Create(ctx, api.Create{ID: other, CWD: "/w"}); return err })
	release = fill(t, disk, 0)
	refused(t, ctx, func() error {
		i++
		_, err := c.Append(ctx, other, noisy(fmt.Sprintf("n%d", i), 200<<10), client.AppendOptions{})
		return err
	})
	entriesThere(t, ctx, c, id, stored)
	release()
	n.Kill()
	n.Start(t)
	await(func() error {
		_, err := n.Client().Append(ctx, other, noisy("last", 10), client.AppendOptions{})
		return err
	})
	entriesThere(t, ctx, n.Client(), id, stored)
}

// refused calls do until it is refused for lack of space, and again.
func refused(t *testing.T, ctx context.Context, do func() error) {
	t.Helper()
	for {
		err := do()
		if errors.Is(err, core.ErrFull) {
			break
		}
		if err != nil && !errors.Is(err, core.ErrUncertain) && !errors.Is(err, core.ErrUnavailable) || ctx.Err() != nil {
			t.Fatalf("a full disk: %v", err)
		}
	}
	if err := do(); !errors.Is(err, core.ErrFull) {
		t.Errorf("a full disk, again: %v", err)
	}
}

func entriesThere(t *testing.T, ctx context.Context, c *client.Client, id string, want map[string]bool) {
	t.Helper()
	r, err := c.Entries(ctx, id, false, client.View{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		if n := strings.Count(string(b), `"id":"`+name+`"`); n != 1 {
			t.Errorf("entry %s was acknowledged and is stored %d times", name, n)
		}
	}
}

// noisy returns an entry line of about n incompressible bytes.
func noisy(id string, n int) []byte {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(rand.Text())
	}
	return fmt.Appendf(nil, `{"type":"message","id":%q,"message":{"role":"user","content":%q}}`, id, b.String())
}
