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
	sessions = flag.Uint64("sessions", 200, "how many sessions each agent judges")
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
	os.Exit(harness.Main(m))
}
