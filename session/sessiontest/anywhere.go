package sessiontest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
)

// anywhere are the tests that also run without a log.
var anywhere = []test{
	{"AppendMovesTheLeaf", appendHangsOnTheLeaf},
	{"InvalidLinesChangeNothing", badLinesChangeNothing},
	{"BranchKeepsAllEntries", branchMovesTheLeaf},
	{"ResetLeafMakesNextEntryARoot", resetLeaf},
	{"AppendsEveryKindOfEntry", everyKind},
	{"InvalidItemsChangeNothing", badItems},
	{"AnswersNameTheirModel", answers},
	{"BranchWithSummary", branchWithSummary},
	{"CompactionReplacesEarlierEntries", compaction},
	{"AnnotatesMessages", annotated},
	{"SetsLabelsAndNames", labelsAndNames},
	{"TreeChildrenAndPath", treeChildrenPath},
	{"LazySessionKeepsEntries", lazyKeeps},
	{"ForkCopiesAllEntries", forkHasAll},
	{"BranchedCopiesPathAndLabels", branchedHasPath},
	{"ClosedSessionIsReadable", closeEndsWriting},
	{"ConcurrentWrites", manyWriters},
}

// OP-21, OP-27, OMP-20, PI-16, PI-18, PI-19, PI-27, PI-36
func appendHangsOnTheLeaf(t *testing.T, w *suite) {
	s := w.create(t)
	if !s.Leaf().IsNone() {
		t.Errorf("the leaf of a new session is %v", s.Leaf())
	}
	if _, ok := s.LeafEntry(); ok {
		t.Error("a new session has a leaf entry")
	}
	before := ""
	for i := range 3 {
		id := w.user(t, s, fmt.Sprint(i))
		e, ok := s.Entry(id)
		if !ok || e.Parent != before || e.Time == "" || len(id) != 8 {
			t.Errorf("entry %d is %q, %v, want parent %q, a time and an id of 8 characters", i, e.Line, ok, before)
		}
		wantLeaf(t, s, id)
		before = id
	}
	if n := len(s.Entries()); n != 3 {
		t.Errorf("%d entries, want 3: the header does not count", n)
	}
	if h := s.Header(); h.ID != string(s.ID()) || h.CWD == "" || h.Time == "" {
		t.Errorf("the header is %q", h.Line)
	}
	if _, ok := s.Entry("nowhere"); ok {
		t.Error("an entry exists that was not written")
	}
	if err := s.Flush(t.Context()); err != nil || len(s.Unsent()) != 0 {
		t.Errorf("flush: %v, %d unsent", err, len(s.Unsent()))
	}
}

func badLinesChangeNothing(t *testing.T, w *suite) {
	s, ids := w.chat(t)
	want, leaf := lines(s.Entries()), s.Leaf()
	for name, line := range map[string]string{
		"no JSON":            `{`,
		"no object":          `[1]`,
		"two lines":          "{\"type\":\"custom\",\n\"customType\":\"x\"}",
		"a taken id":         fmt.Sprintf(`{"type":"custom","customType":"x","custom_type":"x","id":%q}`, ids[0]),
		"an orphan":          `{"type":"custom","customType":"x","custom_type":"x","parentId":"nowhere","parent_id":"nowhere"}`,
		"an id too long":     fmt.Sprintf(`{"type":"custom","customType":"x","custom_type":"x","id":%q}`, strings.Repeat("i", 300)),
		"an id that is null": `{"type":"custom","customType":"x","custom_type":"x","id":null}`,
	} {
		good := w.message(item.RoleUser, "good")
		_, err := s.AppendLine(t.Context(), good, []byte(line))
		testkit.WantErr(t, err, core.ErrInvalid)
		if e, ok := errors.AsType[*core.LineError](err); !ok || e.Line != 2 {
			t.Errorf("%s: error is %v, want one that names line 2", name, err)
		}
	}
	testkit.Equal(t, "entries", want, lines(s.Entries()))
	if s.Leaf() != leaf || s.Err() != nil || len(s.Unsent()) != 0 {
		t.Errorf("the leaf is %v, error %v, %d unsent", s.Leaf(), s.Err(), len(s.Unsent()))
	}
}

