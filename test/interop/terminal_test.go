//go:build unix

package interop_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A terminal is a pseudo terminal in which sessctl was started from a shell.
type terminal struct {
	t   *testing.T
	pty *os.File

	mu    sync.Mutex
	grew  *sync.Cond
	shown plain
	ended bool

	read int // length of the output that was awaited
}

// The scripts of shells. They print the terminal settings before and after, and the
// exit code of sessctl; then they wait, so that the terminal stays open. A shell with
// job control takes the terminal back when its job, sessctl, ends.
const (
	shell         = `stty -g; "$@" 3<&-; echo "it came to $?"; stty -g; read over <&3`
	shellWithJobs = `set -m; ` + shell
)

// terminal starts sessctl in a new terminal, in the project. All processes in the
// terminal end with the test.
func (d *desk) terminal(t *testing.T, shell string, size pty.Winsize, args ...string) *terminal {
	t.Helper()
	ours, shells, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", append([]string{"-c", shell, "sh", harness.Binary(t, "sessctl")}, args...)...)
	cmd.Dir, cmd.Env = d.project, append(d.Environ(), "TERM=xterm-256color")
	cmd.ExtraFiles = []*os.File{ours}
	f, err := pty.StartWithSize(cmd, &size)
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, pty: f}
	x.grew = sync.NewCond(&x.mu)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(x, f) // ends with the terminal
		x.end()
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the shell's process group; its jobs get SIGHUP
		_ = cmd.Wait()
		_ = f.Close()
		<-done
		_ = ours.Close()
		_ = shells.Close()
	})
	return x
}

func (x *terminal) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	defer x.grew.Broadcast()
	return x.shown.Write(b)
}

func (x *terminal) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
	x.grew.Broadcast()
}

func (x *terminal) types(keys string) {
	x.t.Helper()
	if _, err := io.WriteString(x.pty, keys); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) resize(size pty.Winsize) {
	x.t.Helper()
	if err := pty.Setsize(x.pty, &size); err != nil {
		x.t.Fatal(err)
	}
}

// shows waits until the terminal's output matches, after the output that was awaited
// before, and returns the match.
func (x *terminal) shows(pattern string) string {
	x.t.Helper()
	re := regexp.MustCompile(pattern)
	over := time.AfterFunc(harness.WaitTimeout, x.end)
	defer over.Stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		fresh := x.shown.Bytes()[x.read:]
		if at := re.FindIndex(fresh); at != nil {
			x.read += at[1]
			return string(fresh[at[0]:at[1]])
		}
		if x.ended {
			x.t.Fatalf("the terminal does not show %q, but:\n%s", pattern, fresh)
		}
		x.grew.Wait()
	}
}

// showsAll waits until the terminal's output matches each of the patterns, in any
// order.
func (x *terminal) showsAll(patterns ...string) {
	x.t.Helper()
	from, to := x.read, x.read
	for _, p := range patterns {
		x.read = from
		x.shows(p)
		to = max(to, x.read)
	}
	x.read = to
}

// plain extracts the text of a terminal's output, without colours and links, but with
// the window's title. A blank replaces each other control sequence, such as cursor
// movements.
type plain struct {
	bytes.Buffer
	within  byte   // ESC or the byte after it inside a sequence; 0 in text
	command []byte // of a sequence that began with ESC ]
}

const escape, bell = '\x1b', '\a'

func (p *plain) Write(b []byte) (int, error) {
	for _, c := range b {
		p.take(c)
	}
	return len(b), nil
}

func (p *plain) take(c byte) {
	switch {
	case p.within == 0 && c != escape:
		p.WriteByte(c)
	case p.within == ']' && c != escape && c != bell:
		p.command = append(p.command, c)
	case p.within == ']': // ESC \ ends it, too
		if title, ok := bytes.CutPrefix(p.command, []byte("0;")); ok {
			fmt.Fprintf(&p.Buffer, " %s ", title)
		}
		p.command, p.within = nil, 0
		if c == escape {
			p.within = escape
		}
	case c == escape, p.within == escape && (c == '[' || c == ']'):
		p.within = c
	case p.within == '[' && c >= '@' && c <= '~':
		p.within = 0
		if c != 'm' {
			p.WriteByte(' ')
		}
	case p.within == escape && (c < ' ' || c > '/'):
		p.within = 0
	}
}
