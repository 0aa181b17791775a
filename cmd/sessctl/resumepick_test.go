//go:build unix

package main

import (
	"testing"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func init() { programs["pi"] = agentDouble }

// On a terminal, resume without arguments asks, and then starts the agent.
func TestResumeOffersSessionsAndStartsTheAgent(t *testing.T) {
	t.Parallel()
	f, claims := resumable(t, talk("a"))
	x := inTerminal(t, "sh", "-c", `ln -s agent "${PATH%%:*}/pi" && SESS_URL=`+f.URL+` sessctl resume`)
	x.shows(`1  01a`)
	x.shows(`Resume which session\? \[1\]`)
	x.types("\n")
	x.shows(`talk-one\.jsonl\r\n  you hold head main of session ` + testID + `\r\n  taken over from omp on b-host`)
	x.shows(`agent \d+ is ready`)
	x.types("exit 3\n")
	if code := x.exit(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	if claims.Load() != 1 {
		t.Errorf("%d claims", claims.Load())
	}
}

func TestResumeNoStartOnlyWritesTheFile(t *testing.T) {
	t.Parallel()
	f, _ := resumable(t, talk("a"))
	x := inTerminal(t, "sh", "-c", `ln -s agent "${PATH%%:*}/pi" && SESS_URL=`+f.URL+` sessctl resume --no-start 01a`)
	x.shows(`start the agent on it with: sessctl run -- pi --session /`)
	if code := x.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestResumeWithoutSessionFailsWithoutATerminal(t *testing.T) {
	t.Parallel()
	f, _ := resumable(t, talk("a"))
	wantResult(t, f.run("resume"), cli.ExitUsage, "", "SESSION is missing: name one, or take the newest of this directory with: sessctl resume --last")
	none := newFake(t)
	none.Has(nil)
	wantResult(t, none.run("resume", "--last"), cli.ExitUsage, "", "no session continues in this directory")
	wantResult(t, f.run("resume", "--last", testID), cli.ExitUsage, "", "--last and SESSION exclude each other")
	wantResult(t, f.run("resume", "--no-start", testID, "--", "pi"), cli.ExitUsage, "", "--no-start and a command exclude each other")
}
