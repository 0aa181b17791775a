package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// CanAsk reports whether questions can be asked: standard input and standard error
// are a terminal, and the output is for people.
func (a *App) CanAsk() bool {
	f, ok := a.Stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && a.Stderr.TTY && a.Format != JSON
}

// Ask prints a question to standard error and reads a line from standard input. It
// reads no further, so that an agent can read what follows.
func (a *App) Ask(ctx context.Context, question string) (string, error) {
	fmt.Fprint(a.Stderr, Plain(question)+" ")
	answer := make(chan string, 1)
	go func() { answer <- readLine(a.Stdin) }()
	select {
	case line := <-answer:
		return strings.TrimSpace(line), nil
	case <-ctx.Done(): // the process is about to end
		fmt.Fprintln(a.Stderr)
		return "", ctx.Err()
	}
}

// readLine reads up to a newline or the end of r.
func readLine(r io.Reader) string {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := r.Read(one)
		if n == 1 && one[0] == '\n' || err != nil {
			return string(line)
		}
		line = append(line, one[:n]...)
	}
}

// A Confirmation says whether a verb that deletes or replaces data is to do so.
type Confirmation struct{ Yes bool }

// Add adds --yes, and --apply as its old name.
func (c *Confirmation) Add(a *App, cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&c.Yes, "yes", "y", false, "do it without a question (default: show it, and ask on a terminal)")
	a.renamedFlag(cmd.Flags(), "apply", "yes")
}

// Confirm asks whether to do what was shown, if the user can be asked, and otherwise
// notes how to do it.
func (a *App) Confirm(ctx context.Context, question, how string) (bool, error) {
	if !a.CanAsk() {
		a.Notef("nothing was changed; %s", how)
		return false, nil
	}
	answer, err := a.Ask(ctx, question+" [y/N]")
	if yes := strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"); yes || err != nil {
		return yes, err
	}
	a.Notef("nothing was changed")
	return false, nil
}
