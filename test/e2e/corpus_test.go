package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// corpus returns the folder of real session files. It skips the test if there is none.
func corpus(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("SESS_CORPUS")
	if dir == "" {
		t.Skip("SESS_CORPUS does not name the corpus of real session files")
	}
	return dir
}

// said is an agent's report of a file.
type said struct {
	Info     map[string]any `json:"info"`
	Tree     any            `json:"tree"`
	Contexts map[string]any `json:"contexts"`
}

// Every session file of the real agent is exported byte-identical, and the node
// reports of it what the agent reported.
func TestCorpusThroughANode(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(corpus(t), "pi", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no session files in the corpus: %v", err)
	}
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	contexts := 0
	for _, path := range files {
		name, _ := strings.CutSuffix(path, ".jsonl")
		if _, err := os.Stat(name + ".v3.jsonl"); err == nil || strings.HasSuffix(name, ".v3") {
			continue // see below: they share an ID, so they need a separate log
		}
		var done api.Imported
		host.JSON(t, &done, "import", path)
		comesBack(t, host, path, done)
		expected, err := os.ReadFile(name + ".expected.json")
		if err != nil {
			continue
		}
		var want said
		if err := json.Unmarshal(expected, &want); err != nil {
			t.Fatal(err)
		}
		contexts += len(want.Contexts)
		saysThatToo(t, host, string(done.Session), filepath.Base(path), want)
		intact(t, node.Client(), string(done.Session))
	}
	t.Logf("%d files, %d contexts compared", len(files), contexts)
}

// comesBack fails the test unless export returns the lines of the file, each valid one
// byte-identical, and export --original returns the file.
func comesBack(t *testing.T, host *harness.Host, path string, done api.Imported) {
	t.Helper()
	data := testkit.ReadFile(t, path)
	if original := host.Do(t, "export", "--original", string(done.Session)); original != string(data) {
		sameBytes(t, filepath.Base(path)+": export --original", []byte(original), data)
	}
	if done.Version != "3" && !strings.HasPrefix(done.Version, "9") {
		return // migrated
	}
	skipped := map[int]bool{}
	for _, bad := range done.Skipped {
		skipped[bad.Line] = true
	}
	var want []byte
	n := 0
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\uFEFF"))) {
		n++
		line = bytes.TrimSuffix(line, []byte("\n"))
		if skipped[n] || len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		want = append(append(want, line...), '\n')
	}
	sameBytes(t, filepath.Base(path)+": export", []byte(host.Do(t, "export", string(done.Session))), want)
}

// saysThatToo compares the node's report of a session with its agent's.
func saysThatToo(t *testing.T, host *harness.Host, id, name string, want said) {
	t.Helper()
	ours := map[string]any{}
	host.JSON(t, &ours, "info", id)
	delete(ours, "log")
	delete(ours, "own")                                                                  // contained in the contexts
	for _, other := range []string{"pi", "uniqueIds", "fileChangedByOpen", "listInfo"} { // internal to the agent
		delete(want.Info, other)
	}
	same(t, name+": info", ours, want.Info)
	same(t, name+": tree", parsed(t, []byte(host.Do(t, "tree", id, "-o", "json"))), want.Tree)
	for leaf, context := range want.Contexts {
		args := []string{"model-input", id, "-o", "json"}
		if leaf != "__default" {
			args = append(args, "--leaf", leaf)
		}
		same(t, name+": context at "+leaf, parsed(t, []byte(host.Do(t, args...))), context)
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s differs from the agent's report (-agent):\n%.2000s", what, d)
	}
}

// Files of version 1 are migrated as their agent does it, except for random IDs. The
// files themselves are kept.
func TestCorpusOldFilesThroughANode(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(corpus(t), "pi", "real", "*.v3.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no migrated files in the corpus: %v", err)
	}
	ours := harness.NewHost(t, harness.StartNode(t))
	theirs := harness.NewHost(t, harness.StartNode(t))
	for _, v3 := range files {
		old := strings.TrimSuffix(v3, ".v3.jsonl") + ".jsonl"
		var migrated, made api.Imported
		ours.JSON(t, &migrated, "import", old)
		theirs.JSON(t, &made, "import", v3)
		if migrated.Version != "1" || migrated.Kept.IsZero() {
			t.Errorf("%s: import: %+v", filepath.Base(old), migrated)
		}
		comesBack(t, ours, old, migrated)
		comesBack(t, theirs, v3, made)
		got, want := ours.Do(t, "export", string(migrated.Session)), theirs.Do(t, "export", string(made.Session))
		sameBytes(t, filepath.Base(old)+" migrated", []byte(renaming(t, want, got).Replace(want)), []byte(got))

		again := harness.NewHost(t, harness.StartNode(t)) // the IDs are the same in another log
		again.JSON(t, &migrated, "import", old)
		sameBytes(t, filepath.Base(old)+" migrated elsewhere", []byte(again.Do(t, "export", string(migrated.Session))), []byte(got))
	}
}

