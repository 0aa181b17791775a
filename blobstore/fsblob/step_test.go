package fsblob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/blobstore/fsblob"
)

// dieAt makes the test binary a child that puts one object, over an older one
// where there is one, and kills itself at that step. Steps are the source's
// bytes, half and all of them read, and the moments before and behind each
// flush. What lies between two of them leaves the same behind on the disk.
const dieAt = "FSBLOB_TEST_DIE_AT"

const stepKey = "a/b/object"

var older, newer = bytes.Repeat([]byte("older"), 9000), bytes.Repeat([]byte("newer."), 9000)

// A step counts down to the one to die at.
type step struct{ left int }

func (s *step) here() {
	if s.left--; s.left == 0 {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {} // until it is done
	}
}

// A source is read in two halves.
type source struct {
	*bytes.Reader
	*step
}

func (s source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p[:min(len(p), len(newer)/2)])
	s.here()
	return n, err
}

// putStepwise is what the child does; it says so when it is through.
func putStepwise(dir, at string) error {
	n, err := strconv.Atoi(at)
	if err != nil {
		return err
	}
	b, err := fsblob.Open(dir)
	if err != nil {
		return err
	}
	steps := &step{n}
	b.SetSync(func(f *os.File) error {
		steps.here()
		err := f.Sync()
		steps.here()
		return err
	})
	if err := b.Put(context.Background(), stepKey, source{bytes.NewReader(newer), steps}, int64(len(newer))); err != nil {
		return err
	}
	fmt.Println("acknowledged")
	return nil
}

func TestAPutThatDiesAtAnyStepLeavesTheOldOrTheNewObject(t *testing.T) {
	t.Parallel()
	for name, had := range map[string][]byte{"where there was none": nil, "over an older one": older} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := map[string]int{}
			for at := 1; ; at++ {
				dir := t.TempDir()
				if had != nil {
					putObject(t, dir, had)
				}
				acknowledged := dieStepwise(t, dir, at)
				got := objectAfterCrash(t, dir)
				switch {
				case bytes.Equal(got, newer):
					found["new"]++
				case bytes.Equal(got, had):
					found["old"]++
				default:
					t.Errorf("step %d: %d bytes that nobody put", at, len(got))
				}
				if acknowledged && !bytes.Equal(got, newer) {
					t.Errorf("step %d: acknowledged, and not there", at)
				}
				if acknowledged {
					t.Logf("died at %d steps; then: %v", at-1, found)
					break
				}
			}
			if found["old"] == 0 || found["new"] < 2 {
				t.Errorf("found %v: the steps were not around the one that counts", found)
			}
		})
	}
}

func putObject(t *testing.T, dir string, p []byte) {
	t.Helper()
	b, err := fsblob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Put(t.Context(), stepKey, bytes.NewReader(p), int64(len(p))); err != nil {
		t.Fatal(err)
	}
}

// dieStepwise runs a child that dies at that step, and reports whether it came
// through before.
func dieStepwise(t *testing.T, dir string, at int) bool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), writeInto+"="+dir, dieAt+"="+strconv.Itoa(at))
	out, err := cmd.Output()
	if err == nil && strings.Contains(string(out), "acknowledged") {
		return true
	}
	if complaint := stderrOf(err); len(complaint) > 0 || len(out) > 0 {
		t.Fatalf("step %d: the child: %v, %s%s", at, err, out, complaint)
	}
	return false
}

func stderrOf(err error) []byte {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.Stderr
	}
	return nil
}

// objectAfterCrash is what a new Bucket finds, nil for nothing. No leftovers may
// be there.
func objectAfterCrash(t *testing.T, dir string) []byte {
	t.Helper()
	b, err := fsblob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if left, err := os.ReadDir(filepath.Join(dir, ".tmp")); err != nil || len(left) > 0 {
		t.Errorf("Open left %v in .tmp, %v", left, err)
	}
	var found []byte
	for info, err := range b.List(t.Context(), "") {
		if err != nil || info.Key != stepKey {
			t.Fatalf("listed: %+v, %v", info, err)
		}
		r, err := b.Get(t.Context(), info.Key)
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if _, err := buf.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		found = buf.Bytes()
	}
	return found
}
