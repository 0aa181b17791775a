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
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// inATerminal returns the agent that is tested in a terminal. Of the others, 0.73.1
// loses input that is typed when a turn ends, and omp checks for updates.
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

// settings matches the terminal settings that the shell prints.
const settings = `\S+(:\S+){5,}\s`

// begins waits for the agent's screen with the given patterns, and returns the
// terminal settings from before.
func (x *terminal) begins(size pty.Winsize, more ...string) (before string) {
	x.t.Helper()
	before = x.shows(settings)
	// The screen has a ruled line, the model below the input, and the title, which the
	// agent sets when it is ready for input.
	x.showsAll(append(more, ruled(size.Cols), "fake-1", "π - ")...)
	return before
}

// ends waits until sessctl exits with that code, and checks that the terminal settings
// are restored.
func (x *terminal) ends(code int, before string) {
	x.t.Helper()
	x.shows(fmt.Sprintf(`it came to %d\s`, code))
	if after := x.shows(settings); after != before {
		x.t.Errorf("the terminal settings are %s, were %s", after, before)
	}
}

const ctrlC, ctrlD = "\x03", "\x04"

// In a terminal the agent behaves as without sessctl: it draws its screen, and gets
// input, the interrupt key and changes of the size. Its lines are stored while it
// runs. On another host the earlier conversation is on the screen at the start, and
// continues there.
func TestAgentInTerminalBehavesAsWithoutSessctl(t *testing.T) {
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
		t.Errorf("the head has no claim while the agent runs: %+v, %v", info, err)
	}
	x.resize(narrow)
	x.shows(ruled(narrow.Cols))
	x.types("half a thought")
	x.shows("half a thought")
	x.types(ctrlC) // it deletes the input and nothing else
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
		t.Fatalf("the model was asked %d times; refused: %q", len(heard), refused)
	}
	holdsInOrder(t, heard[3], []string{"What is it?", "the answer is 42", "It is forty-two.", "Are you sure?", "I am sure.", "And why?"})
	if strings.Contains(heard[3], "half a thought") {
		t.Error("the request has the deleted input")
	}
}

// A killed agent leaves the terminal with its former settings, and its lines are
// stored.
func TestKilledAgentRestoresTerminal(t *testing.T) {
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

// If sessctl is killed in a terminal, the agent continues, unless the shell takes the
// terminal from it; then it exits. The lines that it wrote without sessctl are stored
// after the next run of any agent.
func TestKilledSessctlInTerminalLosesNothing(t *testing.T) {
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
			x.shows(`it came to 137\s`) // the shell prints the settings of the agent
			x.types("Are you sure?\r")
			if shell != shellWithJobs {
				x.shows(`I am sure\.`)
				harness.Await(t, "the agent writes what it says", func() error {
					if b := string(testkit.ReadFile(t, ann.file(t))); !strings.Contains(b, "I am sure.") {
						return fmt.Errorf("the file has %d bytes", len(b))
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

// logged waits until the log contains a text.
func logged(t *testing.T, c *client.Client, id, said string) {
	t.Helper()
	harness.Await(t, fmt.Sprintf("the log has %q", said), func() error {
		body, err := c.Export(t.Context(), id, false)
		if err != nil {
			return err
		}
		if b := whole(t, body, nil); !bytes.Contains(b, []byte(said)) {
			return fmt.Errorf("the log has %d bytes", len(b))
		}
		return nil
	})
}

// awaitDeath waits until the process does not exist, or is a zombie.
func awaitDeath(t *testing.T, pid int) {
	t.Helper()
	harness.Await(t, fmt.Sprintf("process %d ends", pid), func() error {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) && !bytes.Contains(stat, []byte(") Z ")) {
			return fmt.Errorf("the process exists: %v", err)
		}
		return nil
	})
}
