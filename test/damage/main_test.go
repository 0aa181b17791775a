package damage_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

var (
	// long is how many cases there are of each kind of file, way and stop.
	long = flag.Int("long", 0, "run so many cases of each kind of file, way and stop; 0: one of each kind")
	seed = flag.Uint64("seed", 0, "seed of the places that are damaged; 0: random, 1 without -long")
	// only is for one case again.
	only = flag.String("only", "", "run only the cases whose description contains this")
)

func TestMain(m *testing.M) {
	flag.Parse()
	switch {
	case *seed == 0 && *long == 0:
		*seed = 1
	case *seed == 0:
		*seed = rand.Uint64()
	}
	os.Exit(harness.Main(m))
}
