package snapshot_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/snapshot"
)

var patchSeed = flag.Uint64("patchseed", 1, "of random changes; the test prints it")

// lines draws n lines.
func someLines(rng *rand.Rand, n int) (out [][]byte) {
	for range n {
		out = append(out, fmt.Appendf(nil, "%x\n", rng.Uint64()>>rng.IntN(64)))
	}
	return out
}

func TestPatchAppliesSuccessiveDiffs(t *testing.T) {
	t.Parallel()
	t.Logf("-patchseed %d", *patchSeed)
	rng := rand.New(rand.NewPCG(*patchSeed, 1))
	for range 300 {
		now := someLines(rng, rng.IntN(20))
		base := bytes.Join(now, nil)
		var changes [][]byte
		for range rng.IntN(8) {
			next := append(now[:len(now):len(now)], someLines(rng, rng.IntN(4))...)
			for range rng.IntN(3) {
				if len(next) > 0 {
					next = bytes.SplitAfter(bytes.Join(next, nil), []byte("\n"))
					next = next[:len(next)-1]
					next[rng.IntN(len(next))] = someLines(rng, 1)[0]
				}
			}
			change, ok := snapshot.Diff(bytes.Join(now, nil), bytes.Join(next, nil))
			if !ok {
				t.Fatalf("no change makes %q of %q", next, now)
			}
			changes, now = append(changes, change), next
			got, err := snapshot.Patch(base, changes...)
			if err != nil || !bytes.Equal(got, bytes.Join(now, nil)) {
				t.Fatalf("%q, changed by %q, is %q, %v; want %q", base, changes, got, err, now)
			}
		}
	}
}

func TestDiffRejectsRemovedAndPartialLines(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"a\nb\n", "a\n"}, {"a\n", ""}, {"a", "a\nb\n"}, {"a\n", "a\nb"}, {"a\nb\n", "b\n"}} {
		if change, ok := snapshot.Diff([]byte(c[0]), []byte(c[1])); ok {
			t.Errorf("%q of %q: %q", c[1], c[0], change)
		}
	}
}

func TestPatchRejectsForeignChanges(t *testing.T) {
	t.Parallel()
	base := []byte("a\nb\nc\n")
	for _, bad := range []string{
		"", "\n", "{}\n", `{"lines":3}`, `{"lines":2}` + "\n", `{"lines":4}` + "\nd\n", `{"lines":3}` + "\nd", `{"lines":-1}` + "\n",
		`{"lines":3,"replaced":[3]}` + "\nd\n", `{"lines":3,"replaced":[-1]}` + "\nd\n", `{"lines":3,"replaced":[1,1]}` + "\nd\ne\n",
		`{"lines":3,"replaced":[2,1]}` + "\nd\ne\n", `{"lines":3,"replaced":[0,1]}` + "\nd\n", `{"lines":3,"replaced":[1e9]}` + "\nd\n",
	} {
		if got, err := snapshot.Patch(base, []byte(bad)); err == nil {
			t.Errorf("%q makes %q", bad, got)
		} else {
			if !errors.Is(err, core.ErrCorrupt) {
				t.Errorf("%s: %v", bad, err)
			}
		}
	}
	if _, err := snapshot.Patch([]byte("a")); err == nil {
		t.Error("half a line was taken for lines")
	}
}

func FuzzPatch(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte(`{"lines":2,"replaced":[1]}`+"\nc\nd\n"), []byte("a\nc\n"))
	f.Fuzz(func(t *testing.T, base, change, next []byte) {
		if got, err := snapshot.Patch(base, change); err == nil && len(got) > len(base)+len(change) {
			t.Errorf("%d bytes and a change of %d came to %d", len(base), len(change), len(got))
		}
		made, ok := snapshot.Diff(base, next)
		if !ok {
			return
		}
		if got, err := snapshot.Patch(base, made); err != nil || !bytes.Equal(got, next) {
			t.Errorf("%q: %q, %v", made, got, err)
		}
	})
}
