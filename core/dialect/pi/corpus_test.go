package pi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
)

// The tests in this file hold the dialect to what the real pi said of files
// that are not part of the project.

// corpus returns the folder that SESS_CORPUS names.
func corpus(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("SESS_CORPUS")
	if dir == "" {
		t.Skip("SESS_CORPUS does not name the corpus of real session files")
	}
	return dir
}

// said is what an agent said of a file.
type said struct {
	Info       map[string]any            `json:"info"`
	Tree       any                       `json:"tree"`
	Contexts   map[string]map[string]any `json:"contexts"`
	Context    map[string]any            `json:"context"`
	OpenedText string                    `json:"opened_text"`
}

// PI-05, PI-08, PI-09, PI-12, PI-13, PI-15, PI-29, PI-33, PI-34, PI-35 on sessions
// that pi 1.5.2 wrote.
func TestCorpusMade(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(corpus(t), "pi", "*", "*.expected.json"))
	if len(files) == 0 {
		t.Fatal("no *.expected.json in the corpus")
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			var want said
			readJSON(t, name, &want)
			f := readFile(t, strings.TrimSuffix(name, ".expected.json")+".jsonl")
			if !f.Exact {
				t.Error("the file is not exact")
			}
			compareSession(t, f, want)
			for leaf, context := range want.Contexts {
				compare(t, "context at "+leaf, contextAt(t, f, leaf), context)
			}
			t.Logf("%d entries, %d contexts", len(f.Entries), len(want.Contexts))
		})
	}
}

// defects are the edge cases in which pi fails and we do not: its answers are
// not compared.
var defects = map[string]string{
	"p07-bom":             "accepted without its mark",
	"p11-empty-file":      "pi makes a session of it",
	"t08-self-parent":     "the context ends at the first repeat",
	"c13-message-missing": "the entry has no part in the context",
	"m11-v2-message-null": "the entry has no part in the context",
}

func TestCorpusEdge(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(corpus(t), "edge")
	var results map[string]map[string]said
	readJSON(t, filepath.Join(dir, "results.json"), &results)
	for name, agents := range results {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := agents["pi-1.5.2"]
			data, err := os.ReadFile(filepath.Join(dir, name+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			f, err := pi.Dialect{}.File(data)
			if want.Info["error"] != nil && defects[name] == "" || len(data) == 0 {
				if err == nil {
					t.Fatal("pi refuses this file, we do not")
				}
				t.Log(err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want.Info["error"] == nil {
				compareEdge(t, name, f, want)
			}
		})
	}
}

func compareEdge(t *testing.T, name string, f *core.File, want said) {
	opened, err := pi.Dialect{}.File([]byte(want.OpenedText))
	if err != nil {
		t.Fatal(err)
	}
	// What pi rewrote, with its random ids made ours.
	ours, theirs := core.Render(f.Header, f.Entries), core.Render(opened.Header, opened.Entries)
	if got := renaming(opened.Entries, f.Entries).Replace(string(theirs)); got != string(ours) {
		t.Errorf("as pi opens it:\n%s", cmp.Diff(got, string(ours)))
	}
	if f.Version != "3" {
		renameAll(t, &want, f)
	}
	compareSession(t, f, want)
	context := contextAt(t, f, "__default")
	if want.Context["error"] == nil {
		compare(t, "context", context, want.Context)
	} else if defects[name] == "" {
		t.Errorf("pi fails with %v: is that a defect?", want.Context["error"])
	}
}

// PI-14 on sessions of the first version.
func TestCorpusRealMigrates(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(corpus(t), "pi", "real", "*.v3.jsonl"))
	if len(files) == 0 {
		t.Fatal("no *.v3.jsonl in the corpus")
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			old := readFile(t, strings.TrimSuffix(name, ".v3.jsonl")+".jsonl")
			if old.Exact || old.Version != "1" {
				t.Errorf("exact %v, version %s", old.Exact, old.Version)
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			migrated, err := pi.Dialect{}.File(want)
			if err != nil {
				t.Fatal(err)
			}
			got := renaming(old.Entries, migrated.Entries).Replace(string(core.Render(old.Header, old.Entries)))
			if got != string(want) {
				t.Error("not what pi 1.5.2 makes of it")
			}
			t.Logf("%d entries, %d bytes", len(old.Entries), len(want))
		})
	}
}

