//go:build unix

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// The agent after two dashes is started on the file, in the session's directory, and
// followed. sessctl exits with its exit code and releases the claim. If the agent
// cannot be started, the claim and the file stay.
func TestResumeStartsTheAgentOnItsFile(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	file := harness.NewFile(t, harness.Shape{Turns: 2})
	id := importFile(t, node.Client(), file)
	host := harness.NewHost(t, node)
	lab := host.Path("lab")
	if err := os.Mkdir(lab, 0o700); err != nil {
		t.Fatal(err)
	}

	r := host.Sessctl(t, "resume", id, "--cwd", lab, "--", host.Path("no-agent"))
	if r.Code != 127 || !strings.Contains(r.Err, "the file is written and the head is claimed, but the agent did not start") {
		t.Errorf("a missing agent: %s", r)
	}
	claimOn(t, node.Client(), id, core.MainHead, byPi)

	r = host.Feed(t, "say 2\nexit 3\n", "resume", id, "--cwd", lab, "--", agentProgram(t, host))
	path, _, _ := strings.Cut(r.Out, "\n")
	if _, opened, _ := strings.Cut(r.Out, "\nready "); r.Code != 3 || !strings.Contains(opened, " "+path+"\nsaid 2\n") {
		t.Fatalf("after the agent has ended: %s", r)
	}
	if want := strings.ReplaceAll(lab[1:], "/", "-"); filepath.Base(filepath.Dir(path)) != "--"+want+"--" {
		t.Errorf("the file is %s", path)
	}
	claimOn(t, node.Client(), id, core.MainHead, isFree)
	mine := strings.SplitAfter(string(testkit.ReadFile(t, path)), "\n")
	log := strings.SplitAfter(string(harness.Export(t, node.Client(), id)), "\n")
	if len(mine) != len(file.IDs)+4 || strings.Join(mine[1:], "") != strings.Join(log[1:], "") || mine[0] == log[0] {
		t.Errorf("the file has %d lines, the log %d", len(mine), len(log))
	}
	if r := host.Sessctl(t, "resume", id, "--"); r.Code != 2 {
		t.Errorf("no agent after the dashes: %s", r)
	}
}