// OP-22, OMP-21, OMP-22, PI-15, PI-30
func branchMovesTheLeaf(t *testing.T, w *suite) {
	s, ids := w.chat(t)
	before := lines(s.Entries())
	testkit.Must(t, s.Branch(t.Context(), ids[1]))
	wantLeaf(t, s, ids[1])
	testkit.Equal(t, "context", []string{"one", "two"}, texts(t, s, core.Leaf{}, "one", "two", "three", "four"))
	other := w.user(t, s, "five")
	e, _ := s.Entry(other)
	if e.Parent != ids[1] {
		t.Errorf("the parent of the next entry is %q, want %q", e.Parent, ids[1])
	}
	testkit.Equal(t, "the earlier entries", before, lines(s.Entries())[:len(before)])
	testkit.Equal(t, "the old branch", []string{"one", "two", "three", "four"}, texts(t, s, core.LeafAt(ids[3]), "one", "two", "three", "four", "five"))
	testkit.Equal(t, "the new branch", []string{"one", "two", "five"}, texts(t, s, core.Leaf{}, "one", "two", "three", "four", "five"))
	leaf := s.Leaf()
	testkit.WantErr(t, s.Branch(t.Context(), "nowhere"), core.ErrNotFound)
	if s.Leaf() != leaf {
		t.Error("a failed branch moved the leaf")
	}
	_, err := s.Context(core.LeafAt("nowhere"))
	testkit.WantErr(t, err, core.ErrNotFound)
}

// OP-24, OMP-21, PI-31
func resetLeaf(t *testing.T, w *suite) {
	s, _ := w.chat(t)
	n := len(s.Entries())
	testkit.Must(t, s.ResetLeaf(t.Context()))
	if !s.Leaf().IsNone() || len(s.Entries()) != n {
		t.Errorf("the leaf is %v with %d entries, want none and %d", s.Leaf(), len(s.Entries()), n)
	}
	testkit.Equal(t, "context", []string{}, texts(t, s, core.Leaf{}, "one", "two", "three", "four"))
	if path, err := s.Path(core.Leaf{}); err != nil || len(path) != 0 {
		t.Errorf("the path is %q, %v", ids(path), err)
	}
	root := w.user(t, s, "again")
	if e, _ := s.Entry(root); e.Parent != "" {
		t.Errorf("the parent of the next entry is %q, want none", e.Parent)
	}
	testkit.Equal(t, "context", []string{"again"}, texts(t, s, core.Leaf{}, "one", "again"))
	if roots := s.Children(""); len(roots) != 2 {
		t.Errorf("%d roots, want 2", len(roots))
	}
}

// OP-11, OP-13, OP-14, OP-15, OP-21, PI-18, PI-19, PI-20, PI-21, PI-23, PI-24,
// PI-25, PI-26, OMP-20
func everyKind(t *testing.T, w *suite) {
	s := w.create(t)
	first := w.user(t, s, "one")
	items := []item.Item{
		say(item.RoleUser, "hello"),
		{Kind: item.Model, Provider: "p", Model: "m"},
		{Kind: item.Level, Text: "high"},
		{Kind: item.Custom, Type: "x", Details: []byte(`{"a":1}`)},
		{Kind: item.Note, Type: "x", Blocks: []item.Block{{Kind: item.BlockText, Text: "noted"}}},
		{Kind: item.Label, Target: first, Text: "here"},
		{Kind: item.Name, Text: "name"},
	}
	want := []string{"message", "model_change", "thinking_level_change", "custom", "custom_message", "label", "session_info"}
	switch w.dialect {
	case "omp":
		want[6] = "title_change"
		items, want = append(items, item.Item{Kind: item.Mode, Text: "plan"}), append(want, "mode_change")
	case "operator":
		items, want = append(items, item.Item{Kind: item.Channel, Text: "chat"}), append(want, "channel")
	}
	ids, err := s.Append(t.Context(), items...)
	testkit.Must(t, err)
	before := first
	var kinds []string
	for _, id := range ids {
		e, _ := s.Entry(id)
		if e.Parent != before {
			t.Errorf("the parent of %s is %q, want %q", e.Line, e.Parent, before)
		}
		kinds, before = append(kinds, e.Type), id
	}
	testkit.Equal(t, "types", want, kinds)
	wantLeaf(t, s, before)
	testkit.Equal(t, "context", []string{"one", "hello", "noted"}, texts(t, s, core.Leaf{}, "one", "hello", "noted"))
	if s.Label(first) != "here" || s.Name() != "name" {
		t.Errorf("label %q, name %q", s.Label(first), s.Name())
	}
}

