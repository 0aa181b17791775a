//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

// waitTimeout bounds how long a test waits.
const waitTimeout = time.Minute

// A terminal is a pseudo terminal with a program in it.
type terminal struct {
	t   *testing.T
	pty *os.File
	cmd *exec.Cmd

	mu    sync.Mutex
	grew  *sync.Cond
	shown bytes.Buffer
	ended bool
	read  int // how much of shown was matched
}

// inTerminal starts a program in a terminal of its own, with programs called
// sessctl and agent in its path.
func inTerminal(t *testing.T, name string, args ...string) *terminal {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"sessctl", "agent"} {
		if err := os.Symlink(self, filepath.Join(dir, program)); err != nil {
			t.Fatal(err)
		}
	}
	if name == "sessctl" {
		name = filepath.Join(dir, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir, "SESS_URL=http://127.0.0.1:1", "PS1=$ ", "TERM=dumb"}
	cmd.Dir = dir
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, pty: f, cmd: cmd}
	term.grew = sync.NewCond(&term.mu)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(term, f) // until the terminal is closed
		term.mu.Lock()
		defer term.mu.Unlock()
		term.ended = true
		term.grew.Broadcast()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = f.Close() // hangs up what still runs in it
		<-done
	})
	return term
}

func (x *terminal) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	defer x.grew.Broadcast()
	return x.shown.Write(b)
}

func (x *terminal) types(keys string) {
	x.t.Helper()
	if _, err := io.WriteString(x.pty, keys); err != nil {
		x.t.Fatal(err)
	}
}

// shows waits until the terminal shows a match after the previous one, and returns
// its groups.
func (x *terminal) shows(pattern string) []string {
	x.t.Helper()
	re := regexp.MustCompile(pattern)
	over := time.AfterFunc(waitTimeout, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.ended = true
		x.grew.Broadcast()
	})
	defer over.Stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		fresh := x.shown.Bytes()[x.read:]
		if at := re.FindSubmatchIndex(fresh); at != nil {
			x.read += at[1]
			var groups []string
			for i := 2; i < len(at); i += 2 {
				groups = append(groups, string(fresh[at[i]:at[i+1]]))
			}
			return groups
		}
		if x.ended {
			x.t.Fatalf("the terminal does not show %q:\n%s", pattern, x.shown.String())
		}
		x.grew.Wait()
	}
}

// exit returns the exit code of the program in the terminal.
func (x *terminal) exit() int {
	x.t.Helper()
	if err := x.cmd.Wait(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			x.t.Fatal(err)
		}
	}
	return x.cmd.ProcessState.ExitCode()
}

// said returns everything that the terminal has shown.
func (x *terminal) said() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shown.String()
}

func inSessctl(t *testing.T) (x *terminal, agent int) {
	t.Helper()
	x = inTerminal(t, "sessctl", "run", "--", "agent")
	pid, err := strconv.Atoi(x.shows(`agent (\d+) is ready`)[0])
	if err != nil {
		t.Fatal(err)
	}
	return x, pid
}

func TestKeysReachTheAgentOnce(t *testing.T) {
	t.Parallel()
	x, _ := inSessctl(t)
	x.types("\x03") // Ctrl-C
	x.shows("heard interrupt")
	x.types("\x1c") // Ctrl-\
	x.shows("heard quit")
	x.types("\x03")
	x.shows("heard interrupt")
	x.types("exit 41\r")
	if code := x.exit(); code != 41 {
		t.Errorf("exit code %d", code)
	}
	if n := strings.Count(x.said(), "heard"); n != 3 {
		t.Errorf("3 keys arrived %d times:\n%s", n, x.said())
	}
}

func TestAgentHasTheTerminalAndItsSize(t *testing.T) {
	t.Parallel()
	x, _ := inSessctl(t)
	x.types("size\r")
	x.shows("size is 80 24")
	if err := pty.Setsize(x.pty, &pty.Winsize{Rows: 50, Cols: 132}); err != nil {
		t.Fatal(err)
	}
	x.types("size\r")
	x.shows("size is 132 50")
}

