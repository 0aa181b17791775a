package nova_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/nova"
)

// The files here came from Nova's printed methods, run as they are. They are no
// part of the project. run_example.json tells of the same session what run_task
// returned and what was in memory.
func TestCorpusComesBack(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SESS_CORPUS")
	if dir == "" {
		t.Skip("SESS_CORPUS is not set: no files of Nova's own to read")
	}
	b, err := os.ReadFile(filepath.Join(dir, "nova", "run_example.json"))
	if err != nil {
		t.Fatal(err)
	}
	var run struct {
		Results []json.RawMessage          `json:"results"`
		Memory  map[string]json.RawMessage `json:"memory"`
	}
	if err := json.Unmarshal(b, &run); err != nil {
		t.Fatal(err)
	}
	for id, raw := range run.Memory {
		st, err := nova.Parse(raw)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		sameJSON(t, raw, st.JSON())
	}
	files, _ := filepath.Glob(filepath.Join(dir, "nova", "*-*.json"))
	if len(files) == 0 {
		t.Fatal("the corpus has no file of Nova's")
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := nova.Dialect{}.File(data)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, path, string(data)+"\n", string(core.Lines(nova.Dialect{}.Layout(f.Header, f.Entries))))
		st := nova.Fold(f.Header, f.Entries)
		sameJSON(t, data, st.JSON())
		var last struct {
			Context string `json:"context"`
		}
		if err := json.Unmarshal(run.Results[4], &last); err != nil {
			t.Fatal(err)
		}
		equal(t, "context of the last task", last.Context, st.Text())
	}
}

func sameJSON(t *testing.T, want, got []byte) {
	t.Helper()
	var w, g any
	if json.Unmarshal(want, &w) != nil || json.Unmarshal(got, &g) != nil {
		t.Fatal("not JSON")
	}
	equal(t, "state", w, g)
}
