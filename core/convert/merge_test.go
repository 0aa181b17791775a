package convert_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
	"github.com/sesslog/sesslog/core/dialect"
)

// message is an entry line of pi and omp; an empty parent makes a root.
func message(id, parent string) string {
	p := "null"
	if parent != "" {
		p = fmt.Sprintf("%q", parent)
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"of %s"}}`, id, p, id)
}

func entries(t *testing.T, d core.Dialect, lines ...string) []core.Entry {
	t.Helper()
	var es []core.Entry
	for _, l := range lines {
		e, err := d.Entry([]byte(l))
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	return es
}

func lines(es []core.Entry) []string {
	var out []string
	for _, e := range es {
		out = append(out, string(e.Line))
	}
	return out
}

var pi = dialect.All()["pi"]

// joined joins two sessions of pi at their leaves.
func joined(t *testing.T, a, b []string) []string {
	t.Helper()
	es, err := convert.Merge(pi, convert.Side{Entries: entries(t, pi, a...)}, convert.Side{Entries: entries(t, pi, b...)}, "seed")
	if err != nil {
		t.Fatal(err)
	}
	return lines(es)
}

// FLEET-21
func TestMergeContinuesAtFirstLeaf(t *testing.T) {
	t.Parallel()
	got := joined(t,
		[]string{message("a1", ""), message("off", "a1"), message("a2", "a1")},
		[]string{message("b1", ""), message("b2", "b1")})
	want := []string{message("a1", ""), message("a2", "a1"), message("b1", "a2"), message("b2", "b1")}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// FLEET-21: two forks of one session, or two heads of it.
func TestMergeKeepsCommonPrefixOnce(t *testing.T) {
	t.Parallel()
	common := []string{message("r", ""), message("s", "r")}
	got := joined(t, append(slices.Clone(common), message("a", "s")), append(slices.Clone(common), message("b", "s"), message("c", "b")))
	want := append(slices.Clone(common), message("a", "s"), message("b", "a"), message("c", "b"))
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(common, joined(t, common, common)); d != "" {
		t.Errorf("a session with itself:\n%s", d)
	}
	if d := cmp.Diff(got[:3], joined(t, common, got[:3])); d != "" {
		t.Errorf("a session with what it became:\n%s", d)
	}
	if d := cmp.Diff(common, joined(t, nil, common)); d != "" {
		t.Errorf("nothing with a session:\n%s", d)
	}
	if d := cmp.Diff(common, joined(t, common, nil)); d != "" {
		t.Errorf("a session with nothing:\n%s", d)
	}
}

// Ids that both use for other entries are new in the second, and so is all
// that names them. Every other byte stays.
func TestMergeRenamesConflictingIDs(t *testing.T) {
	t.Parallel()
	odd := `{ "type":"message","id":"x2" ,"parentId":"x1","n":1.50,"\u0061":"<>", "timestamp":"t","message":{"role":"user","content":"parentId x1"}}`
	got := joined(t,
		[]string{message("x1", ""), message("x2", "x1")},
		[]string{
			strings.Replace(message("x1", ""), "of x1", "another", 1), odd,
			`{"type":"compaction","id":"k","parentId":"x2","firstKeptEntryId":"x2","summary":"x2"}`,
			`{"type":"label","id":"l","parentId":"k","targetId":"k","label":"mine"}`,
			`{"type":"branch_summary","id":"m","parentId":"l","fromId":"x1","summary":""}`,
		})
	if len(got) != 7 {
		t.Fatalf("%d entries:\n%s", len(got), strings.Join(got, "\n"))
	}
	es := entries(t, pi, got...)
	x1, x2 := es[2].ID, es[3].ID
	want := []string{
		message("x1", ""), message("x2", "x1"),
		strings.NewReplacer("of x1", "another", `"id":"x1"`, `"id":"`+x1+`"`, `"parentId":null`, `"parentId":"x2"`).Replace(message("x1", "")),
		strings.NewReplacer(`"id":"x2"`, `"id":"`+x2+`"`, `"parentId":"x1"`, `"parentId":"`+x1+`"`).Replace(odd),
		`{"type":"compaction","id":"k","parentId":"` + x2 + `","firstKeptEntryId":"` + x2 + `","summary":"x2"}`,
		`{"type":"label","id":"l","parentId":"k","targetId":"k","label":"mine"}`,
		`{"type":"branch_summary","id":"m","parentId":"l","fromId":"` + x1 + `","summary":""}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(x1) != 8 || x1 == x2 {
		t.Errorf("the new ids are %q and %q", x1, x2)
	}
	again := joined(t, want[:2], []string{strings.Replace(message("x1", ""), "of x1", "another", 1)})
	if again[2] != want[2] {
		t.Errorf("the same again is\n%s\nwant\n%s", again[2], want[2])
	}
}

