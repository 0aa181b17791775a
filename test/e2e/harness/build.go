package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
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
	cmd := exec.Command("go", "build", "-o", path, module+"/cmd/"+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	fmt.Fprintf(os.Stderr, "built %s in %v\n", name, time.Since(began).Round(time.Millisecond))
	return path, nil
}
