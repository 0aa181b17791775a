package tree_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/tree"
)

// grown makes a session of n entries, messages and labels, on random branches.
func grown(t *testing.T, d core.Dialect, r *rand.Rand, n int) (core.Header, []core.Entry) {
	t.Helper()
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: "session-1", Time: "2026-01-02T03:04:05.000Z", CWD: "/w"}))
	if err != nil {
		t.Fatal(err)
	}
	var es []core.Entry
	for i := range n {
		parent := core.NoLeaf
		line := []byte(`{"type":"custom","customType":"x","custom_type":"x"}`)
		if len(es) > 0 {
			parent = core.LeafAt(es[max(0, len(es)-1-r.IntN(3))].ID)
			if r.IntN(2) == 0 {
				label := d.NewLabel(es[r.IntN(len(es))].ID, []string{"", "a", "b"}[r.IntN(3)])
				if label != nil { // Claude Code has no labels
					line = label
				}
			}
		}
		e, err := d.Fill(line, core.Fields{ID: fmt.Sprintf("%08x", i), Parent: parent, Time: fmt.Sprintf("2026-01-02T03:04:%02d.000Z", i%60)})
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	return h, es
}

// OP-28, PI-40: a session cut out of another has the path as it is, nothing
// that hangs on nothing, and every label that its entries had.
func TestCopyPathKeepsLinesAndLabels(t *testing.T) {
	t.Parallel()
	for name, d := range dialect.All() {
		if d.Linear() || d.NewLabel("x", "x") == nil { // its sessions have no labels
			continue
		}
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 7))
			h, es := grown(t, d, r, 1+r.IntN(25))
			leaf := core.LeafAt(es[r.IntN(len(es))].ID)
			cut, err := tree.CopyPath(d, h, es, leaf)
			if err != nil {
				t.Fatal(err)
			}
			path, err := d.Path(es, leaf)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(path, cut[:len(path)]); diff != "" {
				t.Fatalf("%s, seed %d: it does not begin as the path\n%s", name, seed, diff)
			}
			whole, err := d.Path(cut, core.LeafAt(cut[len(cut)-1].ID))
			if err != nil || len(whole) != len(cut) {
				t.Fatalf("%s, seed %d: %d of %d entries are on one path, %v", name, seed, len(whole), len(cut), err)
			}
			want, got := labels(t, d, h, es), labels(t, d, h, cut)
			for _, e := range path {
				if want[e.ID] != got[e.ID] {
					t.Fatalf("%s, seed %d: the label of %s is %q, want %q", name, seed, e.ID, got[e.ID], want[e.ID])
				}
			}
			again, err := tree.CopyPath(d, h, es, leaf)
			if err != nil || cmp.Diff(cut, again) != "" {
				t.Fatalf("%s, seed %d: cut again it is another", name, seed)
			}
		}
	}
}

func labels(t *testing.T, d core.Dialect, h core.Header, es []core.Entry) map[string]string {
	t.Helper()
	info, err := d.Info(h, es, core.LeafAt(es[len(es)-1].ID))
	if err != nil {
		t.Fatal(err)
	}
	return info.Labels
}

func TestCopyPathOfEmptyAndUnknownLeaf(t *testing.T) {
	t.Parallel()
	d, err := dialect.Named("pi")
	if err != nil {
		t.Fatal(err)
	}
	h, es := grown(t, d, rand.New(rand.NewPCG(1, 1)), 3)
	if cut, err := tree.CopyPath(d, h, es, core.NoLeaf); err != nil || len(cut) != 0 {
		t.Errorf("before all entries: %d entries, %v", len(cut), err)
	}
	_, err = tree.CopyPath(d, h, es, core.LeafAt("nowhere"))
	if !errors.Is(err, core.ErrNotFound) {
		t.Errorf("nowhere: %v", err)
	}
}

// PI-32, OP-23: pi names the branch that was left, the others the position at
// which the session continues.
func TestBranchSummaryTarget(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"pi": "left", "omp": "from", "operator": "from"} {
		d, err := dialect.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for from, want := range map[core.Leaf]string{core.LeafAt("from"): want, core.NoLeaf: ""} {
			it := tree.BranchSummary(d, core.LeafAt("left"), from, "s", nil)
			if it.Kind != item.Branch || it.Text != "s" || it.Target != want {
				t.Errorf("%s from %v: %+v, want target %q", name, from, it, want)
			}
		}
		if it := tree.BranchSummary(d, core.NoLeaf, core.LeafAt("from"), "s", nil); it.Target != "from" {
			t.Errorf("%s, with nothing left: %+v", name, it)
		}
	}
}

// OP-27, PI-28
func TestChildrenMatchTree(t *testing.T) {
	t.Parallel()
	for name, d := range dialect.All() {
		if d.Linear() || d.NewLabel("x", "x") == nil { // its entries name no parents, or have no labels
			continue
		}
		_, es := grown(t, d, rand.New(rand.NewPCG(3, 3)), 20)
		seen := 0
		for _, of := range append([]core.Entry{{}}, es...) {
			for _, e := range tree.Children(d, es, of.ID) {
				seen++
				if e.Parent != of.ID {
					t.Errorf("%s: %s is said to hang on %q", name, e.Line, of.ID)
				}
			}
		}
		if seen != len(es) {
			t.Errorf("%s: %d of %d entries are children of something", name, seen, len(es))
		}
		if kids := tree.Children(d, es, strings.Repeat("x", 9)); len(kids) != 0 {
			t.Errorf("%s: nobody has %d children", name, len(kids))
		}
	}
}
