package omp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/dialect/omp"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/internal/testkit"
)

// The tests in this file hold the dialect to what the real omp said of files
// that are not part of the project.

// OMP-04, OMP-05, OMP-06, OMP-07, OMP-08, OMP-09, OMP-10, OMP-11, OMP-12, OMP-14,
// OMP-23, OMP-24, OMP-25, OMP-26, OMP-27, OMP-28, OMP-37 on sessions that omp wrote.
func TestCorpusMade(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(dialecttest.Corpus(t), "omp", "made", "*.expected.json"))
	if len(files) == 0 {
		t.Fatal("no *.expected.json in the corpus")
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			var want dialecttest.Said
			dialecttest.ReadJSON(t, name, &want)
			f, data := dialecttest.ReadFile(t, omp.Dialect{}, strings.TrimSuffix(name, ".expected.json")+".jsonl")
			roundTrips(t, f, data)
			compareSession(t, f, want)
			d := omp.Dialect{Notes: promptOf(t, f, want.Contexts)}
			for leaf, context := range want.Contexts {
				dialecttest.Compare(t, "context at "+leaf, dialecttest.ContextAt(t, d, f, leaf), dialecttest.WithRefs(context))
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
			ours := dialecttest.ContextAt(t, omp.Dialect{}, f, leaf)["messages"].([]any)[0].(map[string]any)["content"].(string)
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
	dir := filepath.Join(dialecttest.Corpus(t), "edge")
	var results map[string]map[string]dialecttest.Said
	dialecttest.ReadJSON(t, filepath.Join(dir, "results.json"), &results)
	for name := range defects {
		if _, ok := results[name]; !ok {
			t.Errorf("there is no case %s", name)
		}
	}
	for name, agents := range results {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := testkit.ReadFile(t, filepath.Join(dir, name+".jsonl"))
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
func edge(t *testing.T, data []byte, want dialecttest.Said) (differs bool) {
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
	context := dialecttest.ContextAt(t, omp.Dialect{}, f, "__default")
	if failed {
		return true
	}
	rewritten(t, f, want)
	if f.Version != "3" {
		want.Rename(t, f.Entries)
	}
	compareSession(t, f, want)
	if want.Context["error"] != nil {
		return true
	}
	dialecttest.Compare(t, "context", context, dialecttest.WithRefs(want.Context))
	return false
}

// rewritten compares f with the file as omp rewrites it: as JSON.stringify has
// it, with a title slot in front. Its random ids are made ours.
func rewritten(t *testing.T, f *core.File, want dialecttest.Said) {
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
	ids := dialecttest.Renaming(theirs.Entries, f.Entries)
	ours := f.Header.Before(f.Entries)
	for i, e := range theirs.Header.Before(theirs.Entries) {
		dialecttest.Compare(t, "rewritten line", stringified(t, ours[i].Line), ids.Replace(string(e.Line)))
	}
}

func TestCorpusLive(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(dialecttest.Corpus(t), "omp", "live", "*.jsonl"))
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			f, data := dialecttest.ReadFile(t, omp.Dialect{}, name)
			roundTrips(t, f, data)
			dialecttest.ContextAt(t, omp.Dialect{}, f, "__default")
			dir, base := omp.Dialect{Home: "/home/dev", Temp: "/tmp"}.FileName(f.Header)
			t.Log(len(f.Entries), dir, base)
		})
	}
}

func TestCorpusDetect(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]string{"omp/made": "omp", "omp/live": "omp", "pi/made": "pi", "pi/live": "pi", "pi/real": "pi"} {
		files, _ := filepath.Glob(filepath.Join(dialecttest.Corpus(t), folder, "*.jsonl"))
		for _, name := range files {
			data := testkit.ReadFile(t, name)
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
func compareSession(t *testing.T, f *core.File, want dialecttest.Said) {
	t.Helper()
	d := omp.Dialect{}
	info, err := d.Info(f.Header, f.Entries, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	compareOwn(t, info.Own, want)
	info.Own = nil
	got := dialecttest.ViaJSON(t, info)
	for name := range got {
		if _, ok := want.Info[name]; !ok && name != "cwd" {
			t.Errorf("omp's info has no %s", name)
		}
		if name != "cwd" { // omp's is where it runs
			dialecttest.Compare(t, name, got[name], want.Info[name])
		}
	}
	dialecttest.Compare(t, "tree", dialecttest.Tree(t, d, f.Entries), want.Tree)
	s := d.Summary(f.Header, f.Entries)
	if listed, ok := want.Info["listInfo"].(map[string]any); ok {
		name, _ := listed["title"].(string)
		dialecttest.Compare(t, "summary", []any{s.Name, s.Created}, []any{name, listed["created"]})
	}
	if u, ok := want.Info["usage"].(map[string]any); ok {
		got := []any{float64(s.Usage.Input), float64(s.Usage.Output), float64(s.Usage.CacheRead), float64(s.Usage.CacheWrite), fmt.Sprintf("%.6f", s.Usage.Cost)}
		dialecttest.Compare(t, "usage", got, []any{u["input"], u["output"], u["cacheRead"], u["cacheWrite"], fmt.Sprintf("%.6f", u["cost"])})
	}
}

// compareOwn compares what only omp has: the title's source and slot with its
// info, the settings with its context.
func compareOwn(t *testing.T, raw json.RawMessage, want dialecttest.Said) {
	t.Helper()
	own := dialecttest.ViaJSON(t, raw)
	for _, name := range []string{"titleSource", "titleSlot"} {
		slot, _ := want.Info[name].(map[string]any)
		for _, other := range []string{"type", "v", "pad"} {
			delete(slot, other)
		}
		dialecttest.Compare(t, name, own[name], want.Info[name])
	}
	context := want.Context
	if want.Contexts != nil {
		context = want.Contexts["__default"]
	}
	for name, value := range context {
		if name != "messages" && context["error"] == nil {
			dialecttest.Compare(t, "own "+name, own[name], value)
		}
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