// OP-11: Operator's messages do not name the model.
func answers(t *testing.T, w *suite) {
	s := w.create(t)
	answer := func(model string) item.Item {
		it := say(item.RoleAssistant, "answer")
		it.Provider, it.Model, it.Stop = "p", model, item.StopEnd
		return it
	}
	ids, err := s.Append(t.Context(), say(item.RoleUser, "one"), answer("m1"), say(item.RoleUser, "two"), answer("m1"))
	testkit.Must(t, err)
	more, err := s.Append(t.Context(), answer("m1"), answer("m2"))
	testkit.Must(t, err)
	var kinds []string
	for _, id := range append(ids, more...) {
		e, _ := s.Entry(id)
		kinds = append(kinds, e.Type)
	}
	testkit.Equal(t, "types of the requested entries", []string{"message", "message", "message", "message", "message", "message"}, kinds)
	changes := 0
	for _, e := range s.Entries() {
		if e.Type == "model_change" {
			changes++
		}
	}
	if want := map[string]int{"operator": 2}[w.dialect]; changes != want {
		t.Errorf("%d entries name the model, want %d", changes, want)
	}
}

func say(role item.Role, text string) item.Item {
	return item.Item{Kind: item.Message, Role: role, Blocks: []item.Block{{Kind: item.BlockText, Text: text}}}
}

// OP-10
func badItems(t *testing.T, w *suite) {
	s, ids := w.chat(t)
	good := item.Item{Kind: item.Level, Text: "low"}
	for name, c := range map[string]struct {
		it   item.Item
		want error
	}{
		"a model without a provider":      {item.Item{Kind: item.Model, Model: "m"}, core.ErrInvalid},
		"a level that is none":            {item.Item{Kind: item.Level, Text: "bogus"}, core.ErrInvalid},
		"no such kind":                    {item.Item{Kind: "poem"}, core.ErrInvalid},
		"a label of a missing entry":      {item.Item{Kind: item.Label, Target: "nowhere", Text: "x"}, core.ErrNotFound},
		"a compaction of a missing entry": {item.Item{Kind: item.Compaction, Target: "nowhere", Text: "x"}, core.ErrNotFound},
		"an item of another agent":        {map[string]item.Item{"operator": {Kind: item.Mode, Text: "x"}}[w.dialect], core.ErrInvalid},
	} {
		_, err := s.Append(t.Context(), good, c.it)
		if e, ok := errors.AsType[*core.LineError](err); !ok || e.Line != 2 || !errors.Is(err, c.want) {
			t.Errorf("%s: error is %v, want %v in item 2", name, err, c.want)
		}
	}
	if w.dialect == "operator" {
		_, err := s.Append(t.Context(), item.Item{Kind: item.Level, Text: "very high"})
		testkit.WantErr(t, err, core.ErrInvalid)
	}
	if len(s.Entries()) != 4 {
		t.Errorf("%d entries, want 4", len(s.Entries()))
	}
	wantLeaf(t, s, ids[3])
}

