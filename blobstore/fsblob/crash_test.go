package fsblob_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
)

// writeInto makes the test binary a child that writes to the named directory until
// it is killed.
const writeInto = "FSBLOB_TEST_WRITE_INTO"

func TestMain(m *testing.M) {
	dir := os.Getenv(writeInto)
	if at := os.Getenv(dieAt); dir != "" && at != "" {
		if err := putStepwise(dir, at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir != "" {
		fmt.Fprintln(os.Stderr, write(dir)) // returns only on an error
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// write puts blobs in a loop and prints the ref of each acknowledged one.
func write(dir string) error {
	bucket, err := fsblob.Open(dir)
	if err != nil {
		return err
	}
	blobs := blobstore.New(bucket)
	failed := make(chan error)
	var out sync.Mutex
	for range 4 {
		go func() {
			for {
				p := make([]byte, rand.IntN(200_000))
				for i := range p {
					p[i] = byte(rand.Uint32())
				}
				// The second write replaces the first.
				for range 2 {
					ref, err := blobs.Rewrite(context.Background(), p)
					if err != nil {
						failed <- err
						return
					}
					out.Lock()
					fmt.Println(ref)
					out.Unlock()
				}
			}
		}()
	}
	return <-failed
}

func TestAcknowledgedBlobsSurviveKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "by", "the", "child")
	acknowledged := make(map[blobstore.Ref]bool)
	leftovers := 0
	for round := range 8 {
		for _, ref := range killAfter(t, dir, 1+5*round) {
			acknowledged[ref] = true
		}
		left, err := os.ReadDir(filepath.Join(dir, ".tmp"))
		if err != nil {
			t.Fatal(err)
		}
		leftovers += len(left)

		bucket, err := fsblob.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(filepath.Join(dir, ".tmp")); err != nil || len(left) > 0 {
			t.Errorf("Open left %v in .tmp, %v", left, err)
		}
		blobs := blobstore.New(bucket)
		for ref := range acknowledged {
			if _, err := blobs.Get(t.Context(), ref); err != nil {
				t.Errorf("acknowledged blob: %v", err)
			}
		}
		for info, err := range bucket.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			ref, err := blobstore.ParseRef("sha256:" + filepath.Base(info.Key))
			if err != nil {
				t.Errorf("List yields %q", info.Key)
				continue
			}
			if p, err := blobs.Get(t.Context(), ref); err != nil || int64(len(p)) != info.Size {
				t.Errorf("List yields size %d; Get returns %d bytes, %v", info.Size, len(p), err)
			}
		}
		if err := bucket.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d blobs acknowledged, %d leftover files swept", len(acknowledged), leftovers)
}

// killAfter runs a child until it has acknowledged n blobs, kills it and returns
// the refs of all acknowledged blobs.
func killAfter(t *testing.T, dir string, n int) (refs []blobstore.Ref) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), writeInto+"="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The kill may truncate the last line.
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		ref, err := blobstore.ParseRef(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		if refs = append(refs, ref); len(refs) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, died := errors.AsType[*exec.ExitError](cmd.Wait())
	if !died || len(refs) < n {
		t.Fatalf("the child exited after %d blobs: %s", len(refs), stderr.String())
	}
	return refs
}
