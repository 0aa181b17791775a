//go:build unix

package interop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A desk is a host where a user works with the real agent: a home with the agent's
// directory, and a project.
type desk struct {
	*harness.Host
	agent   *agent
	project string
}

func newDesk(t *testing.T, n *harness.Node, a *agent, m *model, project string) *desk {
	t.Helper()
	d := &desk{Host: harness.NewHost(t, n), agent: a}
	d.Env = append(d.Env, "PI_OFFLINE=1")
	d.project = d.Path(project)
	for _, dir := range []string{d.project, d.Path("bin")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m.declare(t, a, d.agentDir())
	// pi 1.5.2 drops a picture if it lacks the library to scale it.
	if err := os.WriteFile(filepath.Join(d.agentDir(), "settings.json"), []byte(`{"images":{"autoResize":false}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\necho $$ $PPID >%q.half && mv %q.half %q\nexec %q %q \"$@\"\n", d.pidFile(), d.pidFile(), d.pidFile(), a.node, a.cli)
	if err := os.WriteFile(d.Path("bin", a.command), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) pidFile() string { return d.Path("agent.pid") }

// agentDir returns the agent's directory.
func (d *desk) agentDir() string { return d.Path("."+d.agent.command, "agent") }

// starts returns the arguments with which sessctl starts the agent.
func (d *desk) starts(args ...string) []string {
	return append([]string{"--", d.Path("bin", d.agent.command), "--model", "fake/fake-1"}, args...)
}

// sessctl runs sessctl in the project until it exits, and returns its output with the
// agent's.
func (d *desk) sessctl(t *testing.T, args ...string) string {
	t.Helper()
	cmd := d.Command(harness.Timeout(t), t, args...)
	cmd.Dir = d.project
	cmd.WaitDelay = judgeTimeout
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("sessctl %q: %v\n%.4000s", args, err, out)
	}
	return string(out)
}

// start starts sessctl in the project. It ends with the test; the test must end the
// agent that it starts.
func (d *desk) start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out")) // a file: the agent keeps it if sessctl is killed
	if err != nil {
		t.Fatal(err)
	}
	cmd := d.Command(t.Context(), t, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.project, out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			b, _ := os.ReadFile(out.Name())
			t.Logf("sessctl %q said:\n%.4000s", args, b)
		}
		_ = out.Close()
	})
	return cmd
}

// pid returns the process ID of the running agent.
func (d *desk) pid(t *testing.T) int {
	t.Helper()
	agent, _ := d.pids(t)
	return agent
}

// pids returns the process IDs of the running agent and of the sessctl that started
// it.
func (d *desk) pids(t *testing.T) (agent, sessctl int) {
	t.Helper()
	if _, err := fmt.Sscan(string(testkit.ReadFile(t, d.pidFile())), &agent, &sessctl); err != nil {
		t.Fatal(err)
	}
	return agent, sessctl
}

// file returns the path of the only session file on the desk.
func (d *desk) file(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(d.agentDir(), "sessions", "*", "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("session files are %q, %v", found, err)
	}
	return found[0]
}

// picture writes an incompressible picture, and returns its path.
func (d *desk) picture(t *testing.T) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 48, 48))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 48 * 48 {
		img.Set(i%48, i/48, color.RGBA{uint8(rng.Uint32()), uint8(rng.Uint32()), uint8(rng.Uint32()), 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.project, "picture.png")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// only returns the ID of the only session in the log.
func only(t *testing.T, c *client.Client) string {
	t.Helper()
	var id string
	harness.Await(t, "the session is listed", func() error {
		list, err := c.List(t.Context(), catalog.Filter{})
		if err == nil && len(list.Sessions) != 1 {
			err = fmt.Errorf("the log has %d sessions", len(list.Sessions))
		}
		if err == nil {
			id = string(list.Sessions[0].ID)
		}
		return err
	})
	return id
}

// A conversation with a tool call and a picture on one host continues on another:
// another home, another directory, the unmodified agent. Its next model request has
// the whole conversation, picture included. Then the first host continues, and has the
// lines of the other.
func TestConversationContinuesOnAnotherHost(t *testing.T) {
	t.Parallel()
	eachAgent(t, func(t *testing.T, a *agent) {
		node := harness.StartNode(t)
		m := newModel(t, calls("echo the answer is $((6*7))"), says("It is forty-two."), says("Seven times six."), says("On the first host."))
		ann, bob := newDesk(t, node, a, m, "ann's project"), newDesk(t, node, a, m, "elsewhere/project.b")

		ann.sessctl(t, append([]string{"run"}, ann.starts("-p", "@"+ann.picture(t), "What is in it?")...)...)
		id := only(t, node.Client())
		out := bob.sessctl(t, append([]string{"resume", id, "--cwd", "."}, bob.starts("-p", "And why?")...)...)
		if want := "it continues in " + bob.project + " (it was " + ann.project + "): --cwd says so"; !strings.Contains(out, want) {
			t.Errorf("bob's output lacks %q:\n%s", want, out)
		}
		ann.sessctl(t, append([]string{"resume", id, "--cwd", ann.project}, ann.starts("-p", "Where are we?")...)...)

		heard, refused := m.asked()
		if len(heard) != 4 || len(refused) > 0 {
			t.Fatalf("the model was asked %d times; refused: %q", len(heard), refused)
		}
		said := []string{"What is in it?", "the answer is 42", "It is forty-two.", "And why?", "Seven times six.", "Where are we?"}
		holdsInOrder(t, heard[2], said[:4])
		holdsInOrder(t, heard[3], said)
		shown := m.pictures()
		if len(shown) != 4 || len(shown[0]) < 1024 || len(slices.Compact(slices.Clone(shown))) != 1 {
			t.Errorf("%d requests have a picture, or the pictures differ: %.100q", len(shown), shown)
		}
		// Each host's file has the lines of the log, and names the directory of its
		// host.
		body, err := node.Client().Export(t.Context(), id, false)
		log := sortedLines(whole(t, body, err))
		for _, d := range []*desk{ann, bob} {
			for _, line := range sortedLines(testkit.ReadFile(t, d.file(t))) {
				if at, ok := cwdOf(line); ok {
					if at != d.project {
						t.Errorf("the file of %s names %s", d.project, at)
					}
				} else if !slices.Contains(log, line) {
					t.Errorf("the log lacks the line %s", line)
				}
			}
		}
		if n := strings.Count(string(testkit.ReadFile(t, ann.file(t))), "\n"); n != len(log) {
			t.Errorf("the log has %d lines, the file %d", len(log), n)
		}
	})
}

// cwdOf returns the directory in a header line.
func cwdOf(line string) (string, bool) {
	var h struct{ Type, CWD string }
	if json.Unmarshal([]byte(line), &h) != nil || h.Type != "session" {
		return "", false
	}
	return h.CWD, true
}

// A host dies in the middle of a turn: either sessctl and its agent are killed, or
// only sessctl, and the agent continues without it. Another host takes over at the
// last line in the log. When the first one returns, its output says so, and both
// histories can be continued.
func TestHostThatDiedDuringTurnReturns(t *testing.T) {
	t.Parallel()
	t.Run("with its agent", func(t *testing.T) {
		t.Parallel()
		comesBack(t, fetched(t, "pi-1.5.2"), true)
	})
	eachAgent(t, func(t *testing.T, a *agent) { comesBack(t, a, false) })
}

func comesBack(t *testing.T, a *agent, dies bool) {
	t.Helper()
	node := harness.StartNode(t)
	c := node.Client()
	here := newModel(t, calls("echo the answer is $((6*7))"), late(says("Said to ann alone.")), says("Ann on main."), says("Ann on her own."))
	there := newModel(t, says("Said to bob."))
	ann, bob := newDesk(t, node, a, here, "project"), newDesk(t, node, a, there, "project")

	run := ann.start(t, append([]string{"run"}, ann.starts("-p", "What is it?")...)...)
	select {
	case <-here.waiting: // the tool has run, and the agent has asked the model
	case <-harness.Timeout(t).Done():
		t.Fatal("the agent did not ask its model")
	}
	id := only(t, c)
	logged(t, c, id, "the answer is 42")
	pid := ann.pid(t)
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if dies {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}

	// The holder counts as active until it has been silent for a while.
	switch r := bob.Sessctl(t, "resume", id, "--cwd", bob.project); {
	case r.Code == 6 && strings.Contains(r.Err, "is held by "+a.command) && strings.Contains(r.Err, "--take-over"):
	case r.Code == 0 && strings.Contains(r.Out, "silent since"): // on a slow machine
	default:
		t.Errorf("resume after the kill: %s", r)
	}
	bob.sessctl(t, append([]string{"resume", id, "--take-over", "--cwd", bob.project}, bob.starts("-p", "What now?")...)...)
	heard, refused := there.asked()
	if len(heard) != 1 || len(refused) > 0 {
		t.Fatalf("bob's model was asked %d times; refused: %q", len(heard), refused)
	}
	holdsInOrder(t, heard[0], []string{"What is it?", "the answer is 42", "What now?"})

	close(here.proceed)
	awaitDeath(t, pid)
	out := ann.sessctl(t, append([]string{"resume", id, "--cwd", ann.project}, ann.starts("-p", "Go on.")...)...)
	heard, _ = here.asked()
	last := heard[len(heard)-1]
	holdsInOrder(t, last, []string{"What is it?", "the answer is 42", "What now?", "Said to bob.", "Go on."})
	if strings.Contains(last, "Said to ann alone.") {
		t.Error("the request on main has a line of the other head")
	}
	told := "had 1 line (" // the answer
	if a.command == "omp" {
		told = "had 2 lines (" // and omp's end of the turn
	}
	if dies {
		if strings.Contains(out, told) {
			t.Errorf("ann's output reports lines that do not exist:\n%s", out)
		}
		return
	}
	_, head, ok := strings.Cut(out, "to continue with them instead: sessctl resume --head ")
	if !ok || !strings.Contains(out, told) {
		t.Fatalf("ann's output does not name the other head:\n%s", out)
	}
	head, _, _ = strings.Cut(head, " ")
	ann.sessctl(t, append([]string{"resume", id, "--head", head, "--cwd", ann.project}, ann.starts("-p", "Go on there.")...)...)
	heard, _ = here.asked()
	last = heard[len(heard)-1]
	holdsInOrder(t, last, []string{"What is it?", "the answer is 42", "Said to ann alone.", "Go on there."})
	if strings.Contains(last, "Said to bob.") {
		t.Error("the request on ann's head has a line of bob's")
	}
}
