package process

import (
	"os"

	"golang.org/x/term"
)

// A terminalState holds the settings of a terminal when the agent began.
type terminalState struct {
	fd    int
	state *term.State
}

// terminalOf returns nil if stdin is not a terminal.
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

// restore resets the terminal, unless this process is in the background: then
// another process uses the terminal.
func (t *terminalState) restore() {
	if t != nil && inForeground() {
		_ = term.Restore(t.fd, t.state)
	}
}
