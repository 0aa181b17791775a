package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

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
