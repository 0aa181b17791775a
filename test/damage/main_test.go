package damage_test

import (
	"flag"
	"os"
	"testing"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

var (
	// long is how many cases there are of each kind of file, damage and stop.
	long = flag.Int("long", 0, "run so many cases of each kind of file, damage and stop; 0: none")
	seed = flag.Uint64("seed", 0, "seed of the places that are damaged; 0: random")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(harness.Main(m))
}