// renaming replaces the IDs of one file by those of another, line by line.
func renaming(t *testing.T, from, to string) *strings.Replacer {
	t.Helper()
	a, b := entriesOf(t, []byte(from)), entriesOf(t, []byte(to))
	if len(a) != len(b) {
		t.Fatalf("%d entries, want %d", len(b), len(a))
	}
	var pairs []string
	for i := range a {
		pairs = append(pairs, `"`+a[i].ID+`"`, `"`+b[i].ID+`"`)
	}
	return strings.NewReplacer(pairs...)
}

// Each hostile or damaged file is either imported, or refused with a clear error and
// without a trace in the log. Each has a separate log, as many share an ID.
func TestCorpusEdgeThroughANode(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(corpus(t), "edge", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no edge cases in the corpus: %v", err)
	}
	imported := 0
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		node := harness.StartNode(t)
		host := harness.NewHost(t, node)
		r := host.Sessctl(t, "import", path, "-o", "json")
		if r.Code == 0 {
			imported++
			staysAsItIs(t, node, host, path, r)
		} else {
			isRefusedClearly(t, node, name, r)
		}
		node.Kill()
	}
	t.Logf("%d imported, %d refused", imported, len(files)-imported)
}

func isRefusedClearly(t *testing.T, node *harness.Node, name string, r harness.Result) {
	t.Helper()
	var problem struct {
		Code, Detail string
		Exit         int
	}
	if err := json.Unmarshal([]byte(r.Err), &problem); err != nil || r.Code != 4 || problem.Exit != 4 ||
		problem.Code != "invalid" || !strings.Contains(problem.Detail, name) {
		t.Errorf("%s: refused with: %s", name, r)
	}
	list, err := node.Client().List(harness.Timeout(t), catalog.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Sessions) != 0 {
		t.Errorf("%s: refused, but the log has %+v", name, list.Sessions)
	}
	t.Logf("%s: refused: %s", name, problem.Detail)
}

// staysAsItIs fails the test unless an imported session can be read in every way, is
// exported unchanged, and is the same after a kill.
func staysAsItIs(t *testing.T, node *harness.Node, host *harness.Host, path string, r harness.Result) {
	t.Helper()
	name := filepath.Base(path)
	var done api.Imported
	if err := json.Unmarshal([]byte(r.Out), &done); err != nil {
		t.Fatalf("%s: %v in %s", name, err, r)
	}
	id := string(done.Session)
	comesBack(t, host, path, done)
	said := map[string]string{}
	verbs := []string{"info", "tree", "model-input", "verify", "export"}
	for _, verb := range verbs {
		r := host.Sessctl(t, verb, id, "-o", "json")
		if r.Code != 0 || verb != "export" && !json.Valid([]byte(r.Out)) {
			t.Errorf("%s: %s: %s", name, verb, r)
		}
		said[verb] = r.Out
	}
	node.Kill()
	node.Start(t)
	for _, verb := range verbs {
		if out := host.Do(t, verb, id, "-o", "json"); out != said[verb] {
			t.Errorf("%s: %s after a kill gives\n%s\nnot\n%s", name, verb, out, said[verb])
		}
	}
	intact(t, node.Client(), id)
	resumes(t, host, name, id)
}

// resumes fails the test unless the session can be resumed into a file that has the
// same content.
func resumes(t *testing.T, host *harness.Host, name, id string) {
	t.Helper()
	var out struct {
		Path string `json:"path"`
	}
	host.JSON(t, &out, "resume", id, "--dir", host.Path("resumed"))
	fromFile := host.Sessctl(t, "model-input", out.Path, "-o", "json")
	fromLog := host.Sessctl(t, "model-input", id, "-o", "json")
	if fromFile.Code != 0 || fromFile.Out != fromLog.Out {
		t.Errorf("%s: the context of the resumed file is not that of the session: %s\n%s", name, fromFile, fromLog)
	}
	if dir := filepath.Dir(out.Path); dir != host.Path("resumed") {
		t.Errorf("%s: resume wrote to %s", name, out.Path)
	}
}
