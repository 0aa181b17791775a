package e2e_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

// long asks for the longer forms of the tests.
var long = flag.Bool("long", false, "run longer, kill more often")

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait for elections and timeouts more than they work.
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set(strconv.Itoa(4 * runtime.GOMAXPROCS(0)))
	}
	os.Exit(harness.Main(m))
}

// often is how often something is done: n times, or with -long ten times that.
func often(n int) int {
	if *long {
		return 10 * n
	}
	return n
}
