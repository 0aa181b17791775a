package e2e_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

// TestALargeImportGoesToTheNextNodeWhereItsOwnWasKilled kills the node that has
// half of a file, and does not start it again.
func TestALargeImportGoesToTheNextNodeWhereItsOwnWasKilled(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	ns := startNATS(t)
	args := append(harness.StartBucket(t).Args(), "--nats-url", ns.ClientURL())
	nodes := []*harness.Node{harness.NewNode(t, append(args, "--node", "a")...), harness.NewNode(t, append(args, "--node", "b")...)}
	for _, n := range nodes { // a node without a directory takes files whole alone
		if err := os.MkdirAll(n.Data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	harness.StartAll(t, nodes)
	h := harness.NewHost(t, nodes[0])
	file := h.Path("large.jsonl")
	text := largeFile(14 * mib)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}

	half := make(chan struct{})
	h.URL = startValve(t, nodes[0], mark{9 * mib, half, true}).url + "," + nodes[1].URL
	done := make(chan harness.Result, 1)
	go func() { done <- h.Sessctl(t, "import", file) }()
	<-half
	nodes[0].Kill() // which is SIGKILL
	r := <-done
	if r.Code != 0 || !strings.Contains(r.Out, "large-session") {
		t.Fatalf("import: %s", r)
	}
	if strings.Count(r.Err, "is gone") != 1 || !strings.Contains(r.Err, nodes[1].URL) {
		t.Errorf("it says:\n%s", r.Err)
	}
	h.URL = nodes[1].URL
	if got := h.Do(t, "export", "large-session"); got != string(text) {
		t.Errorf("the log has another file, of %d bytes", len(got))
	}
}
