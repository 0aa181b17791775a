package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"

	"golang.org/x/term"
)

// What shells answer for a command that cannot be started.
const (
	exitNoCommand  = 127
	exitCannotRun  = 126
	exitSignalBase = 128 // and the signal's number, for a process that died of it
)

// An agentProcess is an agent that runs in the user's terminal as if sessctl
// were not there: it has the same standard files and is in the same process
// group, so that what is typed and what the terminal says (interrupt, stop,
// resize, hang-up) reaches it directly.
type agentProcess struct {
	cmd      *exec.Cmd
	signals  chan os.Signal
	done     chan struct{} // closed by wait
	stopped  atomic.Bool   // the agent has stopped itself, and sessctl with it
	terminal *terminalState
}

// startAgent starts the agent. From then on until wait returns, signals are the
// agent's business: sessctl obeys none.
func (a *app) startAgent(argv []string, o runOptions) (*agentProcess, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.stdin, a.stdout.Writer, a.stderr.Writer
	cmd.Dir = o.dir
	p := &agentProcess{cmd: cmd, signals: make(chan os.Signal, 16), done: make(chan struct{}), terminal: terminalOf(a.stdin)}
	// Before the start: none gets lost, and none ends sessctl alone. What is
	// caught here is at its default in the agent, and what was ignored from the
	// start, as by nohup, stays ignored in both.
	for _, s := range agentSignals {
		if !signal.Ignored(s) {
			signal.Notify(p.signals, s)
		}
	}
	if err := cmd.Start(); err != nil {
		signal.Stop(p.signals)
		return nil, notStarted(argv[0], err)
	}
	go p.passOn()
	go p.stopAlong()
	return p, nil
}

// wait returns the agent's exit code once it has ended, or 128 and the number
// of the signal that it died of. What it left of the terminal's state, if it
// died, is put right.
func (p *agentProcess) wait() int {
	err := p.cmd.Wait()
	close(p.done)
	signal.Stop(p.signals)
	code, died := exitCodeOf(p.cmd.ProcessState)
	if died {
		p.terminal.restore()
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok && code == 0 {
		return exitOther // its output could not be passed on
	}
	return code
}

// passOn gives the agent the signals that only sessctl was sent.
func (p *agentProcess) passOn() {
	for {
		select {
		case s := <-p.signals:
			if p.forwards(s) {
				_ = p.cmd.Process.Signal(s) // it fails only for the dead
			}
		case <-p.done:
			return
		}
	}
}

// A notStartedError is an agent that could not be started, with what a shell
// would answer.
type notStartedError struct {
	err  error
	exit int
}

func (e *notStartedError) Error() string { return e.err.Error() }
func (e *notStartedError) Unwrap() error { return e.err }

func notStarted(name string, err error) error {
	cause := err
	if e, ok := errors.AsType[*exec.Error](err); ok {
		cause = e.Err
	}
	if e, ok := errors.AsType[*fs.PathError](cause); ok {
		cause = e.Err
	}
	exit := exitCannotRun
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		exit = exitNoCommand
	}
	return hintf(&notStartedError{fmt.Errorf("%.128q cannot be started: %v", name, cause), exit},
		"say what to run as you would without sessctl: sessctl run -- AGENT ARG...")
}

// A terminalState is how a terminal was set when the agent began; nil where
// there is none.
type terminalState struct {
	fd    int
	state *term.State
}

func terminalOf(stdin any) *terminalState {
	f, ok := stdin.(*os.File)
	if !ok {
		return nil
	}
	state, err := term.GetState(int(f.Fd()))
	if err != nil {
		return nil
	}
	return &terminalState{int(f.Fd()), state}
}

// restore sets the terminal as it was. Not from the background: there it is
// somebody else's by now.
func (t *terminalState) restore() {
	if t != nil && inForeground() {
		_ = term.Restore(t.fd, t.state)
	}
}
