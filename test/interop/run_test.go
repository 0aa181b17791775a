package interop_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// An unmodified agent runs under sessctl: its session in the log is byte-identical to
// its file, and a second run extends both.
func TestAgentSessionIsStored(t *testing.T) {
	t.Parallel()
	eachAgent(t, func(t *testing.T, a *agent) {
		node := harness.StartNode(t)
		host := harness.NewHost(t, node)
		dir := host.Path("agent")
		host.Env = append(host.Env, "PI_CODING_AGENT_DIR="+dir, "PI_OFFLINE=1")
		m := newModel(t, calls("echo the answer is $((6*7))"), says("It is done."), says("Yes, 42."))
		m.declare(t, a, dir)
		under := func(args ...string) harness.Result {
			t.Helper()
			r := host.Sessctl(t, append([]string{"run", "--", a.node, a.cli, "--model", "fake/fake-1", "-p"}, args...)...)
			if r.Code != 0 {
				t.Fatal(r)
			}
			return r
		}
		first := under("What is the answer?")
		path := onlySession(t, dir)
		_, id, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "_")
		if !strings.Contains(first.Out, "It is done.") || !strings.Contains(first.Err, "sessctl resume "+id) {
			t.Errorf("the first run printed %s", first)
		}
		hasFile(t, node.Client(), id, path)

		t.Logf("the second run: %s", under("-c", "Are you sure?"))
		hasFile(t, node.Client(), id, onlySession(t, dir))
		info, err := node.Client().Info(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(info.Log.Heads) != 1 || info.Log.Heads["main"] == nil || info.Log.Heads["main"].Claim != nil {
			t.Errorf("heads are %v", info.Log.Heads)
		}
	})
}

// onlySession returns the only session file of an agent.
func onlySession(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "sessions", "*", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("session files are %q, %v", files, err)
	}
	return files[0]
}

func hasFile(t *testing.T, c *client.Client, id, path string) {
	t.Helper()
	file := testkit.ReadFile(t, path)
	body, err := c.Export(t.Context(), id, false)
	if out := whole(t, body, err); !bytes.Equal(out, file) {
		t.Errorf("the log lacks lines of the agent: %s", differ(out, file))
	}
}