func TestRunForwardsSignals(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(s) {
			t.Logf("not tried: %v, which is ignored here, as nohup does, and so in what is started from here", s)
			continue
		}
		x, _ := inSessctl(t)
		if err := x.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		x.shows("heard " + s.String())
		if code := x.exit(); code != 40 {
			t.Errorf("%v: exit code %d", s, code)
		}
	}
}

func TestRunRestoresTerminalAfterKill(t *testing.T) {
	t.Parallel()
	x, _ := inSessctl(t)
	before := settings(t, x.pty)
	x.types("raw\r")
	x.shows("raw now <nil>")
	if settings(t, x.pty) == before {
		t.Fatal("the agent has changed nothing")
	}
	x.types("die 9\n")
	if code := x.exit(); code != 137 {
		t.Errorf("exit code %d", code)
	}
	if settings(t, x.pty) != before {
		t.Error("the terminal has the settings of the killed agent")
	}
}

// Types the stop key in a shell with job control, and makes the agent stop itself.
func TestStoppedAgentReturnsTerminalToShell(t *testing.T) {
	t.Parallel()
	x := inTerminal(t, "sh", "-i")
	x.types("sessctl run -- agent\r")
	agent := x.shows(`agent (\d+) is ready`)[0]
	x.types("\x1a") // Ctrl-Z
	x.shows(`\$ $`)
	awaitStopped(t, agent)
	x.types("echo the $((40+2)) shell\r")
	x.shows("the 42 shell")
	x.types("fg\r")
	x.shows("sessctl run")
	x.types("size\r")
	x.shows("size is 80 24")
	if stopsTogether {
		x.types("stop\r")
		x.shows(`\$ $`)
		awaitStopped(t, agent)
		x.types("echo the $((50+2)) shell\r")
		x.shows("the 52 shell")
		x.types("fg\r")
		x.shows("agent is back")
	}
	x.types("exit 42\r")
	x.shows(`\$ $`)
	x.types("echo it was $?\r")
	x.shows("it was 42")
}

// awaitStopped waits until all threads of a process have stopped. The shell only
// waits for sessctl; a running thread of the agent could still read the next keys.
func awaitStopped(t *testing.T, pid string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	stopped := func() bool {
		tasks, err := filepath.Glob("/proc/" + pid + "/task/*/stat")
		for _, task := range tasks {
			stat, _ := os.ReadFile(task)
			if i := bytes.LastIndexByte(stat, ')'); i < 0 || !bytes.HasPrefix(stat[i:], []byte(") T")) {
				return false
			}
		}
		return err == nil && len(tasks) > 0
	}
	for over := time.Now().Add(waitTimeout); !stopped(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(over) {
			t.Fatalf("process %s does not stop", pid)
		}
	}
}

func TestRunExitCodesMatchShells(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	dir := t.TempDir()
	wantResult(t, f.run("run", "--", filepath.Join(dir, "nothing")), 127, "", "cannot be started: no such file")
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantResult(t, f.run("run", "--", plain), 126, "", "cannot be started: permission denied")
	wantResult(t, f.run("run", "agent"), cli.ExitUsage, "", "after two dashes")
	wantResult(t, f.run("run", "--"), cli.ExitUsage, "", "after two dashes")
}

// More lines than the terminal has are shown by the pager, fewer are not.
func TestLongOutputIsShownByThePager(t *testing.T) {
	t.Parallel()
	lines := `{"type":"session","version":3,"id":"paged-2026","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/w"}` + "\n"
	for i := range 40 {
		parent := "null"
		if i > 0 {
			parent = fmt.Sprintf(`"%08d"`, i-1)
		}
		lines += fmt.Sprintf(`{"type":"message","id":"%08d","parentId":%s,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"line %d."}}`+"\n", i, parent, i)
	}
	path := filepath.Join(t.TempDir(), "long.jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"PAGER='sed s/^/page:/' sessctl tree " + path:            `page:00000039`,
		"PAGER='sed s/^/page:/' sessctl tree " + path + " | cat": `\n00000039`,
		"PAGER=no-such-pager sessctl tree " + path:               `\n00000039`,
	} {
		inTerminal(t, "sh", "-c", args).shows(want)
	}
}