func TestMergeCarriesLabels(t *testing.T) {
	t.Parallel()
	label := func(id, parent, target, text string) string {
		return fmt.Sprintf(`{"type":"label","id":%q,"parentId":%q,"timestamp":"2026-01-02T03:04:06.000Z","targetId":%q,"label":%q}`, id, parent, target, text)
	}
	got := joined(t,
		[]string{message("r", ""), label("l1", "r", "r", "shared, by a"), label("l2", "r", "nowhere", "of no entry"), message("a", "r")},
		[]string{message("r", ""), label("l3", "r", "r", "shared, by b"), message("a", "r"), message("b", "a"), label("l4", "a", "b", "b's"), message("c", "b")})
	es := entries(t, pi, got...)
	labels := map[string]string{}
	for _, n := range pi.Tree(es) {
		if n.Label != nil {
			labels[n.ID] = *n.Label + " at " + *n.LabelTimestamp
		}
	}
	want := map[string]string{"r": "shared, by a at 2026-01-02T03:04:06.000Z", "b": "b's at 2026-01-02T03:04:06.000Z"}
	if d := cmp.Diff(want, labels); d != "" {
		t.Errorf("%s\n%s", d, strings.Join(got, "\n"))
	}
	path, err := pi.Path(es, core.Leaf{})
	if err != nil || len(path) != len(es) {
		t.Errorf("the labels left the path: %d of %d, %v", len(path), len(es), err)
	}
}

// FLEET-21: every agent whose sessions are trees reads the result as one path.
func TestMergeMakesOnePathInEveryDialect(t *testing.T) {
	t.Parallel()
	for name, d := range dialect.All() {
		if !isTree(d) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := func(n int) []core.Entry {
				var es []core.Entry
				leaf := core.NoLeaf
				for i := range n {
					e, err := d.Fill(d.NewLabel(fmt.Sprint("t", i), "text"), core.Fields{ID: fmt.Sprint("id", i), Parent: leaf, Time: "2026-01-02T03:04:05.678Z"})
					if err != nil {
						t.Fatal(err)
					}
					es, leaf = append(es, e), core.LeafAt(e.ID)
				}
				return es
			}
			second := made(4)
			second[0], _ = d.Fill(d.NewName("another"), core.Fields{ID: "id0", Parent: core.NoLeaf, Time: "2026-01-02T03:04:05.678Z"})
			es, err := convert.Merge(d, convert.Side{Entries: made(3)}, convert.Side{Entries: second}, "seed")
			if err != nil {
				t.Fatal(err)
			}
			path, err := d.Path(es, d.Leaf(es))
			if err != nil || len(path) != 7 {
				t.Errorf("the path has %d of 7 entries, %v:\n%s", len(path), err, strings.Join(lines(es), "\n"))
			}
			seen := map[string]bool{}
			for _, e := range es {
				if seen[e.ID] {
					t.Errorf("id %s is there twice", e.ID)
				}
				seen[e.ID] = true
			}
		})
	}
}

