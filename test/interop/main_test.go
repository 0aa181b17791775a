package interop_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

var (
	seed     = flag.Uint64("seed", 0, "judge only the session of this seed, which a failure named")
	sessions = flag.Uint64("sessions", 0, "how many sessions each pi judges; default 20, with -long 200")
	suites   = flag.Bool("suites", false, "run the conformance suites of other protocols")
	long     = flag.Bool("long", false, "what is the same with all agents is tried with each, not with one")
)

func TestMain(m *testing.M) {
	if did, err := openInstead(); did {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if *sessions == 0 {
		*sessions = 20
		if *long {
			*sessions = 200
		}
	}
	os.Exit(harness.Main(m))
}
