package e2e_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

// long enables the long forms of the tests.
var long = flag.Bool("long", false, "run longer, kill more often")

func TestMain(m *testing.M) {
	if os.Getenv(loopHost) != "" {
		os.Exit(runLoop())
	}
	flag.Parse()
	// The tests spend most of their time waiting for elections and timeouts.
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set(strconv.Itoa(4 * runtime.GOMAXPROCS(0)))
	}
	os.Exit(harness.Main(m))
}

// often returns n, or ten times n with -long.
func often(n int) int {
	if *long {
		return 10 * n
	}
	return n
}