// OP-23, OMP-21, PI-32
func branchWithSummary(t *testing.T, w *suite) {
	s, ids := w.chat(t)
	id, err := s.BranchWithSummary(t.Context(), core.LeafAt(ids[1]), "it led nowhere", []byte(`{"readFiles":["a"]}`))
	testkit.Must(t, err)
	wantLeaf(t, s, id)
	e, _ := s.Entry(id)
	member := map[string]string{"pi": `"fromId":"` + ids[3], "omp": `"fromId":"` + ids[1], "operator": `"from_id":"` + ids[1]}[w.dialect]
	if e.Parent != ids[1] || e.Type != "branch_summary" || !strings.Contains(string(e.Line), member) {
		t.Errorf("the summary is %s", e.Line)
	}
	context, err := s.Context(core.Leaf{})
	testkit.Must(t, err)
	if !strings.Contains(string(context), "it led nowhere") || strings.Contains(string(context), `"three"`) {
		t.Errorf("the context is %s", context)
	}
	id, err = s.BranchWithSummary(t.Context(), core.NoLeaf, "all of it", nil)
	testkit.Must(t, err)
	e, _ = s.Entry(id)
	if e.Parent != "" || !strings.Contains(string(e.Line), `:"root"`) {
		t.Errorf("the summary before all entries is %s", e.Line)
	}
	leaf := s.Leaf()
	_, err = s.BranchWithSummary(t.Context(), core.LeafAt("nowhere"), "x", nil)
	testkit.WantErr(t, err, core.ErrNotFound)
	_, err = s.BranchWithSummary(t.Context(), core.Leaf{}, "x", nil)
	testkit.WantErr(t, err, core.ErrInvalid)
	if s.Leaf() != leaf {
		t.Error("a failed branch moved the leaf")
	}
}

// OP-31, PI-22
func compaction(t *testing.T, w *suite) {
	s, ids := w.chat(t)
	id, err := s.Compact(t.Context(), "so far", ids[2], 1234, nil)
	testkit.Must(t, err)
	wantLeaf(t, s, id)
	w.user(t, s, "five")
	testkit.Equal(t, "context", []string{"three", "four", "five"}, texts(t, s, core.Leaf{}, "one", "two", "three", "four", "five"))
	context, err := s.Context(core.Leaf{})
	testkit.Must(t, err)
	if !strings.Contains(string(context), "so far") {
		t.Errorf("the context is %s", context)
	}
	_, err = s.Compact(t.Context(), "x", "nowhere", 1, nil)
	testkit.WantErr(t, err, core.ErrNotFound)
	b, err := s.Branched(t.Context(), core.Leaf{}, w.options())
	testkit.Must(t, err)
	testkit.Equal(t, "a branch's context", []string{"three", "four", "five"}, texts(t, b, core.Leaf{}, "one", "two", "three", "four", "five"))
}

// OP-16
func annotated(t *testing.T, w *suite) {
	s, ids := w.chat(t)
	err := s.SetMeta(t.Context(), ids[0], []byte(`{"channel_message_id":"c1"}`))
	if w.dialect != "operator" {
		testkit.WantErr(t, err, core.ErrInvalid)
		testkit.WantErr(t, s.React(t.Context(), "c1", "x"), core.ErrInvalid)
		return
	}
	testkit.Must(t, err)
	before := s.Entries()
	testkit.Must(t, s.React(t.Context(), "c1", "👍"))
	testkit.Must(t, s.React(t.Context(), "c1", "👍"))
	e, _ := s.Entry(ids[0])
	if strings.Count(string(e.Line), "👍") != 1 || strings.Contains(string(before[0].Line), "👍") {
		t.Errorf("the message is %s, and before it was %s", e.Line, before[0].Line)
	}
	testkit.WantErr(t, s.SetMeta(t.Context(), "nowhere", []byte(`{}`)), core.ErrNotFound)
	testkit.WantErr(t, s.SetMeta(t.Context(), ids[0], []byte(`[]`)), core.ErrInvalid)
	testkit.WantErr(t, s.React(t.Context(), "c2", "x"), core.ErrNotFound)
	testkit.Must(t, s.Close(t.Context()))
	if w.Log != nil {
		same(t, s, w.open(t, s.ID()))
	}
}

