package omp_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/omp"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// The tests in this file hold the dialect to what the real omp said of files
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

// said is what omp said of a file.
type said struct {
	Info          map[string]any            `json:"info"`
	Tree          any                       `json:"tree"`
	Contexts      map[string]map[string]any `json:"contexts"`
	Context       map[string]any            `json:"context"`
	RewrittenText string                    `json:"rewritten_text"`
}

// OMP-04, OMP-05, OMP-06, OMP-07, OMP-08, OMP-09, OMP-10, OMP-11, OMP-12, OMP-14,
// OMP-23, OMP-24, OMP-25, OMP-26, OMP-27, OMP-28, OMP-37 on sessions that omp wrote.
func TestCorpusMade(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(corpus(t), "omp", "made", "*.expected.json"))
	if len(files) == 0 {
		t.Fatal("no *.expected.json in the corpus")
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			var want said
			readJSON(t, name, &want)
			f, data := readFile(t, strings.TrimSuffix(name, ".expected.json")+".jsonl")
			roundTrips(t, f, data)
			compareSession(t, f, want)
			d := omp.Dialect{Notes: promptOf(t, f, want.Contexts)}
			for leaf, context := range want.Contexts {
				compare(t, "context at "+leaf, contextAt(t, d, f, leaf), withRefs(context))
			}
			t.Logf("%d entries, %d contexts", len(f.Entries), len(want.Contexts))
		})
	}
}

// promptOf finds out from what omp said which words it puts around a notebook.
// They are not ours to keep.
func promptOf(t *testing.T, f *core.File, contexts map[string]map[string]any) string {
	t.Helper()
	const behind = "\n</experimental-context-notes>"
	for leaf, context := range contexts {
		for _, m := range context["messages"].([]any) {
			if m.(map[string]any)["customType"] != "experimental_context_notes" {
				continue
			}
			said := m.(map[string]any)["content"].(string)
			ours := contextAt(t, omp.Dialect{}, f, leaf)["messages"].([]any)[0].(map[string]any)["content"].(string)
			notes := strings.TrimSuffix(strings.TrimPrefix(ours, "<experimental-context-notes>\n"), behind)
			words, ok := strings.CutSuffix(said, "\n"+notes+behind)
			if !ok {
				t.Fatalf("%q does not end with the notes %q", said, notes)
			}
			return words + "\n{{notes}}" + behind
		}
	}
	return ""
}

// defects are the edge cases in which omp fails or overwrites, and what we do
// instead. Everything else must be as omp said.
var defects = map[string]string{
	"c13-message-missing": "opening the file fails; the entry has no part in the context",
	"m11-v2-message-null": "opening the file fails; the entry has no part in the context",
	"p11-empty-file":      "a new session is written into the file; it is refused",
}

// Info, tree and context of every hostile or damaged file are those that omp
// gave; but for its defects, each of which must still be one.
func TestCorpusEdge(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(corpus(t), "edge")
	var results map[string]map[string]said
	readJSON(t, filepath.Join(dir, "results.json"), &results)
	for name := range defects {
		if _, ok := results[name]; !ok {
			t.Errorf("there is no case %s", name)
		}
	}
	for name, agents := range results {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join(dir, name+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			want, ok := agents["omp-18.3.4"]
			if !ok {
				t.Fatal("it was not asked")
			}
			differs := edge(t, data, want)
			if why := defects[name]; differs != (why != "") {
				t.Errorf("failed or overwrote where we do not: %v; known as a defect: %q", differs, why)
			}
		})
	}
}

// edge compares what we read in data with what omp said of it. It reports
// whether one of both has an answer where the other has none.
func edge(t *testing.T, data []byte, want said) (differs bool) {
	t.Helper()
	failed := want.Info["error"] != nil
	f, err := omp.Dialect{}.File(data)
	if err != nil {
		t.Log(err)
		return !failed
	}
	if f.Exact {
		roundTrips(t, f, data)
	}
	context := contextAt(t, omp.Dialect{}, f, "__default")
	if failed {
		return true
	}
	rewritten(t, f, want)
	if f.Version != "3" {
		renameAll(t, &want, f)
	}
	compareSession(t, f, want)
	if want.Context["error"] != nil {
		return true
	}
	compare(t, "context", context, withRefs(want.Context))
	return false
}

// rewritten compares f with the file as omp rewrites it: as JSON.stringify has
// it, with a title slot in front. Its random ids are made ours.
func rewritten(t *testing.T, f *core.File, want said) {
	t.Helper()
	theirs, err := omp.Dialect{}.File([]byte(want.RewrittenText))
	if err != nil {
		t.Fatal(err)
	}
	if len(theirs.Entries) > 0 && theirs.Entries[0].Type == "title" {
		theirs.Entries = theirs.Entries[1:]
	}
	if len(theirs.Entries) != len(f.Entries) {
		t.Fatalf("%d entries, omp has %d", len(f.Entries), len(theirs.Entries))
	}
	ids := renaming(theirs.Entries, f.Entries)
	ours := core.HeaderFirst(f.Header, f.Entries)
	for i, e := range core.HeaderFirst(theirs.Header, theirs.Entries) {
		compare(t, "rewritten line", stringified(t, ours[i].Line), ids.Replace(string(e.Line)))
	}
}

