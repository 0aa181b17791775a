package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

const module = "github.com/sesslog/sesslog"

// binDir is the directory of the programs.
var binDir string

// Main runs the tests of a package, with a directory for the programs they need. It
// returns the exit code for TestMain.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sesslog-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binDir = dir
	return m.Run()
}

// Sources are the packages of the programs, by name.
var Sources = map[string]string{
	"sessnode":  module + "/cmd/sessnode",
	"sessctl":   module + "/cmd/sessctl",
	"sessmodel": module + "/cmd/sessmodel",
	"manager":   module + "/test/capabilities/manager",
}

var builds = map[string]func() (string, error){
	"sessnode":  sync.OnceValues(func() (string, error) { return build("sessnode") }),
	"sessctl":   sync.OnceValues(func() (string, error) { return build("sessctl") }),
	"sessmodel": sync.OnceValues(func() (string, error) { return build("sessmodel") }),
	"manager":   sync.OnceValues(func() (string, error) { return build("manager") }),
}

// Binary returns the path of a program built from the current source. Each is built
// once per test run.
func Binary(tb testing.TB, name string) string {
	tb.Helper()
	path, err := builds[name]()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func build(name string) (string, error) {
	if binDir == "" {
		return "", fmt.Errorf("build %s: TestMain does not call harness.Main", name)
	}
	began := time.Now()
	path := filepath.Join(binDir, name)
	if err := buildTo(path, name); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	fmt.Fprintf(os.Stderr, "built %s in %v\n", name, time.Since(began).Round(time.Millisecond))
	return path, nil
}

// buildTo copies a program to path from a cache that all test packages share. Under a
// lock, the go command updates it there only if it is stale: linking takes seconds.
func buildTo(path, name string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	shared := filepath.Join(cache, "sesslog-test", "built-"+name)
	if err := os.MkdirAll(filepath.Dir(shared), 0o700); err != nil {
		return err
	}
	lock := flock.New(shared + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("wait for another build: %w", err)
	}
	defer lock.Close()
	if out, err := exec.Command("go", "build", "-o", shared, Sources[name]).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	// Copied by another process: if this process held path open for writing while a
	// test forks, the child would inherit the descriptor, and path could not be
	// executed.
	if out, err := exec.Command("cp", shared, path).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
