package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/agent/process"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
)

// The agent is omp, because pi may run on the machine of the tests.
func TestResumeRespectsAgentStartedInAnotherDirectory(t *testing.T) {
	t.Parallel()
	if other, _ := process.Find("omp", nil, nil); other != 0 {
		t.Skipf("process %d is called omp, too", other)
	}
	watched := agent.StoredClaim{Session: testID, Head: "main", Writer: "w0", Follows: true}
	f, _ := claimedHere(t, "ann", "omp", watched)
	wantResult(t, f.run("resume", testID, "--dir", t.TempDir()), 0, "", "") // no agent runs

	pid := testkit.StartProgram(t, "omp", t.TempDir())
	f, asked := claimedHere(t, "ann", "omp", watched)
	got := f.run("resume", testID, "--dir", t.TempDir())
	wantResult(t, got, cli.ExitFenced, "", fmt.Sprintf("the agent may still run there, as process %d", pid))
	if want := "continue with: sessctl resume --take-over " + testID; !strings.Contains(got.err, want) {
		t.Errorf("stderr lacks %q:\n%s", want, got.err)
	}
	if len(asked()) > 0 {
		t.Errorf("claims were requested: %+v", asked())
	}
}

// Host names are not unique.
func TestResumeRespectsNodeWithTheSameHostName(t *testing.T) {
	t.Parallel()
	before := agent.StoredClaim{Session: testID, Head: "main", Writer: "earlier", Path: "/a/b.jsonl", Follows: true} // a claim that is over
	f, asked := claimedHere(t, "sessnode n1", "pi", before)
	wantResult(t, f.run("resume", testID, "--dir", t.TempDir()), cli.ExitFenced, "", "ask the holder to end first, or take it over with: sessctl resume --take-over "+testID)
	if len(asked()) > 0 {
		t.Errorf("claims were requested: %+v", asked())
	}
	wantResult(t, f.run("resume", testID, "--dir", t.TempDir(), "--take-over"), 0, "its next write will be refused", "")
}

// claimedHere is heldBy with an active holder on a host with this name, which
// remembers h.
func claimedHere(t *testing.T, by, dialect string, h agent.StoredClaim) (f *fakeNode, asked func() []core.ClaimRequest) {
	t.Helper()
	claim := mine("w0")
	_, claim.Host = testApp(nil).Caller()
	claim.By = by
	f, asked = heldWith(t, claim, &session.Life{State: session.LifeAlive, Seen: time.Now()}, dialect)
	if err := testApp(map[string]string{"HOME": f.home}).Claims().Save(h); err != nil {
		t.Fatal(err)
	}
	return f, asked
}