func TestCorpusLive(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(corpus(t), "pi", "live", "*.jsonl"))
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			f := readFile(t, name)
			data, _ := os.ReadFile(name)
			if f.Exact != bytes.Equal(core.Render(f.Header, f.Entries), data) {
				t.Error("exact, but not the bytes")
			}
			if !(pi.Dialect{}).Detect(data) {
				t.Error("not detected")
			}
			contextAt(t, f, "__default")
			dir, base := pi.Dialect{}.FileName(f.Header)
			t.Log(len(f.Entries), dir, base)
		})
	}
}

// compareSession compares info, tree and, where pi's listing is there, summary.
func compareSession(t *testing.T, f *core.File, want said) {
	t.Helper()
	d := pi.Dialect{}
	info, err := d.Info(f.Header, f.Entries, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	listed, _ := want.Info["listInfo"].(map[string]any)
	for _, other := range []string{"pi", "uniqueIds", "fileChangedByOpen", "listInfo"} {
		delete(want.Info, other)
	}
	info.Own = nil // what it says is in the context, which is compared
	compare(t, "info", viaJSON(t, info), want.Info)
	tree := []any{}
	for _, n := range d.Tree(f.Entries) {
		row := viaJSON(t, n)
		if n.ID == "" {
			delete(row, "id")
		}
		tree = append(tree, row)
	}
	compare(t, "tree", tree, want.Tree)
	if listed != nil {
		compareSummary(t, d.Summary(f.Header, f.Entries), listed)
	}
}

func compareSummary(t *testing.T, s core.Summary, listed map[string]any) {
	t.Helper()
	first := s.First
	if first == "" {
		first = "(no messages)"
	}
	name, _ := listed["name"].(string)
	whole, _ := listed["firstMessage"].(string)
	got := []any{s.Name, first, float64(s.Messages), s.Created, s.Modified}
	want := []any{name, firstRunes(whole, 200), listed["messageCount"], listed["created"], listed["modified"]}
	compare(t, "summary", got, want)
}

func firstRunes(s string, n int) string {
	r := []rune(s)
	return string(r[:min(n, len(r))])
}

func contextAt(t *testing.T, f *core.File, at string) map[string]any {
	t.Helper()
	leaf := core.LeafAt(at)
	switch at {
	case "__default":
		leaf = core.Leaf{}
	case "null":
		leaf = core.NoLeaf
	}
	raw, err := pi.Dialect{}.Context(f.Entries, leaf)
	if err != nil {
		t.Fatal(err)
	}
	var context map[string]any
	if err := json.Unmarshal(raw, &context); err != nil {
		t.Fatal(err)
	}
	return context
}

// renaming replaces the ids of from by those of to, place by place.
func renaming(from, to []core.Entry) *strings.Replacer {
	var pairs []string
	for i := range min(len(from), len(to)) {
		if from[i].ID != to[i].ID {
			pairs = append(pairs, `"`+from[i].ID+`"`, `"`+to[i].ID+`"`)
		}
	}
	return strings.NewReplacer(pairs...)
}

// renameAll makes ours the random ids in what pi said of a migrated file. They
// are not those of the text it wrote, for it was asked several times; the tree
// of such a file is a line, and has them all.
func renameAll(t *testing.T, s *said, f *core.File) {
	t.Helper()
	last := f.Entries[len(f.Entries)-1].ID
	pairs := []string{fmt.Sprintf("%q", s.Info["leafId"]), fmt.Sprintf("%q", last)}
	for i, row := range s.Tree.([]any) {
		pairs = append(pairs, fmt.Sprintf("%q", row.(map[string]any)["id"]), fmt.Sprintf("%q", f.Entries[i].ID))
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	*s = said{}
	if err := json.Unmarshal([]byte(strings.NewReplacer(pairs...).Replace(string(b))), s); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) *core.File {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := pi.Dialect{}.File(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func readJSON(t *testing.T, name string, to any) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func viaJSON(t *testing.T, v any) map[string]any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func compare(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-pi +ours):\n%s", what, clipped(d))
	}
}

func clipped(s string) string {
	if len(s) > 4000 {
		return fmt.Sprintf("%s… (%d bytes)", s[:4000], len(s))
	}
	return s
}
