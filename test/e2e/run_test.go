//go:build unix

package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// sessionAt returns the ID of the session whose file is at path.
func sessionAt(path string) string {
	_, id, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "_")
	return id
}

// inStep waits until the log has the content of the file, and fails if it has
// anything else.
func inStep(t *testing.T, node *client.Client, path string) {
	t.Helper()
	harness.Await(t, "the log has the file", func() error {
		file, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		body, err := node.Export(harness.Timeout(t), sessionAt(path), false)
		if err != nil {
			return err
		}
		defer body.Close()
		var log bytes.Buffer
		if _, err := log.ReadFrom(body); err != nil {
			return err
		}
		if !bytes.Equal(file, log.Bytes()) {
			return fmt.Errorf("the file has %d lines, the log %d", bytes.Count(file, []byte("\n")), bytes.Count(log.Bytes(), []byte("\n")))
		}
		return nil
	})
}

// claimOn waits until the claim on a head is as expected.
func claimOn(t *testing.T, node *client.Client, id, head string, is func(*core.Claim) bool) {
	t.Helper()
	harness.Await(t, "the claim on head "+head, func() error {
		hs, err := node.Heads(harness.Timeout(t), id)
		if err != nil {
			return err
		}
		for _, h := range hs.Heads {
			if h.Head == head && is(h.Claim) {
				return nil
			}
		}
		return fmt.Errorf("heads are %+v", hs.Heads)
	})
}

func isFree(c *core.Claim) bool { return c == nil }
func byPi(c *core.Claim) bool   { return c != nil && c.Agent == "pi" }

func TestRunStoresLinesWhileTheAgentRuns(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	r := startAgent(t, host)
	r.says(1)
	inStep(t, node.Client(), r.path)
	claimOn(t, node.Client(), sessionAt(r.path), core.MainHead, byPi)
	for range 5 {
		r.says(20)
	}
	inStep(t, node.Client(), r.path)
	r.says(3)
	code, said := r.ends("exit 5")
	if code != 5 {
		t.Errorf("exit code %d", code)
	}
	if want := "continue on any host with: sessctl resume " + sessionAt(r.path); !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
		t.Errorf("want only %q:\n%s", want, said)
	}
	inStep(t, node.Client(), r.path)
	claimOn(t, node.Client(), sessionAt(r.path), core.MainHead, isFree)
	intact(t, node.Client(), sessionAt(r.path))
}

func TestRunStoresLinesOfKilledAgent(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	r := startAgent(t, host)
	r.says(4)
	if code, _ := r.ends("die 9"); code != 128+9 {
		t.Errorf("exit code %d", code)
	}
	inStep(t, node.Client(), r.path)
	claimOn(t, node.Client(), sessionAt(r.path), core.MainHead, isFree)
}

// sessctl is killed and its agent continues; the next run of any agent stores the
// rest.
func TestRunCompletesKilledRun(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	r := startAgent(t, host)
	r.says(10)
	inStep(t, node.Client(), r.path)
	claimOn(t, node.Client(), sessionAt(r.path), core.MainHead, byPi)
	r.says(5)
	_ = r.cmd.Process.Kill()
	if _, said := r.over(); said != "" {
		t.Errorf("a killed sessctl printed %s", said)
	}
	r.says(5) // the agent continues
	claimOn(t, node.Client(), sessionAt(r.path), core.MainHead, byPi)

	// The claim stays while the agent runs.
	if res := host.Sessctl(t, "run", "--", "true"); res.Code != 0 {
		t.Fatal(res)
	}
	inStep(t, node.Client(), r.path)
	claimOn(t, node.Client(), sessionAt(r.path), core.MainHead, byPi)

	// This host continues the session at once.
	r.says(2)
	_ = r.in.Close()
	harness.Await(t, "the agent's end", func() error {
		if err := syscall.Kill(r.pid, 0); err == nil {
			return fmt.Errorf("process %d still runs", r.pid)
		}
		return nil
	})
	again := startAgent(t, host, "--session", r.path)
	again.says(3)
	inStep(t, node.Client(), r.path)
	if code, said := again.ends("exit 0"); code != 0 || !strings.Contains(said, "head main") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	inStep(t, node.Client(), r.path)
	claimOn(t, node.Client(), sessionAt(r.path), core.MainHead, isFree)
	info, err := node.Client().Info(harness.Timeout(t), sessionAt(r.path))
	if err != nil || len(info.Log.Heads) != 1 {
		t.Errorf("heads are %v, %v", info.Log.Heads, err)
	}
	intact(t, node.Client(), sessionAt(r.path))
}