func TestCorpusLive(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(corpus(t), "omp", "live", "*.jsonl"))
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			f, data := readFile(t, name)
			roundTrips(t, f, data)
			contextAt(t, omp.Dialect{}, f, "__default")
			dir, base := omp.Dialect{Home: "/home/dev", Temp: "/tmp"}.FileName(f.Header)
			t.Log(len(f.Entries), dir, base)
		})
	}
}

func TestCorpusDetect(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]string{"omp/made": "omp", "omp/live": "omp", "pi/made": "pi", "pi/live": "pi", "pi/real": "pi"} {
		files, _ := filepath.Glob(filepath.Join(corpus(t), folder, "*.jsonl"))
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			d, err := dialect.Detect(data)
			if strings.Contains(name, "omp-live") && want == "pi" {
				want = "omp"
			}
			if err != nil || d.Name() != want {
				t.Errorf("%s: %v, %v", name, d, err)
			}
		}
	}
}

// roundTrips checks that f is exact and laid out as data.
//
// What omp has written, it would write again: no line of it is too long.
func roundTrips(t *testing.T, f *core.File, data []byte) {
	t.Helper()
	d := omp.Dialect{}
	for _, e := range f.Entries {
		if got := d.AsWritten(e.Line); !bytes.Equal(got, e.Line) {
			t.Errorf("omp would not write %.200s", e.Line)
		}
	}
	whole := core.Lines(d.Layout(f.Header, f.Entries))
	if !f.Exact || !bytes.Equal(whole, data) {
		t.Errorf("exact %v, %d bytes of %d", f.Exact, len(whole), len(data))
	}
}

// compareSession compares info, tree and, where omp's listing has it, summary.
func compareSession(t *testing.T, f *core.File, want said) {
	t.Helper()
	d := omp.Dialect{}
	info, err := d.Info(f.Header, f.Entries, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	compareOwn(t, info.Own, want)
	info.Own = nil
	got := viaJSON(t, info)
	for name := range got {
		if _, ok := want.Info[name]; !ok && name != "cwd" {
			t.Errorf("omp's info has no %s", name)
		}
		if name != "cwd" { // omp's is where it runs
			compare(t, name, got[name], want.Info[name])
		}
	}
	tree := []any{}
	for _, n := range d.Tree(f.Entries) {
		row := viaJSON(t, n)
		if n.ID == "" {
			delete(row, "id")
		}
		tree = append(tree, row)
	}
	compare(t, "tree", tree, want.Tree)
	s := d.Summary(f.Header, f.Entries)
	if listed, ok := want.Info["listInfo"].(map[string]any); ok {
		name, _ := listed["title"].(string)
		compare(t, "summary", []any{s.Name, s.Created}, []any{name, listed["created"]})
	}
	if u, ok := want.Info["usage"].(map[string]any); ok {
		got := []any{float64(s.Usage.Input), float64(s.Usage.Output), float64(s.Usage.CacheRead), float64(s.Usage.CacheWrite), fmt.Sprintf("%.6f", s.Usage.Cost)}
		compare(t, "usage", got, []any{u["input"], u["output"], u["cacheRead"], u["cacheWrite"], fmt.Sprintf("%.6f", u["cost"])})
	}
}

// compareOwn compares what only omp has: the title's source and slot with its
// info, the settings with its context.
func compareOwn(t *testing.T, raw json.RawMessage, want said) {
	t.Helper()
	own := viaJSON(t, raw)
	for _, name := range []string{"titleSource", "titleSlot"} {
		slot, _ := want.Info[name].(map[string]any)
		for _, other := range []string{"type", "v", "pad"} {
			delete(slot, other)
		}
		compare(t, name, own[name], want.Info[name])
	}
	context := want.Context
	if want.Contexts != nil {
		context = want.Contexts["__default"]
	}
	for name, value := range context {
		if name != "messages" && context["error"] == nil {
			compare(t, "own "+name, own[name], value)
		}
	}
}

// withRefs is v with every image of a size that omp keeps apart in the form
// that a file has: a reference, which the bytes that omp put there must match.
func withRefs(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withRefs(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withRefs(v[name])
		}
		data, _ := v["data"].(string)
		if raw, err := base64.StdEncoding.DecodeString(data); err == nil && v["type"] == "image" && len(data) >= 1024 {
			v["data"] = fmt.Sprintf("blob:sha256:%x", sha256.Sum256(raw))
		}
	}
	return v
}

func contextAt(t *testing.T, d omp.Dialect, f *core.File, at string) map[string]any {
	t.Helper()
	leaf := core.LeafAt(at)
	switch at {
	case "__default":
		leaf = core.Leaf{}
	case "null":
		leaf = core.NoLeaf
	}
	raw, err := d.Context(f.Entries, leaf)
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

// renameAll makes ours the random ids in what omp said of a migrated file. They
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

func readFile(t *testing.T, name string) (*core.File, []byte) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := omp.Dialect{}.File(data)
	if err != nil {
		t.Fatal(err)
	}
	return f, data
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

// stringified is line as JSON.stringify writes it.
func stringified(t *testing.T, line []byte) string {
	t.Helper()
	b, err := jsjson.Append(nil, line)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
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
		t.Errorf("%s (-omp +ours):\n%s", what, clipped(d))
	}
}

func clipped(s string) string {
	if len(s) > 4000 {
		return fmt.Sprintf("%s… (%d bytes)", s[:4000], len(s))
	}
	return s
}
