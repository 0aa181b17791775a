package e2e_test

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

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// Sessions of omp are exported byte-identical, title slot first, and the node reports
// of them what omp reported.
func TestCorpusOfOmpThroughANode(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(corpus(t), "omp", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions of omp in the corpus: %v", err)
	}
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	contexts := 0
	for _, path := range files {
		id := takenIn(t, node, host, path)
		var want said
		if !readIf(t, strings.TrimSuffix(path, ".jsonl")+".expected.json", &want) {
			continue
		}
		name := filepath.Base(path)
		cl := node.Client()
		info, err := cl.Info(harness.Timeout(t), id)
		if err != nil {
			t.Fatal(err)
		}
		ours := viaJSON(t, info.Info).(map[string]any)
		for _, own := range []string{"cwd", "own"} { // omp reports the directory it runs in
			delete(ours, own)
		}
		for member := range ours {
			same(t, name+": "+member, ours[member], want.Info[member])
		}
		tree, err := cl.Tree(harness.Timeout(t), id)
		if err != nil {
			t.Fatal(err)
		}
		same(t, name+": tree", viaJSON(t, tree), want.Tree)
		for leaf, theirs := range want.Contexts {
			if leaf == "__default" {
				leaf = ""
			}
			raw, err := cl.Context(harness.Timeout(t), id, client.View{Leaf: leaf})
			if err != nil {
				t.Fatal(err)
			}
			got, want := withRefs(parsed(t, raw)), withRefs(theirs)
			sameNotes(got, want)
			same(t, name+": context at "+leaf, got, want)
		}
		contexts += len(want.Contexts)
		intact(t, cl, id)
	}
	t.Logf("%d files, %d contexts compared", len(files), contexts)
}

// Sessions of Operator are exported byte-identical, and the node reports of them what
// Operator's own code reported.
func TestCorpusOfOperatorThroughANode(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(corpus(t), "operator", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions of Operator in the corpus: %v", err)
	}
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	for _, path := range files {
		id := takenIn(t, node, host, path)
		name := filepath.Base(path)
		var loaded map[string]any
		var context any
		var roots []treeNode
		if !readIf(t, path+".loaded.json", &loaded) || !readIf(t, path+".context.json", &context) || !readIf(t, path+".tree.json", &roots) {
			t.Fatalf("%s: no expected result", name)
		}
		info, err := node.Client().Info(harness.Timeout(t), id)
		if err != nil {
			t.Fatal(err)
		}
		ours := viaJSON(t, info.Info).(map[string]any)
		own := ours["own"].(map[string]any)
		for theirs, got := range map[string]any{
			"session_id": ours["sessionId"], "leaf_id": ours["leafId"], "header": ours["header"], "labels": ours["labels"],
			"name": ours["name"], "channel": own["channel"],
		} {
			same(t, name+": "+theirs, got, loaded[theirs])
		}
		for _, setting := range []string{"thinking_level", "model_id", "provider_id"} {
			same(t, name+": own "+setting, own[setting], context.(map[string]any)[setting])
		}
		var entries []any
		for line := range strings.Lines(host.Do(t, "entries", id)) {
			entries = append(entries, parsed(t, []byte(line)))
		}
		same(t, name+": entries", entries, loaded["entries"])
		same(t, name+": context", parsed(t, []byte(host.Do(t, "model-input", id, "-o", "json"))), context)
		tree, err := node.Client().Tree(harness.Timeout(t), id)
		if err != nil {
			t.Fatal(err)
		}
		got, want := "", flattened(roots, 0)
		for _, n := range tree {
			got += treeRow(n.Depth, n.ID, n.Type, n.Label)
		}
		same(t, name+": tree", got, want)
		intact(t, node.Client(), id)
	}
}

// Sessions written by pi 0.73.1 and pi 1.5.2 are read by both profiles, and by omp's.
func TestCorpusLiveByEveryProfile(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(corpus(t), "pi", "live", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no live sessions of pi in the corpus: %v", err)
	}
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	for _, path := range files {
		id := takenIn(t, node, host, path)
		for _, profile := range []string{"pi", "pi@0.73", "omp"} {
			for _, verb := range []string{"info", "tree", "model-input"} {
				inLog := host.Do(t, verb, id, "-o", "json", "--profile", profile)
				inFile := host.Do(t, verb, path, "-o", "json", "--profile", profile)
				if verb == "info" {
					inLog, inFile = withoutLog(t, inLog), withoutLog(t, inFile)
				}
				if inLog != inFile {
					t.Errorf("%s: %s by %s: the log says\n%s\nthe file\n%s", filepath.Base(path), verb, profile, inLog, inFile)
				}
			}
		}
	}
}

func withoutLog(t *testing.T, info string) string {
	t.Helper()
	m := parsed(t, []byte(info)).(map[string]any)
	delete(m, "log")
	delete(m, "skipped")
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// takenIn imports a file, checks its export, and returns the session's ID.
func takenIn(t *testing.T, node *harness.Node, host *harness.Host, path string) string {
	t.Helper()
	var done api.Imported
	host.JSON(t, &done, "import", path)
	data := testkit.ReadFile(t, path)
	if out := []byte(host.Do(t, "export", string(done.Session))); len(done.Skipped) == 0 && !bytes.Equal(out, data) {
		sameBytes(t, filepath.Base(path)+": export", out, data)
	}
	return string(done.Session)
}

// A treeNode is an entry in Operator's tree.
type treeNode struct {
	ID, Type string
	Label    *string
	Children []treeNode
}

func flattened(nodes []treeNode, depth int) string {
	out := ""
	for _, n := range nodes {
		out += treeRow(depth, n.ID, n.Type, n.Label) + flattened(n.Children, depth+1)
	}
	return out
}

func treeRow(depth int, id, kind string, label *string) string {
	if label == nil {
		return fmt.Sprintf("%d %s %s\n", depth, id, kind)
	}
	return fmt.Sprintf("%d %s %s %q\n", depth, id, kind, *label)
}

// withRefs returns v with the images that omp loaded from its own store replaced by
// the references that files have.
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

// sameNotes equalizes notebooks that end alike in both contexts: the words that omp
// puts before one belong to its prompt, not to the session.
func sameNotes(ours, theirs any) {
	got, want := notebook(ours), notebook(theirs)
	if got == nil || want == nil {
		return
	}
	notes := strings.TrimPrefix(got["content"].(string), "<experimental-context-notes>\n")
	if strings.HasSuffix(want["content"].(string), "\n"+notes) {
		want["content"] = got["content"]
	}
}

// notebook returns the first message of a context if that is a notebook, or nil.
func notebook(context any) map[string]any {
	messages, _ := context.(map[string]any)["messages"].([]any)
	if len(messages) == 0 {
		return nil
	}
	first, _ := messages[0].(map[string]any)
	if first["customType"] != "experimental_context_notes" {
		return nil
	}
	return first
}

// readIf reads the JSON file at path. It returns false if there is none.
func readIf(t *testing.T, path string, to any) bool {
	t.Helper()
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return false
	}
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}
