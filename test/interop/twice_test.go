package interop_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// PI-39: pi 0.73.1 writes a session a second time, header included, when it continues
// one without an assistant message. The import recognizes such a file: nothing is
// lost, and pi reads the export as its own file.
func TestSessionWrittenTwiceByOldPi(t *testing.T) {
	t.Parallel()
	j := newJudge(t, fetched(t, "pi-0.73.1"))
	c := &court{judge: j, node: harness.StartNode(t).Client(), dir: t.TempDir()}
	made, err := c.node.Create(t.Context(), api.Create{Dialect: "pi", CWD: c.dir})
	if err != nil {
		t.Fatal(err)
	}
	id := string(made.ID)
	if _, err := c.node.Append(t.Context(), id, []byte(userSays("is anybody there?")), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.dir, "session.jsonl")
	before := c.exports(t, id)
	testkit.WriteFile(t, path, before)
	c.judge.append(t, path, []step{
		step(`{"step":"message","message":{"role":"user","content":"hello?","timestamp":1}}`),
		step(`{"step":"message","message":{"role":"assistant","content":[{"type":"text","text":"I am."}],"provider":"p","model":"m","timestamp":1}}`),
	})
	twice := testkit.ReadFile(t, path)
	if n := bytes.Count(twice, []byte(`"is anybody there?"`)); n != 2 {
		t.Fatalf("pi wrote the question %d times:\n%s", n, twice)
	}
	done, err := c.node.Import(t.Context(), bytes.NewReader(twice), int64(len(twice)), client.ImportOptions{})
	if err != nil || string(done.Session) != id {
		t.Fatalf("import: %+v, %v", done, err)
	}
	out := c.exports(t, id)
	testkit.WriteFile(t, path, out)
	agent := c.read(t, path)
	if agent.Context != digest(c.atNode(t, id, client.View{})) {
		t.Fatalf("contexts: %s", differ(c.atNode(t, id, client.View{}), c.context(t, path, "")))
	}
	if texts := contextTexts(t, c.node, id); len(texts) != 3 {
		t.Errorf("the context is %q", texts)
	}
}
