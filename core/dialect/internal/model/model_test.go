package model_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
)

var long = flag.Bool("long", false, "compare many more random sessions with the models")

// An entry is a line that an agent could have written.
type entry struct {
	id, parent string // parent "" for none
	kind       string
	at         int            // second of a minute
	unread     bool           // the agent leaves the line out of its session
	m          map[string]any // other members, as encoding/json has them
}

// text returns a member that is a string, or "".
func (e entry) text(name string) string {
	s, _ := e.m[name].(string)
	return s
}

// message returns a message entry's message.
func (e entry) message() map[string]any {
	m, _ := e.m["message"].(map[string]any)
	return m
}

// A model is an agent's rules, said slowly.
type model struct {
	dialect core.Dialect
	header  string
	kinds   []string // more often those that are in it several times
	line    func(entry) map[string]any
	fill    func(c *chooser, e *entry) // adds the members of its kind
	// leaf is the entry from which the agent continues; "" for none.
	leaf      func(es []entry) string
	context   func(path []entry) map[string]any
	name      func(es, path []entry) string
	rootsTime bool // roots are shown by time
}

// path is the entries from the root to leaf: parents are looked up by id, where
// the last of several counts that the agent reads, until one is missing or comes
// again.
func path(es []entry, leaf string) []entry {
	byID := map[string]entry{}
	for _, e := range es {
		if old, ok := byID[e.id]; !ok || old.unread || !e.unread {
			byID[e.id] = e
		}
	}
	seen := map[string]bool{}
	var up func(id string) []entry
	up = func(id string) []entry {
		e, ok := byID[id]
		if !ok || seen[id] {
			return nil
		}
		seen[id] = true
		return append(up(e.parent), e)
	}
	return up(leaf)
}

// labels are those in effect at the end of the file, on any branch.
func labels(es []entry, target string) map[string]string {
	out := map[string]string{}
	for _, e := range es {
		if e.kind != "label" {
			continue
		}
		if l := e.text("label"); l != "" {
			out[e.text(target)] = l
		} else {
			delete(out, e.text(target))
		}
	}
	return out
}

// A row is a line of a tree.
type row struct {
	id    string
	depth int
	label string
}

// treeRows returns the rows of the tree: a root is an entry whose parent is none,
// itself or unknown; children are shown by time. ok is false where the rules do
// not say: an id is there twice, or parents form a ring.
func treeRows(es []entry, rootsTime bool, label map[string]string) (rows []row, ok bool) {
	ids := map[string]bool{}
	for _, e := range es {
		ids[e.id] = true
	}
	var roots []entry
	below := map[string][]entry{}
	for _, e := range es {
		if e.parent == "" || e.parent == e.id || !ids[e.parent] {
			roots = append(roots, e)
		} else {
			below[e.parent] = append(below[e.parent], e)
		}
	}
	byTime := func(a, b entry) int { return cmp.Compare(a.at, b.at) }
	if rootsTime {
		slices.SortStableFunc(roots, byTime)
	}
	var show func(es []entry, depth int)
	show = func(es []entry, depth int) {
		for _, e := range es {
			rows = append(rows, row{e.id, depth, label[e.id]})
			slices.SortStableFunc(below[e.id], byTime)
			show(below[e.id], depth+1)
		}
	}
	if len(ids) < len(es) {
		return nil, false
	}
	show(roots, 0)
	return rows, len(rows) == len(es)
}

// A chooser makes choices: at random, or as a fuzzer wants them.
type chooser struct {
	bytes []byte
	rand  *rand.Rand
}

// below returns a number from 0 to n-1.
func (c *chooser) below(n int) int {
	if c.rand != nil {
		return c.rand.IntN(n)
	}
	if len(c.bytes) == 0 {
		return 0
	}
	b := int(c.bytes[0])
	c.bytes = c.bytes[1:]
	return b % n
}

func (c *chooser) of(words ...string) string { return words[c.below(len(words))] }

// oneIn is true once in n times, and false where a fuzzer has no more to say.
func (c *chooser) oneIn(n int) bool { return c.below(n) == n-1 }

// entries makes a session: mostly a chain, with forks, orphans, entries that are
// their own parent, parents that come later, and ids that are there twice.
func (m *model) entries(c *chooser) []entry {
	n := c.below(10)
	if c.oneIn(8) {
		n = c.below(31)
	}
	var es []entry
	id := func(i int) string { return fmt.Sprintf("e%02d", i) }
	for i := range n {
		e := entry{id: id(i), kind: c.of(m.kinds...), at: i, m: map[string]any{}}
		if c.oneIn(4) && e.kind != "title_change" { // of names, the youngest counts
			e.at = c.below(10)
		}
		if i > 0 {
			e.parent = es[i-1].id
		}
		switch c.below(24) {
		case 1, 2, 3, 4:
			e.parent = id(c.below(i + 1)) // itself, too
		case 5:
			e.parent = id(c.below(n))
		case 6:
			e.parent = "gone"
		case 7:
			e.parent = ""
		}
		if c.oneIn(60) && i > 0 {
			e.id = id(c.below(i))
		}
		m.fill(c, &e)
		es = append(es, e)
	}
	return es
}

// target is an entry that another one speaks of: any, or one that is not there.
func target(c *chooser) string {
	if c.oneIn(12) {
		return "gone"
	}
	return fmt.Sprintf("e%02d", c.below(12))
}

