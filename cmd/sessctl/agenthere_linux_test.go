package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// started starts a program of that name in dir, which runs until the test ends.
func started(t *testing.T, name, dir string) int {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(shell, path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-c", "echo ready; read line")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	bufio.NewScanner(out).Scan()
	return cmd.Process.Pid
}

// ourOwn is a program's name that nothing else on this machine has.
func ourOwn(what string) string { return fmt.Sprintf("%s-of-%d", what, os.Getpid()) }

func TestAnAgentRunsWhileItsProcessIsTheOneThatWasNoted(t *testing.T) {
	t.Parallel()
	pid := started(t, "agent", t.TempDir())
	start := startOf(pid)
	if boot, ticks, ok := strings.Cut(start, "/"); !ok || boot == "" || ticks == "" {
		t.Fatalf("it began at %q", start)
	}
	boot, ticks, _ := strings.Cut(start, "/")
	for _, c := range []struct {
		what  string
		note  runNote
		wants int
	}{
		{"it is the one", runNote{Agent: pid, Start: start}, pid},
		{"the note does not say", runNote{Agent: pid}, pid},
		{"another has its number", runNote{Agent: pid, Start: boot + "/1" + ticks}, 0},
		{"the system was started anew", runNote{Agent: pid, Start: "another-boot/" + ticks}, 0},
		{"there was none", runNote{Start: start}, 0},
	} {
		if got := c.note.running(); got != c.wants {
			t.Errorf("%s: process %d runs, want %d", c.what, got, c.wants)
		}
	}
}

func TestAnAgentThatNobodyHasAskedHowItEndedHasEnded(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	pid := cmd.Process.Pid
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil { // it is left as it is
		t.Fatal(err)
	}
	for _, n := range []runNote{{Agent: pid, Start: startOf(pid)}, {Agent: pid}} {
		if got := n.running(); got != 0 {
			t.Errorf("%+v: process %d runs", n, got)
		}
	}
}

// What an earlier run left is that run's agent's, whoever looks after it now.
func TestARunNotesWhenItsAgentBegan(t *testing.T) {
	t.Parallel()
	f := &following{a: testApp(nil), pid: 7, began: "boot/70"}
	file := agentsFile{path: "/a/b.jsonl", session: testID, dialect: "pi"}
	before := runNote{Agent: 5, Start: "boot/50", Writers: []string{"w"}}
	if n := f.newNote(file, before, false); n.Agent != 7 || n.Start != "boot/70" {
		t.Errorf("its own: %+v", n)
	}
	if n := f.newNote(file, before, true); n.Agent != 5 || n.Start != "boot/50" {
		t.Errorf("an earlier one's: %+v", n)
	}
	r := runs{t.TempDir()}
	if err := r.save(f.newNote(file, before, false)); err != nil {
		t.Fatal(err)
	}
	if n, ok := r.load(file.path); !ok || n.Start != "boot/70" {
		t.Errorf("what is remembered: %+v, %t", n, ok)
	}
}

// Where an agent was started says nothing of the file that it was given.
func TestAnAgentIsLeftWhileAProcessOfItsNameIsAnywhere(t *testing.T) {
	t.Parallel()
	name, here, there := ourOwn("anywhere"), t.TempDir(), t.TempDir()
	if pids := called(name, nil); len(pids) > 0 {
		t.Fatalf("before any was started: %v", pids)
	}
	far := started(t, name, there)
	if got := likeliest(called(name, nil), []string{here}); got != far {
		t.Errorf("where one runs elsewhere it is process %d, want %d", got, far)
	}
	near := started(t, name, here)
	if got := likeliest(called(name, nil), []string{"", "/not/there", here}); got != near {
		t.Errorf("where one runs here, too, it is process %d, want %d", got, near)
	}
	if got := likeliest(called(name, map[int]bool{near: true}), []string{here}); got != far {
		t.Errorf("without the one that does something else it is process %d, want %d", got, far)
	}
	if got := likeliest(called(name, map[int]bool{near: true, far: true}), []string{here}); got != 0 {
		t.Errorf("without both it is process %d", got)
	}
	if pid, known := agentIn("nova", nil, nil); pid != 0 || known {
		t.Errorf("of an agent that is no program known here: process %d, %t", pid, known)
	}
}

func TestAnAgentOfSeveralSessionsIsElsewhereForNoneOfThem(t *testing.T) {
	t.Parallel()
	r := runs{t.TempDir()}
	pid := started(t, "agent", t.TempDir())
	for path, id := range map[string]core.SessionID{"/a": "one", "/b": "two"} {
		if err := r.save(runNote{Path: path, Session: id, Agent: pid, Start: startOf(pid)}); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[core.SessionID]bool{"one": false, "two": false, "three": true} {
		if got := r.elsewhere(id)[pid]; got != want {
			t.Errorf("for %s: %t, want %t", id, got, want)
		}
	}
}

// omp is the agent here, for others on this machine may be at work with pi.
func TestResumeLeavesAHeadToAnAgentThatWasStartedElsewhere(t *testing.T) {
	t.Parallel()
	for _, other := range called("omp", nil) {
		t.Skipf("process %d is called omp, too", other)
	}
	watched := held{Session: testID, Head: "main", Writer: "w0", Follows: true}
	f, _ := claimedHere(t, "ann", "omp", watched)
	wantResult(t, f.run("resume", testID, "--dir", t.TempDir()), 0, "", "") // none is left

	pid := started(t, "omp", t.TempDir())
	f, asked := claimedHere(t, "ann", "omp", watched)
	got := f.run("resume", testID, "--dir", t.TempDir())
	wantResult(t, got, exitFenced, "", fmt.Sprintf("the agent may still run there, as process %d", pid))
	if want := "go on with: sessctl resume --take-over " + testID; !strings.Contains(got.err, want) {
		t.Errorf("stderr lacks %q:\n%s", want, got.err)
	}
	if len(asked()) > 0 {
		t.Errorf("a claim was asked for: %+v", asked())
	}
}

// A node of another machine of the same name says the same of itself.
func TestResumeLeavesAHeadToANodeThatIsCalledAsThisHost(t *testing.T) {
	t.Parallel()
	before := held{Session: testID, Head: "main", Writer: "earlier", Path: "/a/b.jsonl", Follows: true} // which is over
	f, asked := claimedHere(t, "sessnode n1", "pi", before)
	wantResult(t, f.run("resume", testID, "--dir", t.TempDir()), exitFenced, "", "ask them to end first, or take it from them with: sessctl resume --take-over "+testID)
	if len(asked()) > 0 {
		t.Errorf("a claim was asked for: %+v", asked())
	}
	wantResult(t, f.run("resume", testID, "--dir", t.TempDir(), "--take-over"), 0, "who is fenced", "")
}

// claimedHere is heldBy where the holder is alive and on a host of this name, which
// remembers h.
func claimedHere(t *testing.T, by, agent string, h held) (f *fakeNode, asked func() []api.ClaimRequest) {
	t.Helper()
	claim := mine("w0")
	_, claim.Host = testApp(nil).whoami()
	claim.By = by
	f, asked = heldWith(t, claim, &api.Life{State: api.LifeAlive, Seen: time.Now()}, agent)
	if err := testApp(map[string]string{"HOME": f.home}).claims().save(h); err != nil {
		t.Fatal(err)
	}
	return f, asked
}
