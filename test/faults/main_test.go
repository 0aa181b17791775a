package faults_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

var (
	// long asks for the longer forms of the tests.
	long = flag.Bool("long", false, "run longer, with more faults")
	seed = flag.Uint64("seed", 0, "of the random choices; 0: by chance")
)

func TestMain(m *testing.M) {
	if at := os.Getenv(crashAt); at != "" {
		if err := crashing(os.Getenv(crashDir), at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	fmt.Printf("seed %d\n", *seed)
	testkit.MoreParallel()
	os.Exit(run(m))
}

// scratch is a directory for what several tests share.
var scratch string

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sesslog-faults-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	scratch = dir
	return harness.Main(m)
}

// chance is a test's own source of random choices.
func chance(t *testing.T) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.Name())) // it never fails
	return rand.New(rand.NewPCG(*seed, h.Sum64()))
}

// times is how often something is done: n times, or with -long ten times that.
func times(n int) int {
	if *long {
		return 10 * n
	}
	return n
}
