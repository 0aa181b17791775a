package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// chains are the folders of the corpus that hold sessions without branches,
// with what their agents' own code said of them.
var chains = []struct {
	dialect string
	files   []string // patterns
	agrees  func(t *testing.T, s passed)
}{
	{"openrath", []string{"openrath/*.jsonl", "openrath/*.__partial__"}, asOpenRathSaid},
	{"nova", []string{"nova/*-*.json"}, asNovaSaid},
}

// passed is a session that went from a file into a node.
type passed struct {
	*harness.Host
	id, path   string
	info, tree any // as the node says
}

// OpenRath's and Nova's session files come back as they went in. The node
// says of each what sessctl says of the file, and what the agent said.
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
				s.asFile(t, "context")
				agent.agrees(t, s)
				intact(t, node.Client(), s.id)
			}
			t.Logf("%d files", len(files))
		})
	}
}

// comesBackWhole fails the test unless export gives the file back, or where it
// is not exact its lines that are whole; and export --original all of it.
func comesBackWhole(t *testing.T, host *harness.Host, path string, done api.Imported) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name, id := filepath.Base(path), string(done.Session)
	sameBytes(t, name+": export --original", []byte(host.Do(t, "export", "--original", id)), data)
	if done.Kept.IsZero() {
		sameBytes(t, name+": export", []byte(host.Do(t, "export", id)), data)
		return
	}
	want := append(bytes.Clone(data), '\n') // its last line has no end
	if len(done.Skipped) > 0 {
		want = data[:bytes.LastIndexByte(data, '\n')+1] // and is not whole
	}
	sameBytes(t, name+": export", []byte(host.Do(t, "export", id)), want)
}

// asFile is what the node says of the session, which must be what sessctl says
// of the file.
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

// context is the node's, at a leaf or where the session stands.
func (s passed) context(t *testing.T, more ...string) map[string]any {
	t.Helper()
	args := append([]string{"context", s.id, "-o", "json"}, more...)
	return parsed(t, []byte(s.Do(t, args...))).(map[string]any)
}

// member is a member of the session's info.
func (s passed) member(name string) any { return s.info.(map[string]any)[name] }

// beside reads what lies beside the file. It reports whether it is there.
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
		t.Fatalf("%s: OpenRath was not asked", name)
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
		t.Fatalf("%s: Nova was not asked", name)
	}
	same(t, name+": state", s.member("own"), state)
	var last map[string]any // what the last task of it returned
	if len(run.Results) < 5 || json.Unmarshal(run.Results[4], &last) != nil {
		t.Fatalf("%s: Nova ran no task", name)
	}
	same(t, name+": context", s.context(t)["context"], last["context"])
}
