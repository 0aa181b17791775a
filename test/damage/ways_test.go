package damage_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

// A way of damaging a file. other is the same file as it was some time before, or
// another file of its kind; "" if there is none.
type way struct {
	name   string
	damage func(tb testing.TB, r *rand.Rand, path, other string)
}

var ways = []way{
	{"flip", func(tb testing.TB, r *rand.Rand, path, _ string) {
		b := read(tb, path)
		flip(b, r)
		write(tb, path, b)
	}},
	{"flips", func(tb testing.TB, r *rand.Rand, path, _ string) {
		b := read(tb, path)
		for range 2 + r.IntN(30) {
			flip(b, r)
		}
		write(tb, path, b)
	}},
	{"truncate", func(tb testing.TB, r *rand.Rand, path, _ string) {
		b := read(tb, path)
		write(tb, path, b[:r.IntN(len(b)+1)])
	}},
	{"remove", func(tb testing.TB, _ *rand.Rand, path, _ string) {
		if err := os.Remove(path); err != nil {
			tb.Fatal(err)
		}
	}},
	{"swap", func(tb testing.TB, _ *rand.Rand, path, other string) {
		if b, err := os.ReadFile(other); err == nil {
			write(tb, path, b)
		}
	}},
	{"zeros", func(tb testing.TB, r *rand.Rand, path, _ string) {
		b := read(tb, path)
		if len(b) > 0 {
			clear(b[r.IntN(len(b)):])
		}
		write(tb, path, b)
	}},
}

func flip(b []byte, r *rand.Rand) {
	if len(b) > 0 {
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
	}
}

func read(tb testing.TB, path string) []byte {
	b := testkit.ReadFile(tb, path)
	return b
}

// write writes in place: a file of the log may have a second name.
func write(tb testing.TB, path string, b []byte) {
	if err := os.Chmod(path, 0o600); err != nil {
		tb.Fatal(err)
	}
	testkit.WriteFile(tb, path, b)
}