// OP-12, OP-27, PI-24, PI-26, PI-28, OMP-42
func labelsAndNames(t *testing.T, w *suite) {
	s, ids := w.chat(t)
	set := func(label string) {
		t.Helper()
		id, err := s.SetLabel(t.Context(), ids[1], label)
		testkit.Must(t, err)
		wantLeaf(t, s, id)
		if got := s.Label(ids[1]); got != label {
			t.Errorf("the label is %q, want %q", got, label)
		}
	}
	set("first")
	set("second")
	set("")
	set("third")
	_, err := s.SetLabel(t.Context(), "nowhere", "x")
	testkit.WantErr(t, err, core.ErrNotFound)
	if s.Name() != "" || s.Label(ids[0]) != "" {
		t.Errorf("name %q and label %q, want none", s.Name(), s.Label(ids[0]))
	}
	_, err = s.SetName(t.Context(), "  the name\t")
	testkit.Must(t, err)
	if s.Name() != "the name" {
		t.Errorf("the name is %q", s.Name())
	}
	_, err = s.SetName(t.Context(), "another")
	testkit.Must(t, err)
	if s.Name() != "another" {
		t.Errorf("the name is %q", s.Name())
	}
}

// OP-25, OP-26, OP-27, PI-28, PI-29
func treeChildrenPath(t *testing.T, w *suite) {
	s, all := w.chat(t)
	testkit.Must(t, s.Branch(t.Context(), all[1]))
	other := w.user(t, s, "five")
	label, err := s.SetLabel(t.Context(), all[0], "start")
	testkit.Must(t, err)
	kids := ids(s.Children(all[1]))
	if len(kids) < 2 || kids[0] != all[2] || kids[len(kids)-1] != other {
		t.Errorf("children are %q, want %s first and %s last", kids, all[2], other)
	}
	testkit.Equal(t, "roots", []string{all[0]}, ids(s.Children("")))
	testkit.Equal(t, "children of a missing entry", []string{}, ids(s.Children("nowhere")))
	path, err := s.Path(core.Leaf{})
	testkit.Must(t, err)
	testkit.Equal(t, "path", []string{all[0], all[1], other, label}, ids(path))
	path, err = s.Path(core.LeafAt(all[2]))
	testkit.Must(t, err)
	testkit.Equal(t, "another path", all[:3], ids(path))
	_, err = s.Path(core.LeafAt("nowhere"))
	testkit.WantErr(t, err, core.ErrNotFound)
	tree := s.Tree()
	if len(tree) != len(s.Entries()) || tree[0].ID != all[0] || tree[0].Label == nil || *tree[0].Label != "start" {
		t.Errorf("the tree is %+v", tree)
	}
	info, err := s.Info()
	testkit.Must(t, err)
	if info.EntryCount != len(s.Entries()) || info.LeafID == nil || *info.LeafID != label {
		t.Errorf("info is %+v", info)
	}
}

// OP-17, OMP-30, PI-39
func lazyKeeps(t *testing.T, w *suite) {
	s := w.create(t, lazy)
	_, err := s.SetName(t.Context(), "early")
	testkit.Must(t, err)
	w.user(t, s, "one")
	w.assistant(t, s, "two")
	w.user(t, s, "three")
	if len(s.Entries()) != 4 || len(s.Unsent()) != 0 {
		t.Errorf("%d entries, %d unsent", len(s.Entries()), len(s.Unsent()))
	}
}

