package pi_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/internal/testkit"
)

// The tests in this file hold the dialect to what the real pi said of files
// that are not part of the project.

// PI-05, PI-08, PI-09, PI-12, PI-13, PI-15, PI-29, PI-33, PI-34, PI-35 on sessions
// that pi 1.5.2 wrote.
func TestCorpusMade(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(dialecttest.Corpus(t), "pi", "*", "*.expected.json"))
	if len(files) == 0 {
		t.Fatal("no *.expected.json in the corpus")
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			var want dialecttest.Said
			dialecttest.ReadJSON(t, name, &want)
			f, _ := dialecttest.ReadFile(t, pi.Dialect{}, strings.TrimSuffix(name, ".expected.json")+".jsonl")
			if !f.Exact {
				t.Error("the file is not exact")
			}
			compareSession(t, f, want)
			for leaf, context := range want.Contexts {
				dialecttest.Compare(t, "context at "+leaf, dialecttest.ContextAt(t, pi.Dialect{}, f, leaf), context)
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
	dir := filepath.Join(dialecttest.Corpus(t), "edge")
	var results map[string]map[string]dialecttest.Said
	dialecttest.ReadJSON(t, filepath.Join(dir, "results.json"), &results)
	for name, agents := range results {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := agents["pi-1.5.2"]
			data := testkit.ReadFile(t, filepath.Join(dir, name+".jsonl"))
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

func compareEdge(t *testing.T, name string, f *core.File, want dialecttest.Said) {
	opened, err := pi.Dialect{}.File([]byte(want.OpenedText))
	if err != nil {
		t.Fatal(err)
	}
	// What pi rewrote, with its random ids made ours.
	ours, theirs := core.Lines(f.Header.Before(f.Entries)), core.Lines(opened.Header.Before(opened.Entries))
	if got := dialecttest.Renaming(opened.Entries, f.Entries).Replace(string(theirs)); got != string(ours) {
		t.Errorf("as pi opens it:\n%s", cmp.Diff(got, string(ours)))
	}
	if f.Version != "3" {
		want.Rename(t, f.Entries)
	}
	compareSession(t, f, want)
	context := dialecttest.ContextAt(t, pi.Dialect{}, f, "__default")
	if want.Context["error"] == nil {
		dialecttest.Compare(t, "context", context, want.Context)
	} else if defects[name] == "" {
		t.Errorf("pi fails with %v: is that a defect?", want.Context["error"])
	}
}

// PI-14 on sessions of the first version.
func TestCorpusRealMigrates(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(dialecttest.Corpus(t), "pi", "real", "*.v3.jsonl"))
	if len(files) == 0 {
		t.Fatal("no *.v3.jsonl in the corpus")
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			old, _ := dialecttest.ReadFile(t, pi.Dialect{}, strings.TrimSuffix(name, ".v3.jsonl")+".jsonl")
			if old.Exact || old.Version != "1" {
				t.Errorf("exact %v, version %s", old.Exact, old.Version)
			}
			want := testkit.ReadFile(t, name)
			migrated, err := pi.Dialect{}.File(want)
			if err != nil {
				t.Fatal(err)
			}
			got := dialecttest.Renaming(old.Entries, migrated.Entries).Replace(string(core.Lines(old.Header.Before(old.Entries))))
			if got != string(want) {
				t.Error("not what pi 1.5.2 makes of it")
			}
			t.Logf("%d entries, %d bytes", len(old.Entries), len(want))
		})
	}
}

func TestCorpusLive(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(dialecttest.Corpus(t), "pi", "live", "*.jsonl"))
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			f, _ := dialecttest.ReadFile(t, pi.Dialect{}, name)
			data, _ := os.ReadFile(name)
			if f.Exact != bytes.Equal(core.Lines(f.Header.Before(f.Entries)), data) {
				t.Error("exact, but not the bytes")
			}
			if !(pi.Dialect{}).Detect(data) {
				t.Error("not detected")
			}
			dialecttest.ContextAt(t, pi.Dialect{}, f, "__default")
			dir, base := pi.Dialect{}.FileName(f.Header)
			t.Log(len(f.Entries), dir, base)
		})
	}
}

// compareSession compares info, tree and, where pi's listing is there, summary.
func compareSession(t *testing.T, f *core.File, want dialecttest.Said) {
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
	dialecttest.Compare(t, "info", dialecttest.ViaJSON(t, info), want.Info)
	dialecttest.Compare(t, "tree", dialecttest.Tree(t, d, f.Entries), want.Tree)
	if listed != nil {
		compareSummary(t, d.Summary(f.Header, f.Entries), listed)
	}
}

func compareSummary(t *testing.T, s display.Summary, listed map[string]any) {
	t.Helper()
	first := s.First
	if first == "" {
		first = "(no messages)"
	}
	name, _ := listed["name"].(string)
	whole, _ := listed["firstMessage"].(string)
	got := []any{s.Name, first, float64(s.Messages), s.Created, s.Modified}
	want := []any{name, firstRunes(whole, 200), listed["messageCount"], listed["created"], listed["modified"]}
	dialecttest.Compare(t, "summary", got, want)
}

func firstRunes(s string, n int) string {
	r := []rune(s)
	return string(r[:min(n, len(r))])
}
