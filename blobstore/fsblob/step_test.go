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

// dieAt makes the test binary a child that puts one object and kills itself at the
// given step. The steps are: half of the source read, all of it read, and the
// moments before and after each sync. A crash between two steps leaves the same
// files as one at the first.
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
		select {} // wait for the signal
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

// putStepwise runs in the child. It prints "acknowledged" if the Put returns.
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

func TestPutCrashLeavesOldOrNewObject(t *testing.T) {
	t.Parallel()
	for name, had := range map[string][]byte{"create": nil, "replace": older} {
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
					t.Errorf("step %d: the object has %d wrong bytes", at, len(got))
				}
				if acknowledged && !bytes.Equal(got, newer) {
					t.Errorf("step %d: acknowledged but missing", at)
				}
				if acknowledged {
					t.Logf("crashed at %d steps; objects found: %v", at-1, found)
					break
				}
			}
			if found["old"] == 0 || found["new"] < 2 {
				t.Errorf("found %v: the steps do not cover the rename", found)
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

// dieStepwise runs a child that dies at the given step. It reports whether the
// child finished before that step.
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
	if stderr := stderrOf(err); len(stderr) > 0 || len(out) > 0 {
		t.Fatalf("step %d: the child: %v, %s%s", at, err, out, stderr)
	}
	return false
}

func stderrOf(err error) []byte {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.Stderr
	}
	return nil
}

// objectAfterCrash returns the object that a new Bucket finds, or nil. It checks
// that Open swept all leftovers.
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
			t.Fatalf("List yields %+v, %v", info, err)
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