// OP-35, PI-17, OMP-29
func forkHasAll(t *testing.T, w *suite) {
	s, all := w.chat(t)
	testkit.Must(t, s.Branch(t.Context(), all[1]))
	w.user(t, s, "five")
	f, err := s.Fork(t.Context(), "/elsewhere", w.options())
	testkit.Must(t, err)
	testkit.Equal(t, "entries", lines(s.Entries()), lines(f.Entries()))
	if f.ID() == s.ID() || f.Leaf() != s.Leaf() {
		t.Errorf("the fork is %s at %v, its source %s at %v", f.ID(), f.Leaf(), s.ID(), s.Leaf())
	}
	if h := f.Header(); h.CWD != "/elsewhere" || h.Parent != s.Header().ID || h.ID != string(f.ID()) {
		t.Errorf("the header is %s", h.Line)
	}
	n := len(s.Entries())
	w.user(t, f, "in the fork")
	if len(s.Entries()) != n || len(f.Entries()) != n+1 {
		t.Error("an entry of the fork is in its source, or not in the fork")
	}
}

// OP-28, PI-40
func branchedHasPath(t *testing.T, w *suite) {
	s := w.create(t)
	one := w.user(t, s, "one")
	onPath, err := s.SetLabel(t.Context(), one, "on the path")
	testkit.Must(t, err)
	two := w.assistant(t, s, "two") // child of the label entry
	w.user(t, s, "three")
	_, err = s.SetLabel(t.Context(), two, "from elsewhere")
	testkit.Must(t, err)
	_, err = s.SetLabel(t.Context(), one, "renamed elsewhere")
	testkit.Must(t, err)

	b, err := s.Branched(t.Context(), core.LeafAt(two), w.options())
	testkit.Must(t, err)
	testkit.Equal(t, "context", []string{"one", "two"}, texts(t, b, core.Leaf{}, "one", "two", "three"))
	testkit.Equal(t, "labels", []string{"renamed elsewhere", "from elsewhere"}, []string{b.Label(one), b.Label(two)})
	path, err := b.Path(core.Leaf{})
	testkit.Must(t, err)
	if len(path) != len(b.Entries()) {
		t.Errorf("%d of %d entries are on the path", len(path), len(b.Entries()))
	}
	testkit.Equal(t, "the path", []string{one, onPath, two}, ids(path)[:3])
	if h := b.Header(); h.Parent != s.Header().ID || h.CWD != s.Header().CWD || b.ID() == s.ID() {
		t.Errorf("the header is %s", h.Line)
	}
	_, err = s.Branched(t.Context(), core.LeafAt("nowhere"), w.options())
	testkit.WantErr(t, err, core.ErrNotFound)
	none, err := s.Branched(t.Context(), core.NoLeaf, w.options())
	testkit.Must(t, err)
	if len(none.Entries()) != 0 {
		t.Errorf("the branch before all entries has %d entries", len(none.Entries()))
	}
}

// OMP-34
func closeEndsWriting(t *testing.T, w *suite) {
	s, all := w.chat(t)
	testkit.Must(t, s.Close(t.Context()))
	testkit.Must(t, s.Close(t.Context()))
	_, err := s.AppendLine(t.Context(), w.message(item.RoleUser, "late"))
	testkit.WantErr(t, err, session.ErrClosed)
	testkit.WantErr(t, s.Branch(t.Context(), all[0]), session.ErrClosed)
	testkit.WantErr(t, s.Flush(t.Context()), session.ErrClosed)
	if len(s.Entries()) != 4 || len(texts(t, s, core.Leaf{}, "four")) != 1 {
		t.Error("a closed session cannot be read")
	}
}

// OMP-31
func manyWriters(t *testing.T, w *suite) {
	s := w.create(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 5 {
				if _, err := s.AppendLine(t.Context(), w.message(item.RoleUser, fmt.Sprintf("%d-%d", i, j))); err != nil {
					t.Error(err)
				}
				_ = s.Tree()
				_ = s.Entries()
			}
		})
	}
	wg.Wait()
	path, err := s.Path(core.Leaf{})
	if err != nil || len(path) != 20 {
		t.Errorf("%d entries are on the path, %v; want all 20 in one chain", len(path), err)
	}
}
