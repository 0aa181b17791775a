package core_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
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
			change, ok := core.Diff(bytes.Join(now, nil), bytes.Join(next, nil))
			if !ok {
				t.Fatalf("no change makes %q of %q", next, now)
			}
			changes, now = append(changes, change), next
			got, err := core.Patch(base, changes...)
			if err != nil || !bytes.Equal(got, bytes.Join(now, nil)) {
				t.Fatalf("%q, changed by %q, is %q, %v; want %q", base, changes, got, err, now)
			}
		}
	}
}

func TestDiffRejectsRemovedAndPartialLines(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"a\nb\n", "a\n"}, {"a\n", ""}, {"a", "a\nb\n"}, {"a\n", "a\nb"}, {"a\nb\n", "b\n"}} {
		if change, ok := core.Diff([]byte(c[0]), []byte(c[1])); ok {
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
		if got, err := core.Patch(base, []byte(bad)); err == nil {
			t.Errorf("%q makes %q", bad, got)
		} else {
			wantErr(t, bad, err, core.ErrCorrupt)
		}
	}
	if _, err := core.Patch([]byte("a")); err == nil {
		t.Error("half a line was taken for lines")
	}
}

func FuzzPatch(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte(`{"lines":2,"replaced":[1]}`+"\nc\nd\n"), []byte("a\nc\n"))
	f.Fuzz(func(t *testing.T, base, change, next []byte) {
		if got, err := core.Patch(base, change); err == nil && len(got) > len(base)+len(change) {
			t.Errorf("%d bytes and a change of %d came to %d", len(base), len(change), len(got))
		}
		made, ok := core.Diff(base, next)
		if !ok {
			return
		}
		if got, err := core.Patch(base, made); err != nil || !bytes.Equal(got, next) {
			t.Errorf("%q: %q, %v", made, got, err)
		}
	})
}

func TestManifestWithPartsRequiresItsFoldVersion(t *testing.T) {
	t.Parallel()
	s := opened(t, line("a", ""))
	m := s.Manifest(s.Render(), "object")
	parts := []core.Part{{Object: "first", Size: 1}, {Inline: []byte("x"), Size: 1}}
	m.SetParts(parts)
	if m.Fold != 3 {
		t.Errorf("it asks for rules %d", m.Fold)
	}
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, s, core.KindCheckpoint, core.MainHead, "w", string(body))
	if got := s.FormerParts(); len(got) != 2 || got[0].Object != "first" {
		t.Errorf("the next snapshot may rest on %+v", got)
	}
	// One of the same lines is made of the same.
	again := s.Manifest(s.Render(), "other")
	if !again.Reuse(s) || len(again.Parts) != 2 || again.Fold != 3 || again.Object != "object" {
		t.Errorf("of the same lines: %+v", again)
	}
}

func TestFormerPartsAfterRedaction(t *testing.T) {
	t.Parallel()
	s := opened(t, line("a", ""), line("b", "a"))
	checkpoint := func(upTo *core.Manifest) {
		body, err := json.Marshal(upTo)
		if err != nil {
			t.Fatal(err)
		}
		apply(t, s, core.KindCheckpoint, core.MainHead, "w", string(body))
	}
	checkpoint(s.Manifest(s.Render(), "first"))
	late := s.Manifest(s.Render(), "late")
	if len(s.FormerParts()) != 1 {
		t.Error("nothing may rest on the first snapshot")
	}
	redact := func() { apply(t, s, core.KindRedact, "", "w", "{}\n"+line("a", "")) }
	redact()
	if p := s.FormerParts(); p != nil {
		t.Errorf("a redaction came: %+v", p)
	}
	checkpoint(late) // it covers less than the redaction
	if p := s.FormerParts(); p != nil {
		t.Errorf("a late snapshot came: %+v", p)
	}
	m := s.Manifest(s.Render(), "new")
	checkpoint(m)
	if len(s.FormerParts()) != 1 {
		t.Error("nothing may rest on the new snapshot")
	}
	// The same, of a session that is read from its snapshot.
	r, err := core.Restore(m, s.Render(), 1, dialect.All())
	if err != nil || len(r.FormerParts()) != 1 {
		t.Errorf("nothing may rest on the snapshot that it is read from: %v", err)
	}
	redact() // of the same entry
	if p := s.FormerParts(); p != nil {
		t.Errorf("another redaction came: %+v", p)
	}
}
