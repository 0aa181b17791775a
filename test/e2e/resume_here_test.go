//go:build linux

package e2e_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// The follower of an agent's file keeps its claim for a while after the agent has
// ended. The user can resume the session at once; while the agent runs, the error
// names its process. Not parallel: any process with the name of the agent counts.
func TestResumeOnSameHostChecksProcesses(t *testing.T) {
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	agent := exec.CommandContext(harness.Timeout(t), agentProgram(t, host))
	agent.Dir, agent.Env = host.Dir, host.Environ()
	in, err := agent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = agent.Wait() })
	said := bufio.NewScanner(out)
	said.Scan()
	_, path, _ := strings.Cut(strings.TrimPrefix(said.Text(), "ready "), " ")
	id := sessionAt(path)
	watch := host.Command(harness.Timeout(t), t, "watch")
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = watch.Process.Kill(); _ = watch.Wait() })
	fmt.Fprintln(in, "say 3")
	inStep(t, node.Client(), path)
	claimOn(t, node.Client(), id, core.MainHead, byPi)
	alive(t, host, id)

	names := fmt.Sprintf("is held by pi on %s since ", name)
	runs := fmt.Sprintf(": the agent may still run there, as process %d\n", agent.Process.Pid)
	if r := host.Sessctl(t, "resume", id); r.Code != 6 || !strings.Contains(r.Err, names) || !strings.Contains(r.Err, runs) {
		t.Errorf("while the agent runs: %s", r)
	}
	if r := host.Sessctl(t, "resume", id, "--dry-run"); r.Code != 0 || !strings.Contains(r.Out, runs) {
		t.Errorf("a dry run while the agent runs: %s", r)
	}
	fmt.Fprintln(in, "exit 0")
	if err := agent.Wait(); err != nil {
		t.Fatal(err)
	}
	continueFile := func() harness.Result {
		return host.Feed(t, "say 2\nexit 3\n", "resume", id, "--", agentProgram(t, host))
	}
	r := continueFile()
	for ctx := harness.Timeout(t); r.Code == 6 && strings.Contains(r.Err, "may still run there") && !strings.Contains(r.Err, runs); r = continueFile() {
		select { // an agent of that name that tests of another package started
		case <-ctx.Done():
			t.Skipf("another agent of that name runs on this machine: %s", r)
		case <-time.After(100 * time.Millisecond):
		}
	}
	if r.Code != 3 || strings.Contains(r.Out+r.Err, "taken over") {
		t.Errorf("after the agent has ended: %s", r)
	}
	intact(t, node.Client(), id)
}

// A killed run leaves an agent that runs, or has ended.
func TestResumeOnSameHostKnowsKilledRun(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	r := startAgent(t, host)
	r.says(3)
	inStep(t, node.Client(), r.path)
	id := sessionAt(r.path)
	claimOn(t, node.Client(), id, core.MainHead, byPi)
	alive(t, host, id)
	runs := fmt.Sprintf("the agent still runs there, as process %d\n", r.pid)
	if got := host.Sessctl(t, "resume", id); got.Code != 6 || !strings.Contains(got.Err, runs) {
		t.Errorf("while it runs: %s", got)
	}
	_ = r.cmd.Process.Kill() // the agent continues
	_ = r.cmd.Wait()
	r.ended = true
	if got := host.Sessctl(t, "resume", id); got.Code != 6 || !strings.Contains(got.Err, runs) {
		t.Errorf("after sessctl was killed: %s", got)
	}
	_ = r.in.Close()
	harness.Await(t, "the agent's end", func() error {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/fd/0", r.pid)); err == nil {
			return fmt.Errorf("process %d still runs", r.pid)
		}
		return nil
	})
	host.Do(t, "resume", id)
}

// alive waits until others see the session's holder as active.
func alive(t *testing.T, host *harness.Host, id string) {
	t.Helper()
	harness.Await(t, "others see the holder", func() error {
		if out := host.Do(t, "heads", id); !strings.Contains(out, "alive") {
			return fmt.Errorf("heads are\n%s", out)
		}
		return nil
	})
}