func TestRunWithoutNodeStoresLinesLater(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	node.Kill()
	r := startAgent(t, host)
	r.says(30)
	code, said := r.ends("exit 0")
	if code != 7 || !strings.Contains(said, "31 lines") || !strings.Contains(said, r.path) || strings.Count(said, "\n") != 1 {
		t.Errorf("exit code %d:\n%s", code, said)
	}
	// The node is still away: the next run says so.
	if res := host.Sessctl(t, "run", "--", "true"); res.Code != 0 || !strings.Contains(res.Err, "31 lines of earlier runs still wait") {
		t.Errorf("the next run printed\n%s", res)
	}
	node.Start(t)
	if res := host.Sessctl(t, "run", "--", "true"); res.Code != 0 || strings.Contains(res.Err, "wait") {
		t.Errorf("with a node, the next run printed\n%s", res)
	}
	inStep(t, node.Client(), r.path)
	claimOn(t, node.Client(), sessionAt(r.path), core.MainHead, isFree)
}

func TestRunStoresLinesWhenNodeReturns(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	r := startAgent(t, host)
	r.says(5)
	inStep(t, node.Client(), r.path)
	node.Kill()
	r.says(40)
	node.Start(t)
	r.says(5)
	inStep(t, node.Client(), r.path)
	r.ends("exit 0")
	inStep(t, node.Client(), r.path)
	intact(t, node.Client(), sessionAt(r.path))
}

// Two agents of one host write one file. All of it is in the log once, whichever
// ends first.
func TestTwoRunsShareOneFile(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	first := startAgent(t, host)
	first.says(5)
	inStep(t, node.Client(), first.path)
	second := startAgent(t, host, "--session", first.path)
	for range 5 {
		second.says(2)
		first.says(2)
	}
	inStep(t, node.Client(), first.path)
	if _, said := first.ends("exit 0"); !strings.Contains(said, "is in the log") {
		t.Errorf("the first printed %s", said)
	}
	second.says(5)
	inStep(t, node.Client(), first.path)
	claimOn(t, node.Client(), sessionAt(first.path), core.MainHead, byPi)
	if _, said := second.ends("exit 0"); !strings.Contains(said, "is in the log") {
		t.Errorf("the second printed %s", said)
	}
	inStep(t, node.Client(), first.path)
	claimOn(t, node.Client(), sessionAt(first.path), core.MainHead, isFree)
	intact(t, node.Client(), sessionAt(first.path))
}

// Another host takes the session over while the agent writes. Both continue on
// their own heads, and the first run reports it at its end.
func TestRunReportsTakeOver(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host, other := harness.NewHost(t, node), harness.NewHost(t, node)
	r := startAgent(t, host)
	r.says(5)
	id := sessionAt(r.path)
	inStep(t, node.Client(), r.path)
	claimOn(t, node.Client(), id, core.MainHead, byPi)
	if res := other.Sessctl(t, "claim", id); res.Code != 6 {
		t.Errorf("another host claimed the head of a running agent: %s", res)
	}
	other.Do(t, "claim", "--take-over", "--agent", "theirs", id)
	other.Feed(t, harness.Message("user", "from elsewhere")+"\n", "append", id)
	r.says(5)
	// Its lines are all in the log, on a separate head that it holds.
	own := ""
	harness.Await(t, "a head of its own", func() error {
		hs, err := node.Client().Heads(harness.Timeout(t), id)
		if err != nil {
			return err
		}
		for _, h := range hs.Heads {
			if h.Head != core.MainHead && byPi(h.Claim) {
				own = h.Head
				return nil
			}
		}
		return fmt.Errorf("heads are %+v", hs.Heads)
	})
	r.says(5)
	_, said := r.ends("exit 0")
	for _, want := range []string{"theirs", "both are kept", "sessctl resume --head " + own + " " + id, "sessctl resume " + id} {
		if !strings.Contains(said, want) {
			t.Errorf("the output lacks %q:\n%s", want, said)
		}
	}
	file, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	log := harness.Export(t, node.Client(), id)
	for line := range bytes.Lines(file) {
		if n := bytes.Count(log, line); n != 1 {
			t.Errorf("a line is in the log %d times: %s", n, line)
		}
	}
	if !bytes.Contains(log, []byte("from elsewhere")) {
		t.Error("the lines of the other host are missing")
	}
	claimOn(t, node.Client(), id, own, isFree)
	claimOn(t, node.Client(), id, core.MainHead, func(c *core.Claim) bool { return c != nil && c.Agent == "theirs" })
	intact(t, node.Client(), id)
}
