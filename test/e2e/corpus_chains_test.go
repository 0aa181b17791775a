package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// chains lists the folders of the corpus with sessions that have no branches, and the
// results of their agents' own code.
var chains = []struct {
	dialect string
	files   []string // patterns
	agrees  func(t *testing.T, s passed)
}{
	{"openrath", []string{"openrath/*.jsonl", "openrath/*.__partial__"}, asOpenRathSaid},
	{"nova", []string{"nova/*-*.json"}, asNovaSaid},
}

// passed is a session that was imported from a file into a node.
type passed struct {
	*harness.Host
	id, path   string
	info, tree any // as the node reports it
}

// OpenRath's and Nova's session files are exported byte-identical. The node reports of
// each the same as sessctl reads from the file, and as the agent reported.
func TestCorpusOfChainsThroughANode(t *testing.T) {
	t.Parallel()
	dir := corpus(t)
	for _, agent := range chains {
		t.Run(agent.dialect, func(t *testing.T) {
			t.Parallel()
			var files []string
			for _, pattern := range agent.files {
				found, err := filepath.Glob(filepath.Join(dir, pattern))
				if err != nil || len(found) == 0 {
					t.Fatalf("no %s in the corpus: %v", pattern, err)
				}
				files = append(files, found...)
			}
			node := harness.StartNode(t)
			host := harness.NewHost(t, node)
			for _, path := range files {
				var done api.Imported
				host.JSON(t, &done, "import", path)
				if !done.Created {
					t.Errorf("%s: import: %+v", path, done)
				}
				comesBackWhole(t, host, path, done)
				s := passed{Host: host, id: string(done.Session), path: path}
				s.info, s.tree = s.asFile(t, "info"), s.asFile(t, "tree")
				s.asFile(t, "model-input")
				agent.agrees(t, s)
				intact(t, node.Client(), s.id)
			}
			t.Logf("%d files", len(files))
		})
	}
}

// comesBackWhole fails the test unless export returns the file, or all its complete
// lines if the export is not exact, and export --original returns the file.
func comesBackWhole(t *testing.T, host *harness.Host, path string, done api.Imported) {
	t.Helper()
	data := testkit.ReadFile(t, path)
	name, id := filepath.Base(path), string(done.Session)
	sameBytes(t, name+": export --original", []byte(host.Do(t, "export", "--original", id)), data)
	if done.Kept.IsZero() {
		sameBytes(t, name+": export", []byte(host.Do(t, "export", id)), data)
		return
	}
	want := append(bytes.Clone(data), '\n') // the last line has no newline
	if len(done.Skipped) > 0 {
		want = data[:bytes.LastIndexByte(data, '\n')+1] // and is incomplete
	}
	sameBytes(t, name+": export", []byte(host.Do(t, "export", id)), want)
}

// asFile returns the node's report of the session, which must be the same as sessctl's
// report of the file.
func (s passed) asFile(t *testing.T, verb string) any {
	t.Helper()
	ours, files := parsed(t, []byte(s.Do(t, verb, s.id, "-o", "json"))), parsed(t, []byte(s.Do(t, verb, s.path, "-o", "json")))
	if verb == "info" {
		delete(ours.(map[string]any), "log")
		delete(files.(map[string]any), "skipped")
	}
	same(t, filepath.Base(s.path)+": "+verb, ours, files)
	return ours
}

// context returns the node's context, at a leaf or at the head.
func (s passed) context(t *testing.T, more ...string) map[string]any {
	t.Helper()
	args := append([]string{"model-input", s.id, "-o", "json"}, more...)
	return parsed(t, []byte(s.Do(t, args...))).(map[string]any)
}

// member returns a member of the session's info.
func (s passed) member(name string) any { return s.info.(map[string]any)[name] }

// beside reads the JSON file next to the session's file. It returns false if there is
// none.
func (s passed) beside(t *testing.T, path string, to any) bool {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
	return true
}

func asOpenRathSaid(t *testing.T, s passed) {
	t.Helper()
	name := filepath.Base(s.path)
	var loaded struct {
		Header map[string]any
		Chunks []struct{ Kind string }
		Usage  any `json:"cumulative_usage"`
	}
	if !s.beside(t, s.path+".loaded.json", &loaded) {
		t.Fatalf("%s: no result of OpenRath", name)
	}
	header := s.member("header").(map[string]any)
	delete(header, "record_type")
	same(t, name+": header", header, any(loaded.Header))
	same(t, name+": usage", s.member("own").(map[string]any)["cumulativeUsage"], loaded.Usage)
	chain := []any{}
	for i, chunk := range loaded.Chunks {
		chain = append(chain, map[string]any{"id": strconv.Itoa(i), "type": chunk.Kind, "depth": float64(i)})
	}
	same(t, name+": tree", s.tree, chain)
	for i := range loaded.Chunks {
		messages := s.context(t, "--leaf", strconv.Itoa(i))["messages"].([]any)
		if len(messages) > i+1 {
			t.Errorf("%s: %d messages of %d chunks", name, len(messages), i+1)
		}
	}
}

func asNovaSaid(t *testing.T, s passed) {
	t.Helper()
	name := filepath.Base(s.path)
	var state any
	var run struct{ Results []json.RawMessage }
	if !s.beside(t, s.path, &state) || !s.beside(t, filepath.Join(filepath.Dir(s.path), "run_example.json"), &run) {
		t.Fatalf("%s: no result of Nova", name)
	}
	same(t, name+": state", s.member("own"), state)
	var last map[string]any // the result of the last task
	if len(run.Results) < 5 || json.Unmarshal(run.Results[4], &last) != nil {
		t.Fatalf("%s: Nova ran no task", name)
	}
	same(t, name+": context", s.context(t)["context"], last["context"])
}
