package e2e_test

import (
	"flag"
	"os"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// long enables the long forms of the tests.
var long = flag.Bool("long", false, "run longer, kill more often")

func TestMain(m *testing.M) {
	if os.Getenv(loopHost) != "" {
		os.Exit(runLoop())
	}
	flag.Parse()
	testkit.MoreParallel()
	os.Exit(harness.Main(m))
}

// often returns n, or ten times n with -long.
func often(n int) int {
	if *long {
		return 10 * n
	}
	return n
}