// Claude Code names entries and parents in uuid and parentUuid; a compaction, whose
// parentUuid is null, names its parent in logicalParentUuid.
func TestMergeMovesEntriesOfClaudeCode(t *testing.T) {
	t.Parallel()
	d := dialect.All()["claude"]
	first := entries(t, d, `{"parentUuid":null,"type":"user","message":{"role":"user","content":"a"},"uuid":"u1"}`)
	second := entries(t, d,
		`{"parentUuid":null,"type":"user","message":{"role":"user","content":"b"},"uuid":"u1"}`,
		`{"parentUuid":"u1","type":"user","message":{"role":"user","content":"c"},"uuid":"u2"}`,
		`{"parentUuid":null,"logicalParentUuid":"u2","type":"system","subtype":"compact_boundary","content":"","uuid":"u3"}`)
	es, err := convert.Merge(d, convert.Side{Entries: first}, convert.Side{Entries: second}, "seed")
	if err != nil {
		t.Fatal(err)
	}
	path, err := d.Path(es, d.Leaf(es))
	if err != nil || len(path) != 4 {
		t.Errorf("the path has %d of 4 entries, %v:\n%s", len(path), err, strings.Join(lines(es), "\n"))
	}
	moved := fmt.Sprintf(`{"parentUuid":"u1","type":"user","message":{"role":"user","content":"b"},"uuid":%q}`, es[1].ID)
	if d := cmp.Diff([]string{moved, string(second[2].Line)}, []string{string(es[1].Line), string(es[3].Line)}); d != "" || es[1].ID == "u1" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
}

// chain is pi, if its sessions were linear.
type chain struct{ core.Dialect }

func (chain) Linear() bool { return true }

func (chain) Path(es []core.Entry, _ core.Leaf) ([]core.Entry, error) { return es, nil }

// RATH-11: of sessions without a tree, the second's rows follow the first's,
// all of them, byte for byte unless an id is used by both.
func TestMergeConcatenatesLinearSessions(t *testing.T) {
	t.Parallel()
	rows := entries(t, pi, `{"kind":"user","payload":{"content":"go"}}`, `{"kind":"assistant","payload":{}}`)
	es, err := convert.Merge(chain{pi}, convert.Side{Entries: rows}, convert.Side{Entries: rows}, "seed")
	if d := cmp.Diff(append(lines(rows), lines(rows)...), lines(es)); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	named := entries(t, pi, message("a", ""), message("b", "a"))
	es, err = convert.Merge(chain{pi}, convert.Side{Entries: named}, convert.Side{Entries: named}, "seed")
	if err != nil || len(es) != 4 || es[2].ID == "a" || es[3].Parent != es[2].ID {
		t.Errorf("%v\n%s", err, strings.Join(lines(es), "\n"))
	}
}

func TestMergeRejects(t *testing.T) {
	t.Parallel()
	one := convert.Side{Entries: entries(t, pi, message("a", ""))}
	nameless := convert.Side{Entries: entries(t, pi, `{"type":"message"}`)}
	if _, err := convert.Merge(pi, nameless, one, ""); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("behind an entry without an id: %v", err)
	}
	gone := convert.Side{Entries: one.Entries, Leaf: core.LeafAt("nowhere")}
	if _, err := convert.Merge(pi, gone, one, ""); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a leaf that is not there: %v", err)
	}
	if _, err := convert.Merge(pi, one, gone, ""); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a leaf that is not there: %v", err)
	}
}

// A line with a member twice, with a parent that is a number, or without one
// ends up below the right entry all the same, or is refused.
func FuzzJoin(f *testing.F) {
	f.Add(message("b", ""), message("c", "b"))
	f.Add(`{"id":"a","id":"b","parentId":7,"parentId":null}`, `{"parentId":"b","id":"c","targetId":"a"}`)
	f.Add(`{}`, `{"id":"a","parentId":""}`)
	f.Add("{\"id\":\"\xff\",\"firstKeptEntryId\":\"a\"}", `{"id":"a","parentId":"\ud800"}`)
	f.Fuzz(func(t *testing.T, one, two string) {
		var es []core.Entry
		for _, l := range []string{one, two} {
			if e, err := pi.Entry([]byte(l)); err == nil {
				es = append(es, e)
			}
		}
		got, err := convert.Merge(pi, convert.Side{Entries: entries(t, pi, message("a", ""))}, convert.Side{Entries: es}, "seed")
		if err != nil {
			return
		}
		for i, e := range got {
			if i > 0 && e.Parent != got[i-1].ID {
				t.Errorf("entry %d hangs on %q, not on %q: %s", i, e.Parent, got[i-1].ID, e.Line)
			}
			if again, err := pi.Entry(e.Line); err != nil || again.ID != e.ID || again.Parent != e.Parent {
				t.Errorf("entry %d is read back as %+v, %v", i, again, err)
			}
		}
	})
}
