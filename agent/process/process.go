package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"

	"github.com/sesslog/sesslog/internal/hint"
)

// Exit codes, as shells use them.
const (
	exitOther      = 1
	exitNotFound   = 127
	exitCannotRun  = 126
	exitSignalBase = 128
)

// A Process is a running agent. It shares the standard files and the process group
// of its parent, so keys and terminal signals (interrupt, stop, resize, hang-up)
// reach it directly.
type Process struct {
	cmd      *exec.Cmd
	signals  chan os.Signal
	done     chan struct{} // closed by Wait
	terminal *terminalState
}

// Options say where an agent runs.
type Options struct {
	Dir            string // working directory; default: the parent's
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Start starts an agent. From then on until Wait returns, this process ignores
// signals and forwards those that the agent did not get itself. If the agent
// cannot be started, the error is a *StartError.
func Start(argv []string, o Options) (*Process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = o.Stdin, o.Stdout, o.Stderr, o.Dir
	p := &Process{cmd: cmd, signals: make(chan os.Signal, 16), done: make(chan struct{}), terminal: terminalOf(o.Stdin)}
	// Catch signals before the start, so that none is lost or ends this process
	// alone. A caught signal has its default action in the agent. A signal that was
	// ignored from the start, as by nohup, stays ignored in both.
	for _, s := range agentSignals {
		if !signal.Ignored(s) {
			signal.Notify(p.signals, s)
		}
	}
	if err := cmd.Start(); err != nil {
		signal.Stop(p.signals)
		return nil, startError(argv[0], err)
	}
	go p.forwardSignals()
	go p.stopTogether()
	return p, nil
}

// Pid returns the agent's process ID.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Wait waits until the agent has ended and returns its exit code, or 128 plus the
// number of the signal that killed it. If a signal killed the agent, Wait restores
// the terminal settings.
func (p *Process) Wait() int {
	err := p.cmd.Wait()
	close(p.done)
	signal.Stop(p.signals)
	code, killed := exitCodeOf(p.cmd.ProcessState)
	if killed {
		p.terminal.restore()
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok && code == 0 {
		return exitOther // its output could not be copied
	}
	return code
}

// forwardSignals passes the signals on that only this process received.
func (p *Process) forwardSignals() {
	for {
		select {
		case s := <-p.signals:
			if p.forwards(s) {
				_ = p.cmd.Process.Signal(s) // fails only if the process has ended
			}
		case <-p.done:
			return
		}
	}
}

// A StartError says why an agent could not be started.
type StartError struct {
	Err  error
	Code int // the exit code that a shell would return
}

// Error returns the text of e.Err.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e *StartError) Unwrap() error { return e.Err }

func startError(name string, err error) error {
	cause := err
	if e, ok := errors.AsType[*exec.Error](err); ok {
		cause = e.Err
	}
	if e, ok := errors.AsType[*fs.PathError](cause); ok {
		cause = e.Err
	}
	code := exitCannotRun
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = exitNotFound
	}
	return hint.With(&StartError{fmt.Errorf("%.128q cannot be started: %v", name, cause), code},
		"give the command as you would type it without sessctl: sessctl run -- AGENT ARG...")
}
