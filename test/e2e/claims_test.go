package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A keeper is a running sessctl claim --hold.
type keeper struct {
	cmd    *exec.Cmd
	errors strings.Builder
}

// keep holds head in a separate process, and waits until seer sees the claim.
func keep(t *testing.T, h, seer *harness.Host, id, head, agent string) *keeper {
	t.Helper()
	k := &keeper{cmd: h.Command(harness.Timeout(t), t, "claim", "--hold", id, "--head", head, "--agent", agent)}
	k.cmd.Stderr = &k.errors
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, agent+" is seen to hold "+head, func() error {
		for _, p := range present(t, seer) {
			for _, hold := range p.Holds {
				if p.Alive && p.Agent == agent && string(hold.Session) == id && hold.Head == head {
					return nil
				}
			}
		}
		return errors.New("it is not seen")
	})
	return k
}

type process struct {
	Kind, Agent string
	Alive       bool
	Holds       []struct{ Session, Head, Writer string }
}

func present(t *testing.T, h *harness.Host) (ps []process) {
	t.Helper()
	h.JSON(t, &ps, "ps")
	return ps
}

// end interrupts the process, or sends it s, and returns the exit code.
func (k *keeper) end(t *testing.T, s os.Signal) int {
	t.Helper()
	if err := k.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	_ = k.cmd.Wait() // the exit code is read from its state
	return k.cmd.ProcessState.ExitCode()
}

func TestTwoAgentsWriteTwoHeads(t *testing.T) {
	t.Parallel()
	nodes := harness.StartCluster(t, 3, harness.StartBucket(t))
	hosts := []*harness.Host{harness.NewHost(t, nodes[0]), harness.NewHost(t, nodes[1]), harness.NewHost(t, nodes[2])}
	file := harness.NewFile(t, harness.Shape{Turns: 20, Words: 20})
	id := file.ID
	hosts[0].Do(t, "import", file.Save(t, hosts[0].Dir))
	var before api.Heads
	hosts[0].JSON(t, &before, "heads", id)

	// Each agent holds its head through its own node and is seen through the third.
	agents := []struct{ head, name string }{{"main", "ann"}, {"side", "bob"}}
	var keepers []*keeper
	for i, a := range agents {
		keepers = append(keepers, keep(t, hosts[i], hosts[2], id, a.head, a.name))
	}
	harness.Await(t, "all nodes to be present", func() error {
		seen := 0
		for _, p := range present(t, hosts[2]) {
			if p.Kind == "node" && p.Alive {
				seen++
			}
		}
		if seen != 3 {
			return fmt.Errorf("%d nodes are present", seen)
		}
		return nil
	})

	// Both append at the same time, while the session is checkpointed.
	turns := 12
	if *long {
		turns = 150
	}
	var wg sync.WaitGroup
	for i, a := range agents {
		wg.Go(func() {
			for turn := range turns {
				line := harness.Message("user", fmt.Sprintf("%s, turn %d", a.name, turn))
				if r := hosts[i].Feed(t, line, "append", id, "--head", a.head); r.Code != 0 {
					t.Errorf("%s, turn %d: %s", a.name, turn, r)
				}
			}
		})
	}
	wg.Go(func() {
		for range 3 {
			hosts[2].Do(t, "checkpoint", id)
		}
	})
	wg.Wait()

	// Every node shows each head with the lines of its agent, and the export has all
	// lines once.
	for n, h := range hosts {
		for _, a := range agents {
			path := strings.Split(strings.TrimSpace(h.Do(t, "entries", "--path", "--head", a.head, id)), "\n")
			mine := path[len(path)-turns:]
			for turn, line := range mine {
				if !strings.Contains(line, fmt.Sprintf(`"%s, turn %d"`, a.name, turn)) {
					t.Fatalf("node %d, %s, turn %d is %s", n, a.head, turn, line)
				}
			}
		}
		all := h.Do(t, "export", id)
		for _, a := range agents {
			if got := strings.Count(all, `"`+a.name+`, turn `); got != turns {
				t.Errorf("node %d: the export has %d of %s's %d turns", n, got, a.name, turns)
			}
		}
	}
	var heads api.Heads
	hosts[2].JSON(t, &heads, "heads", id)
	if len(heads.Heads) != 2 {
		t.Fatalf("heads %+v", heads)
	}
	side := heads.Heads[1]
	if side.Ahead != turns || side.Behind != turns || side.Fork != before.Heads[0].Entry.ID || side.Life.State != "alive" {
		t.Errorf("side is %+v", side)
	}
	sameEverywhere(t, nodes, id)
	intact(t, nodes[2].Client(), id)

	// An active writer is not replaced without --take-over. A writer that was taken
	// over is told that it is fenced.
	r := hosts[2].Sessctl(t, "resume", id, "--head", "side", "--dir", hosts[2].Path("there"))
	if r.Code != 6 || !strings.Contains(r.Err, "bob") || !strings.Contains(r.Err, "alive") || !strings.Contains(r.Err, "--take-over") {
		t.Errorf("resume of a head with an active writer: %s", r)
	}
	hosts[2].Do(t, "resume", "--take-over", id, "--head", "side", "--dir", hosts[2].Path("there"), "--agent", "cleo")
	if err := keepers[1].cmd.Wait(); keepers[1].cmd.ProcessState.ExitCode() != 6 || !strings.Contains(keepers[1].errors.String(), "cleo") {
		t.Errorf("the fenced holder ended with %v: %s", err, keepers[1].errors.String())
	}

	// A claim is released when its process ends. Anyone can continue without --take-
	// over.
	if code := keepers[0].end(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, keepers[0].errors.String())
	}
	hosts[2].Do(t, "resume", id, "--dir", hosts[2].Path("there"))
}