// lines are es as the agent writes them.
func (m *model) lines(es []entry) []string {
	out := make([]string, len(es))
	for i, e := range es {
		l := m.line(e)
		maps.Copy(l, e.m)
		l["type"], l["id"] = e.kind, e.id
		b, err := json.Marshal(l)
		if err != nil {
			panic(err)
		}
		out[i] = string(b)
	}
	return out
}

// compare says where the dialect and the model differ on a session.
func (m *model) compare(es []entry) error {
	var read []core.Entry
	for _, line := range m.lines(es) {
		e, err := m.dialect.Entry([]byte(line))
		if err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		read = append(read, e)
	}
	leaf := m.leaf(es)
	if err := m.comparePath(es, read, core.Leaf{}, leaf); err != nil {
		return err
	}
	if len(es) > 0 {
		e := es[len(es)/2]
		if err := m.comparePath(es, read, core.LeafAt(e.id), e.id); err != nil {
			return err
		}
	}
	if err := m.compareTree(es, read); err != nil {
		return err
	}
	return m.compareInfo(es, read, leaf)
}

func (m *model) comparePath(es []entry, read []core.Entry, leaf core.Leaf, id string) error {
	want := path(es, id)
	got, err := m.dialect.Path(read, leaf)
	if err != nil || !slices.EqualFunc(got, want, func(g core.Entry, w entry) bool { return g.ID == w.id && g.Type == w.kind }) {
		return fmt.Errorf("path to %q is %v, %v; want %v", id, idsOf(got), err, want)
	}
	raw, err := m.dialect.Context(read, leaf)
	if err != nil {
		return fmt.Errorf("context at %q: %w", id, err)
	}
	var context map[string]any
	if err := json.Unmarshal(raw, &context); err != nil {
		return fmt.Errorf("context at %q: %w", id, err)
	}
	if want := m.context(want); !reflect.DeepEqual(context, want) {
		b, _ := json.Marshal(want)
		return fmt.Errorf("context at %q is\n%s\nwant\n%s", id, raw, b)
	}
	return nil
}

func idsOf(es []core.Entry) (ids []string) {
	for _, e := range es {
		ids = append(ids, e.ID)
	}
	return ids
}

func (m *model) labels(es []entry) map[string]string {
	if m.dialect.Name() == "operator" {
		return labels(es, "target_id")
	}
	return labels(es, "targetId")
}

func (m *model) compareTree(es []entry, read []core.Entry) error {
	want, ok := treeRows(es, m.rootsTime, m.labels(es))
	if !ok {
		return nil
	}
	var got []row
	for _, r := range m.dialect.Tree(read) {
		label := ""
		if r.Label != nil {
			label = *r.Label
		}
		got = append(got, row{r.ID, r.Depth, label})
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("tree is\n%v\nwant\n%v", got, want)
	}
	return nil
}

func (m *model) compareInfo(es []entry, read []core.Entry, leaf string) error {
	h, err := m.dialect.Header([]byte(m.header))
	if err != nil {
		return err
	}
	info, err := m.dialect.Info(h, read, core.Leaf{})
	if err != nil {
		return err
	}
	types := map[string]int{}
	for _, e := range es {
		types[e.kind]++
	}
	got := fmt.Sprint(info.EntryCount, info.Types, info.Labels, str(info.LeafID), str(info.Name))
	want := fmt.Sprint(len(es), types, m.labels(es), leaf, m.name(es, path(es, leaf)))
	if got != want {
		return fmt.Errorf("info is\n%s\nwant\n%s", got, want)
	}
	return nil
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// shrink leaves out entries as long as dialect and model differ, and returns the
// rest as a file with what was found.
func (m *model) shrink(es []entry, err error) error {
	for i := 0; i < len(es); {
		fewer := slices.Delete(slices.Clone(es), i, i+1)
		if e := m.compare(fewer); e != nil {
			es, err, i = fewer, e, 0
			continue
		}
		i++
	}
	return errors.New(strings.Join(m.lines(es), "\n") + "\n" + err.Error())
}

// models are the rules of all agents whose sessions are trees.
var models = []*model{piModel, ompModel, operatorModel}

// PI-12, PI-15, PI-16, PI-28, PI-29, PI-33 to PI-35, OMP-11, OMP-20, OMP-23 to OMP-28, OP-08, OP-09, OP-12, OP-20, OP-22, OP-25, OP-26, OP-29 to OP-32:
// 25,000 random sessions, of each agent a third; with -long a million.
func TestDialectsEqualTheirModels(t *testing.T) {
	t.Parallel()
	cases := 8_400
	if *long {
		cases = 334_000
	}
	const parts = 4
	for _, m := range models {
		for part := range parts {
			t.Run(fmt.Sprint(m.dialect.Name(), part), func(t *testing.T) {
				t.Parallel()
				for i := part; i < cases; i += parts {
					es := m.entries(&chooser{rand: rand.New(rand.NewPCG(uint64(i), 0))})
					if err := m.compare(es); err != nil {
						t.Fatalf("seed %d:\n%v", i, m.shrink(es, err))
					}
				}
			})
		}
	}
}

func FuzzModel(f *testing.F) {
	for i := range 20 {
		b := make([]byte, 200)
		r := rand.NewChaCha8([32]byte{byte(i)})
		_, _ = r.Read(b)
		f.Add(byte(i), b)
	}
	f.Fuzz(func(t *testing.T, which byte, choices []byte) {
		m := models[int(which)%len(models)]
		es := m.entries(&chooser{bytes: choices})
		if err := m.compare(es); err != nil {
			t.Fatalf("%s:\n%v", m.dialect.Name(), m.shrink(es, err))
		}
	})
}
