//go:build unix

package interop_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// inATerminal is the agent that is used in a terminal. Of the others, 0.73.1 loses
// what is typed at the moment when a turn ends, and omp looks for news of itself.
func inATerminal(t *testing.T) *agent {
	t.Helper()
	return fetched(t, "pi-1.5.2")
}

var (
	wide   = pty.Winsize{Rows: 40, Cols: 100}
	narrow = pty.Winsize{Rows: 30, Cols: 60}
)

// ruled matches a line over a terminal of so many columns, as pi draws it.
func ruled(columns uint16) string { return fmt.Sprintf("[^─]─{%d}[^─]", columns) }

// settings matches what the shell says of the terminal, to its end.
const settings = `\S+(:\S+){5,}\s`

// begins awaits the agent's screen, with what else matches on it, and returns how
// the terminal was set before.
func (x *terminal) begins(size pty.Winsize, more ...string) (before string) {
	x.t.Helper()
	before = x.shows(settings)
	// A line, the model below where one types, and the title, which it sets when it
	// takes what is typed.
	x.showsAll(append(more, ruled(size.Cols), "fake-1", "π - ")...)
	return before
}

// ends awaits the end of sessctl with that exit code, and that the terminal is set
// as it was.
func (x *terminal) ends(code int, before string) {
	x.t.Helper()
	x.shows(fmt.Sprintf(`it came to %d\s`, code))
	if after := x.shows(settings); after != before {
		x.t.Errorf("the terminal is left as %s, was %s", after, before)
	}
}

const ctrlC, ctrlD = "\x03", "\x04"

// In the terminal the agent is what it is without sessctl: it draws its screen,
// what is typed reaches it, a key that interrupts too, and so does another size.
// Its lines are in the log while it runs. On another host the earlier conversation
// is on the screen when it begins, and it goes on there.
func TestAnAgentInATerminalIsAsWithoutSessctl(t *testing.T) {
	t.Parallel()
	a := inATerminal(t)
	node := harness.StartNode(t)
	m := newModel(t, calls("echo the answer is $((6*7))"), says("It is forty-two."), says("I am sure."), says("Seven times six."))
	ann, bob := newDesk(t, node, a, m, "project"), newDesk(t, node, a, m, "elsewhere")

	x := ann.terminal(t, shell, wide, append([]string{"run"}, ann.starts()...)...)
	before := x.begins(wide)
	x.types("What is it?\r")
	x.shows("the answer is 42")
	x.shows(`It is forty-two\.`)
	id := only(t, node.Client())
	logged(t, node.Client(), id, "It is forty-two.")
	if info, err := node.Client().Info(t.Context(), id); err != nil || info.Log.Heads["main"].Claim == nil {
		t.Errorf("nobody has the head while the agent runs: %+v, %v", info, err)
	}
	x.resize(narrow)
	x.shows(ruled(narrow.Cols))
	x.types("half a thought")
	x.shows("half a thought")
	x.types(ctrlC) // what was typed goes, and nothing else
	x.types("Are you sure?\r")
	x.shows(`I am sure\.`)
	logged(t, node.Client(), id, "I am sure.") // it may be shown before it is written
	x.types(ctrlD)
	x.shows("session " + id + " is in the log")
	x.ends(0, before)
	hasFile(t, node.Client(), id, ann.file(t))

	y := bob.terminal(t, shell, narrow, append([]string{"resume", id, "--cwd", "."}, bob.starts()...)...)
	before = y.begins(narrow, `(?s)What is it\?.*the answer is 42.*It is forty-two\..*Are you sure\?.*I am sure\.`)
	y.types("And why?\r")
	y.shows(`Seven times six\.`)
	logged(t, node.Client(), id, "Seven times six.")
	y.types(ctrlD)
	y.ends(0, before)

	heard, refused := m.asked()
	if len(heard) != 4 || len(refused) > 0 {
		t.Fatalf("the model was asked %d times, and %q", len(heard), refused)
	}
	holdsInOrder(t, heard[3], []string{"What is it?", "the answer is 42", "It is forty-two.", "Are you sure?", "I am sure.", "And why?"})
	if strings.Contains(heard[3], "half a thought") {
		t.Error("the model was told what was taken back")
	}
}

// An agent that dies in the terminal leaves it as it was, and its lines are in the
// log.
func TestAnAgentThatDiesInATerminalLeavesItAsItWas(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	ann := newDesk(t, node, inATerminal(t), newModel(t, says("It is forty-two.")), "project")
	x := ann.terminal(t, shell, wide, append([]string{"run"}, ann.starts()...)...)
	before := x.begins(wide)
	x.types("What is it?\r")
	x.shows(`It is forty-two\.`)
	id := only(t, node.Client())
	if err := syscall.Kill(ann.pid(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	x.shows("session " + id + " is in the log")
	x.ends(137, before)
	hasFile(t, node.Client(), id, ann.file(t))
}

// Where sessctl dies in a terminal, the agent goes on there, unless the shell takes
// the terminal from it; then it ends. What it wrote without sessctl is in the log
// after the next run, whichever it was.
func TestNothingIsLostWhereSessctlDiesInATerminal(t *testing.T) {
	t.Parallel()
	for name, shell := range map[string]string{"the agent goes on": shell, "the shell has jobs": shellWithJobs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := harness.StartNode(t)
			ann := newDesk(t, node, inATerminal(t), newModel(t, says("It is forty-two."), says("I am sure.")), "project")
			x := ann.terminal(t, shell, wide, append([]string{"run"}, ann.starts()...)...)
			x.begins(wide)
			x.types("What is it?\r")
			x.shows(`It is forty-two\.`)
			id := only(t, node.Client())
			agent, sessctl := ann.pids(t)
			if err := syscall.Kill(sessctl, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			x.shows(`it came to 137\s`) // and the shell says how the agent has set it
			x.types("Are you sure?\r")
			if shell != shellWithJobs {
				x.shows(`I am sure\.`)
				harness.Await(t, "the agent writes what it says", func() error {
					if b := read(t, ann.file(t)); !strings.Contains(b, "I am sure.") {
						return fmt.Errorf("there are %d bytes", len(b))
					}
					return nil
				})
				x.types(ctrlD)
			}
			awaitDeath(t, agent)
			ann.sessctl(t, "run", "--", "true")
			hasFile(t, node.Client(), id, ann.file(t))
		})
	}
}

// logged waits until what is said is in the log.
func logged(t *testing.T, c *client.Client, id, said string) {
	t.Helper()
	harness.Await(t, fmt.Sprintf("the log has %q", said), func() error {
		body, err := c.Export(t.Context(), id, false)
		if err != nil {
			return err
		}
		if b := whole(t, body, nil); !bytes.Contains(b, []byte(said)) {
			return fmt.Errorf("it has %d bytes", len(b))
		}
		return nil
	})
}

// awaitDeath waits until there is no such process, or it is dead and nobody has
// asked for its exit code yet.
func awaitDeath(t *testing.T, pid int) {
	t.Helper()
	harness.Await(t, fmt.Sprintf("process %d ends", pid), func() error {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) && !bytes.Contains(stat, []byte(") Z ")) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
}
