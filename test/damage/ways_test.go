package damage_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A way of damaging a file. older is the same file as it was some time before, "" if it
// did not exist.
type way struct {
	name   string
	damage func(tb testing.TB, r *rand.Rand, path, older string)
}

var ways = []way{
	{"flip", func(tb testing.TB, r *rand.Rand, path, _ string) {
		b := read(tb, path)
		if len(b) > 0 {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
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
	{"older", func(tb testing.TB, _ *rand.Rand, path, older string) {
		if b, err := os.ReadFile(older); err == nil {
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

// kindOf returns the kind of a file by its path below the data directory, "" for one
// that has nothing.
func kindOf(path string) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	base := parts[len(parts)-1]
	ext := filepath.Ext(base)
	switch {
	case strings.Contains(path, "lock"), strings.Contains(path, "/tmp/"):
		return ""
	case parts[0] == "nats" && strings.Contains(path, "/streams/SESS_"):
		return "log " + strings.TrimLeft(ext, ".")
	case parts[0] == "nats" && strings.Contains(path, "/streams/"):
		return "other stream " + strings.TrimLeft(ext, ".")
	case parts[0] == "blobs" && len(parts) > 1:
		return "store " + parts[1]
	case base == "index.db":
		return "directory"
	}
	return "other " + base
}

func read(tb testing.TB, path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func write(tb testing.TB, path string, b []byte) {
	if err := os.Chmod(path, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatal(err)
	}
}
