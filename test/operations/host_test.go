//go:build linux

package operations_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// patience is how long a block may take. Nothing but a failure takes as long.
const patience = 3 * time.Minute

// shell runs the files that it is named, one after the other, and says on
// descriptor 3 that each went well. The first command that fails ends it. A
// shell whose input ends was left by its test, also by one that was killed: it
// takes its whole group along.
const shell = `trap 'kill -KILL 0' EXIT
while read -r file; do
	set -e -o pipefail
	. "$file" 3>&- </dev/null
	echo ok >&3
done`

// A host is a place with a home directory and a shell that somebody types into.
// What the shell has in the background runs until the test ends.
type host struct {
	name, home string
	typed      int
	in         *os.File       // the shell's standard input
	done       *bufio.Scanner // a line for each file that went well
}

// newHost starts a shell with nothing of this process's own environment but the
// path to the system's programs.
func newHost(t *testing.T, name string, env ...string) *host {
	t.Helper()
	h := &host{name: name, home: t.TempDir()}
	in, typing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	report, done, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h.in, h.done = typing, bufio.NewScanner(report)
	screen, err := os.OpenFile(h.path("screen"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", shell)
	cmd.Dir = h.home
	cmd.Env = append([]string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "USER=tester", "TZ=UTC"}, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, screen, screen
	cmd.ExtraFiles = []*os.File{done}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{in, screen, done} { // the shell has its own
		_ = f.Close()
	}
	t.Cleanup(func() {
		_ = h.in.Close()
		_ = cmd.Wait() // it ends by its own signal
		_ = report.Close()
		if t.Failed() {
			t.Logf("the screen of %s:\n%s\nits node's log:\n%s", name, h.read("screen"), h.read("sesslog/sessnode.log"))
		}
	})
	return h
}

// types gives text to the shell, and returns what came onto the screen when all
// of it has run. A command that fails ends the test.
func (h *host) types(t *testing.T, line int, text string) string {
	t.Helper()
	h.typed++
	file := h.path(fmt.Sprintf("block-%02d", h.typed))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	before, began := len(h.read("screen")), time.Now()
	if _, err := fmt.Fprintln(h.in, file); err != nil {
		t.Fatalf("%s: %v", h.name, err)
	}
	ran := make(chan bool, 1)
	go func() { ran <- h.done.Scan() }()
	select {
	case ok := <-ran:
		if !ok {
			t.Fatalf("on %s a command of the block at line %d fails:\n%s", h.name, line, h.read("screen")[before:])
		}
	case <-time.After(patience):
		t.Fatalf("on %s the block at line %d does not end:\n%s", h.name, line, h.read("screen")[before:])
	}
	t.Logf("on %s, line %d: %v", h.name, line, time.Since(began).Round(time.Millisecond))
	return h.read("screen")[before:]
}

func (h *host) path(name string) string { return filepath.Join(h.home, name) }

// read returns a file of the host's home, empty where there is none.
func (h *host) read(name string) string {
	b, _ := os.ReadFile(h.path(name))
	return string(b)
}
