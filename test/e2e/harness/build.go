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

// binDir is where Main has the programs built.
var binDir string

// Main runs the tests of a package, with a place for the programs they need. It
// returns what TestMain exits with.
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

var builds = map[string]func() (string, error){
	"sessnode": sync.OnceValues(func() (string, error) { return build("sessnode") }),
	"sessctl":  sync.OnceValues(func() (string, error) { return build("sessctl") }),
}

// Binary returns the path of one of the programs, built from the source as it
// is. It is built once for each run of the tests.
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

// buildTo makes path a copy of the binary that all packages of tests have built at
// one place, one after the other: the go command sees what is up to date there, and
// to link a program takes it seconds.
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
	if out, err := exec.Command("go", "build", "-o", shared, module+"/cmd/"+name).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	// By another process: a program that is open for writing here would be so in
	// whatever another test starts at this moment, and could not be run.
	if out, err := exec.Command("cp", shared, path).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