// A killed holder counts as inactive after half a minute of silence, and then its head
// can be claimed without --take-over.
func TestSilentHolderIsReplaced(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("waits half a minute; use -long")
	}
	node := harness.StartNode(t)
	host, other := harness.NewHost(t, node), harness.NewHost(t, node)
	var made struct{ ID string }
	host.JSON(t, &made, "new")
	k := keep(t, host, other, made.ID, "main", "ann")
	k.end(t, syscall.SIGKILL)
	if r := other.Sessctl(t, "resume", made.ID, "--dir", other.Dir); r.Code != 6 || !strings.Contains(r.Err, "ann") {
		t.Errorf("resume right after the kill: %s", r)
	}
	harness.Await(t, "the holder counts as silent", func() error {
		var hs api.Heads
		other.JSON(t, &hs, "heads", made.ID)
		if life := hs.Heads[0].Life; life == nil || life.State != session.LifeSilent {
			return fmt.Errorf("its presence is %+v", life)
		}
		return nil
	})
	if out := other.Do(t, "resume", made.ID, "--dir", other.Dir); !strings.Contains(out, "taken over from ann") || !strings.Contains(out, "silent since") {
		t.Errorf("resume says %s", out)
	}
}

// A conflicting append is rejected, rebased or stored on a new head, as its writer
// chooses: with real processes and pipes.
func TestConflictingAppendsAreKept(t *testing.T) {
	t.Parallel()
	host := harness.NewHost(t, harness.StartNode(t))
	var made struct{ ID string }
	host.JSON(t, &made, "new")
	var first core.Receipt
	feed(t, host, &first, harness.Message("user", "first"), "append", made.ID)
	feed(t, host, nil, harness.Message("user", "theirs"), "append", made.ID)
	mine := "  " + harness.Message("user", "mine") + "\r\n\n"
	after := first.Cursor.String()

	r := host.Feed(t, mine, "append", made.ID, "--after", after)
	if r.Code != 5 || r.Out != mine || !strings.Contains(r.Err, "appended entry") {
		t.Errorf("a conflict: %s", r)
	}
	r = host.Feed(t, mine, "append", made.ID, "--after", after, "--unsent", "left.jsonl")
	if got := string(testkit.ReadFile(t, host.Path("left.jsonl"))); r.Code != 5 || r.Out != "" || got != mine {
		t.Errorf("a conflict, with a file: %s, and in the file %q", r, got)
	}
	r = host.Feed(t, mine, "append", made.ID, "--after", after, "--unsent", "left.jsonl")
	if got := string(testkit.ReadFile(t, host.Path("left.jsonl"))); r.Out != mine || got != mine {
		t.Errorf("a conflict, with an existing file: %s, and in the file %q", r, got)
	}
	if r := host.Feed(t, "no line", "append", made.ID); r.Code != 4 || r.Out != "" {
		t.Errorf("a line that breaks a rule: %s", r)
	}

	var branch, again, behind core.Receipt
	args := []string{"append", made.ID, "--after", after, "--on-conflict", "branch", "--key", "k"}
	feed(t, host, &branch, mine, args...)
	feed(t, host, &again, mine, args...)
	if branch.Head == "" || branch.Stored != 1 || again.Head != branch.Head || again.Stored != 0 {
		t.Errorf("the branch: %+v, and again: %+v", branch, again)
	}
	feed(t, host, &behind, mine, "append", made.ID, "--after", after, "--on-conflict", "rebase")
	if behind.Head != "" || behind.Stored != 1 {
		t.Errorf("rebased: %+v", behind)
	}
	var heads api.Heads
	host.JSON(t, &heads, "heads", made.ID)
	if len(heads.Heads) != 2 || heads.Heads[0].Entry.ID != behind.IDs[0] || heads.Heads[1].Fork != first.IDs[0] || heads.Heads[1].Behind != 2 {
		t.Errorf("heads %+v", heads)
	}
}

func feed(t *testing.T, h *harness.Host, v any, input string, args ...string) {
	t.Helper()
	r := h.Feed(t, input, append(args, "-o", "json")...)
	if r.Code != 0 {
		t.Fatalf("%v: %s", args, r)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal([]byte(r.Out), v); err != nil {
		t.Fatalf("%v: %v in %s", args, err, r.Out)
	}
}

// A host remembers a claim that it could not release because no node was reachable.
func TestUnreleasedClaimIsRemembered(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	id := importFile(t, node.Client(), harness.NewFile(t, harness.Shape{Turns: 2}))
	host := harness.NewHost(t, node)
	k := keep(t, host, host, id, "main", "an-agent")
	node.Kill()
	if code := k.end(t, os.Interrupt); code != 7 || !strings.Contains(k.errors.String(), "sessctl release "+id) {
		t.Errorf("exit code %d:\n%s", code, k.errors.String())
	}
	node.Start(t)
	if r := harness.NewHost(t, node).Sessctl(t, "release", id, "--writer", "some-other-writer"); r.Code != 0 || !strings.Contains(r.Out, "is held by an-agent") {
		t.Errorf("a release of an unclaimed head: %s", r)
	}
	if out := host.Do(t, "release", id); !strings.Contains(out, "head main of "+id+" is free") {
		t.Errorf("the output is %s", out)
	}
}
