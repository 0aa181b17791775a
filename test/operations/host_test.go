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

	"github.com/sesslog/sesslog/internal/testkit"
)

// blockTimeout is the time limit of a block. Only a failing block takes as long.
const blockTimeout = 3 * time.Minute

// shell runs the files that its input names, one after the other, and reports
// the success of each on descriptor 3. The first command that fails ends it. When
// its input ends, because the test ended or was killed, it kills its process
// group.
const shell = `trap 'kill -KILL 0' EXIT
while read -r file; do
	set -e -o pipefail
	. "$file" 3>&- </dev/null
	echo ok >&3
done`

// A host is a home directory and a shell. Background processes of the shell run
// until the test ends.
type host struct {
	name, home string
	settings   map[string]string // the variables that a page has its reader set
	blocks     int               // that were run
	in         *os.File          // the shell's standard input
	done       *bufio.Scanner    // a line for each file that succeeded
}

// newHost starts a shell that inherits only PATH from this process.
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
	for _, f := range []*os.File{in, screen, done} { // the shell has copies
		_ = f.Close()
	}
	t.Cleanup(func() {
		_ = h.in.Close()
		_ = cmd.Wait() // the shell kills itself
		_ = report.Close()
		if t.Failed() {
			t.Logf("the output on %s:\n%s\nthe log of its node:\n%s", name, h.read("screen"), h.read("sesslog/sessnode.log"))
		}
	})
	return h
}

// types runs text in the shell and returns its output. If a command fails, the
// test fails.
func (h *host) types(t *testing.T, line int, text string) string {
	t.Helper()
	h.blocks++
	file := h.path(fmt.Sprintf("block-%02d", h.blocks))
	testkit.WriteFile(t, file, []byte(text))
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
	case <-time.After(blockTimeout):
		t.Fatalf("on %s the block at line %d timed out:\n%s", h.name, line, h.read("screen")[before:])
	}
	t.Logf("on %s, line %d: %v", h.name, line, time.Since(began).Round(time.Millisecond))
	return h.read("screen")[before:]
}

func (h *host) path(name string) string { return filepath.Join(h.home, name) }

// read returns a file of the host's home, or "" if it does not exist.
func (h *host) read(name string) string {
	b, _ := os.ReadFile(h.path(name))
	return string(b)
}
