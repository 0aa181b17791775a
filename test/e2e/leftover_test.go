//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A host was offline for a turn, and another host continued the session meanwhile. The
// next run of anything on the first host stores the turn on a separate head and says
// so. While it runs, the session is free for the other host.
func TestLeftoverLinesClaimNothing(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	c := node.Client()
	ann, bob := harness.NewHost(t, node), harness.NewHost(t, node)
	lab := bob.Path("lab")
	if err := os.Mkdir(lab, 0o700); err != nil {
		t.Fatal(err)
	}
	r := startAgent(t, ann)
	r.says(2)
	if code, said := r.ends("exit 0"); code != 0 {
		t.Fatal(code, said)
	}
	path, id := r.path, sessionAt(r.path)
	node.Kill()
	r = startAgent(t, ann, "--session", path)
	r.says(2)
	if code, said := r.ends("exit 0"); code != 7 {
		t.Fatal(code, said)
	}
	node.Start(t)
	resume := []string{"resume", id, "--cwd", lab, "--", agentProgram(t, bob)}
	if r := bob.Feed(t, "say 1\nexit 0\n", resume...); r.Code != 0 {
		t.Fatal(r)
	}

	r = startAgent(t, ann)
	harness.Await(t, "the leftover lines have a head", func() error {
		hs, err := c.Heads(harness.Timeout(t), id)
		if err == nil && len(hs.Heads) != 2 {
			err = fmt.Errorf("heads are %+v", hs.Heads)
		}
		return err
	})
	hs, err := c.Heads(harness.Timeout(t), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hs.Heads {
		if h.Claim != nil {
			t.Errorf("head %s is held by %+v", h.Head, h.Claim)
		}
	}
	if r := bob.Feed(t, "say 1\nexit 0\n", resume...); r.Code != 0 {
		t.Errorf("while the first host runs something else: %s", r)
	}
	r.says(1)
	inStep(t, c, r.path)
	claimOn(t, c, sessionAt(r.path), core.MainHead, byPi)
	code, said := r.ends("exit 0")
	if code != 0 || !strings.Contains(said, "sessctl: 2 lines of an earlier run are on head main-") || strings.Count(said, "\n") != 2 {
		t.Errorf("exit code %d:\n%s", code, said)
	}
	if r := ann.Sessctl(t, "run", "--", "true"); strings.Contains(r.Err, "earlier") {
		t.Errorf("it is told again: %s", r)
	}
}
