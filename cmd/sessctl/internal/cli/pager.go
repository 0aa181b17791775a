package cli

import (
	"io"
	"os"
	"os/exec"
	"strings"
)

// PrintPage prints text. If it has more lines than the terminal, it is shown by
// $PAGER, which is less by default. cat shows it without pages.
func (a *App) PrintPage(text string) error {
	if a.Stdout.TTY && strings.Count(text, "\n") >= a.Stdout.Height && a.page(text) == nil {
		return nil
	}
	_, err := io.WriteString(a.Stdout, text)
	return err
}

// page runs the pager until its user ends it. An error means that it did not start.
func (a *App) page(text string) error {
	name := a.Env("PAGER")
	if name == "" {
		name = "less"
	}
	words := strings.Fields(name)
	if len(words) == 0 || words[0] == "cat" {
		return exec.ErrNotFound
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return err
	}
	pager := exec.Command("sh", "-c", name)
	pager.Stdin, pager.Stdout, pager.Stderr = strings.NewReader(text), a.Stdout.Writer, os.Stderr
	pager.Env = os.Environ()
	if a.Env("LESS") == "" {
		pager.Env = append(pager.Env, "LESS=FRX") // colors, and the text stays on the screen
	}
	if err := pager.Start(); err != nil {
		return err
	}
	_ = pager.Wait() // its user has seen what they wanted
	return nil
}
