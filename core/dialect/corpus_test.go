package dialect_test

import (
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/internal/testkit"
)

// profiles are the agents that were asked, and whose rules are to say the same.
var profiles = map[string]string{"pi-1.5.2": "pi", "pi-0.73.1": "pi@0.73", "omp-18.3.4": "omp"}

// defects are where an agent fails in a way that is not owed: its answer there
// is an error, or that of a session it put in place of the file.
var defects = map[string]string{
	"pi-1.5.2 p07-bom":                "refuses a byte order mark",
	"pi-1.5.2 p11-empty-file":         "writes a session into an empty file",
	"pi-1.5.2 t08-self-parent":        "does not end",
	"pi-1.5.2 c13-message-missing":    "crashes",
	"pi-1.5.2 m11-v2-message-null":    "crashes",
	"pi-0.73.1 p11-empty-file":        "writes a session into an empty file",
	"pi-0.73.1 p13-garbage-only":      "overwrites the file",
	"pi-0.73.1 p15-header-id-number":  "overwrites the file",
	"pi-0.73.1 p27-title-slot-no-pad": "overwrites the file",
	"pi-0.73.1 t08-self-parent":       "does not end",
	"pi-0.73.1 c13-message-missing":   "crashes",
	"pi-0.73.1 m11-v2-message-null":   "crashes",
	"omp-18.3.4 p11-empty-file":       "writes a session into an empty file",
	"omp-18.3.4 c13-message-missing":  "crashes",
	"omp-18.3.4 m11-v2-message-null":  "crashes",
}

// Every profile says of every hostile or damaged file what its agent said.
func TestCorpusEdgeByEveryProfile(t *testing.T) {
	t.Parallel()
	dir := dialecttest.Corpus(t)
	var results map[string]map[string]dialecttest.Said
	dialecttest.ReadJSON(t, filepath.Join(dir, "edge", "results.json"), &results)
	for name, agents := range results {
		data := testkit.ReadFile(t, filepath.Join(dir, "edge", name+".jsonl"))
		for agent, profile := range profiles {
			t.Run(agent+" "+name, func(t *testing.T) {
				t.Parallel()
				p, err := dialect.NamedProfile(profile)
				if err != nil {
					t.Fatal(err)
				}
				compareEdge(t, p, data, agents[agent], defects[agent+" "+name])
			})
		}
	}
}

// compareEdge compares what p makes of a file with what its agent said. Where
// that is a defect, the agent's answer must be one.
func compareEdge(t *testing.T, p dialect.Profile, data []byte, want dialecttest.Said, defect string) {
	t.Helper()
	s, version, err := seen(p, data)
	switch refused := want.Info["error"] != nil; {
	case err != nil && defect != "":
		if refused {
			t.Errorf("the agent refuses it too, that is no defect (%s)", defect)
		}
		t.Log(defect, err)
		return
	case err != nil:
		if !refused {
			t.Fatalf("the agent reads it: %v", err)
		}
		t.Log(err)
		return
	case refused:
		if defect == "" {
			t.Fatalf("the agent refuses it: %v", want.Info["error"])
		}
		return
	}
	if version != "3" {
		want.Rename(t, s.Entries)
	}
	compareInfo(t, s, want.Info)
	dialecttest.Compare(t, "tree", dialecttest.Tree(t, s.Dialect, s.Entries), want.Tree)
	if failed := want.Context["error"]; failed != nil {
		if defect == "" {
			t.Errorf("the agent fails with %v: is that a defect?", failed)
		}
		return
	}
	if defect != "" {
		t.Errorf("the agent answers: where is the defect (%s)?", defect)
	}
	raw, err := s.Dialect.Context(s.Entries, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	dialecttest.Compare(t, "context", dialecttest.Parsed(t, raw), dialecttest.WithRefs(want.Context))
}

// seen is the file as p reads it, and its format version.
func seen(p dialect.Profile, data []byte) (dialect.Session, string, error) {
	own, err := dialect.Detect(data)
	if err != nil {
		return dialect.Session{}, "", err
	}
	f, d, err := p.File(own, data)
	if err != nil {
		return dialect.Session{}, "", err
	}
	s, err := p.View(dialect.Session{Dialect: d, Header: f.Header, Entries: f.Entries, Leaf: d.Leaf(f.Entries)})
	return s, f.Version, err
}

func compareInfo(t *testing.T, s dialect.Session, want map[string]any) {
	t.Helper()
	info, err := s.Dialect.Info(s.Header, s.Entries, s.Leaf)
	if err != nil {
		t.Fatal(err)
	}
	info.Own = nil
	got := dialecttest.ViaJSON(t, info)
	if _, ok := want["cwd"]; !ok { // omp's is where it runs
		delete(got, "cwd")
	}
	for _, name := range []string{"header", "version", "sessionId", "entryCount", "types", "leafId", "name", "labels"} {
		if _, ok := want[name]; !ok && want["leafId"] != nil {
			t.Errorf("the agent's info has no %s", name)
		}
	}
	for name := range got {
		dialecttest.Compare(t, name, got[name], want[name])
	}
}
