package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A process is a child process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the child is dead and its output is read
	code int           // exit code, -1 after a signal; valid after done

	mu    sync.Mutex
	lines []string // of its standard output
}

// startProcess starts cmd and appends its standard error to log.
func startProcess(cmd *exec.Cmd, log string) (*process, error) {
	errOut, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer errOut.Close() // the child has its own descriptor
	cmd.Stderr = errOut
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.read(out)
		_ = cmd.Wait() // the exit code is kept below
		p.code = cmd.ProcessState.ExitCode()
	}()
	return p, nil
}

func (p *process) read(out io.Reader) {
	for s := bufio.NewScanner(out); s.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, s.Text())
		p.mu.Unlock()
	}
}

// find returns the rest of the first output line with that prefix.
func (p *process) find(prefix string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return rest, true
		}
	}
	return "", false
}

// kill sends SIGKILL and waits.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only if the process is dead
	<-p.done
}

// signal sends a signal. It returns nil if the process has ended.
func (p *process) signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// wait returns the exit code of a process that is about to exit.
func (p *process) wait(timeout time.Duration) (int, error) {
	select {
	case <-p.done:
		return p.code, nil
	case <-time.After(timeout):
		return 0, fmt.Errorf("process %d did not exit within %v", p.cmd.Process.Pid, timeout)
	}
}

// goroutines makes a hanging Go program write its goroutines to its log and exit.
func (p *process) goroutines() {
	_ = p.signal(syscall.SIGQUIT)
	_, _ = p.wait(5 * time.Second)
}

// A Result is the result of a program that ran until it exited.
type Result struct {
	Out, Err string
	Code     int
	Took     time.Duration
}

// String formats the result for failure messages.
func (r Result) String() string {
	return fmt.Sprintf("exit code %d after %v\nout: %s\nerr: %s", r.Code, r.Took.Round(time.Millisecond), clip(r.Out), clip(r.Err))
}

func clip(s string) string {
	const most = 4000
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:most], len(s))
}

// runProgram runs a program until it exits.
func runProgram(tb testing.TB, cmd *exec.Cmd) Result {
	tb.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	dieWithParent(cmd)
	began := time.Now()
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		tb.Fatalf("%s: %v", strings.Join(cmd.Args, " "), err)
	}
	return Result{Out: out.String(), Err: errOut.String(), Code: cmd.ProcessState.ExitCode(), Took: time.Since(began)}
}

// isolated returns an environment without the user's settings, with home as the home
// directory.
func isolated(home string, more []string) []string {
	env := []string{
		"HOME=" + home,
		"XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"USER=tester",
		"TZ=UTC",
	}
	for _, name := range []string{"PATH", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, more...)
}
