//go:build unix

package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A reader reads the output of sessctl attach line by line.
type reader struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
}

func attach(t *testing.T, host *harness.Host, args ...string) *reader {
	t.Helper()
	r := &reader{t: t, cmd: host.Command(t.Context(), t, append([]string{"attach"}, args...)...), lines: make(chan string, 1000)}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.cmd.Stderr = os.Stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.lines)
		for s := bufio.NewReader(out); ; {
			line, err := s.ReadString('\n')
			if err != nil {
				return
			}
			r.lines <- line
		}
	}()
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.cmd.Process.Kill()
			r.drain()
			_ = r.cmd.Wait()
		}
	})
	return r
}

func (r *reader) drain() {
	for range r.lines {
	}
}

// line returns the next line of output.
func (r *reader) line() string {
	r.t.Helper()
	select {
	case line, ok := <-r.lines:
		if !ok {
			r.t.Fatal("attach has ended")
		}
		return line
	case <-time.After(harness.WaitTimeout):
		r.t.Fatal("attach prints no further line")
	}
	return ""
}

// until returns the output up to a line that contains text.
func (r *reader) until(text string) string {
	r.t.Helper()
	var b strings.Builder
	for {
		line := r.line()
		b.WriteString(line)
		if strings.Contains(line, text) {
			return b.String()
		}
	}
}

// interrupted sends SIGINT and returns the exit code.
func (r *reader) interrupted() int {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		r.t.Fatal(err)
	}
	r.drain()
	_ = r.cmd.Wait() // the exit code is checked below
	return r.cmd.ProcessState.ExitCode()
}

func say(t *testing.T, node *client.Client, id, head, text string) {
	t.Helper()
	_, err := node.Append(harness.Timeout(t), id, []byte(harness.Message("user", text)), client.AppendOptions{Head: head, Key: text})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAttachSurvivesNodeRestarts(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	id := importFile(t, node.Client(), harness.NewFile(t, harness.Shape{Turns: 12}))
	for i := range 3 {
		say(t, node.Client(), id, "", fmt.Sprintf("before-%d", i))
	}
	people := attach(t, host, "-n", "2", id)
	if shown := people.until("before-2"); !strings.Contains(shown, "before-1") || strings.Contains(shown, "before-0") {
		t.Errorf("the last two turns:\n%s", shown)
	}
	programs := attach(t, host, "-n", "1", "-o", "json", id)
	var all []string
	read := func(text string) {
		t.Helper()
		for {
			var s struct {
				Seq   core.Cursor
				Head  string
				Kind  string
				Entry json.RawMessage
			}
			line := programs.line()
			if err := json.Unmarshal([]byte(line), &s); err != nil || s.Seq == (core.Cursor{}) || s.Head == "" || s.Kind == "" {
				t.Fatalf("%v in %s", err, line)
			}
			if s.Kind == string(core.KindAppend) {
				all = append(all, string(s.Entry))
			}
			if strings.Contains(line, text) {
				return
			}
		}
	}
	read("before-2")
	for i := range often(3) {
		text := fmt.Sprintf("live-%d", i)
		say(t, node.Client(), id, "", text)
		people.until(text)
		read(text)
		node.Kill()
		node.Start(t)
	}
	if _, err := node.Client().Move(harness.Timeout(t), id, "other", api.MoveRequest{Leaf: core.NoLeaf}, ""); err != nil {
		t.Fatal(err)
	}
	say(t, node.Client(), id, "other", "elsewhere")
	if shown := people.until("elsewhere"); !strings.Contains(shown, "user on head other:") {
		t.Errorf("the head is missing:\n%s", shown)
	}
	read("elsewhere")
	// Every entry once, and nothing else.
	if want := 1 + often(3) + 1; len(all) != want {
		t.Errorf("%d entries were shown, want %d:\n%s", len(all), want, strings.Join(all, "\n"))
	}
	for _, r := range []*reader{people, programs} {
		if code := r.interrupted(); code != 0 {
			t.Errorf("exit code %d after an interrupt", code)
		}
	}
}

func TestAttachFollowsAgentOnAnotherHost(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host, other := harness.NewHost(t, node), harness.NewHost(t, node)
	r := startAgent(t, host)
	r.says(2)
	inStep(t, node.Client(), r.path)
	reader := attach(t, other, sessionAt(r.path))
	reader.until(fmt.Sprintf("line 2 of process %d", r.pid))
	r.says(3)
	reader.until(fmt.Sprintf("line 5 of process %d", r.pid))
	r.ends("exit 0")
	reader.until("head main is free")
}

func TestAttachRejectsUnknownSession(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	if r := host.Sessctl(t, "attach", "no-such-session"); r.Code != 3 {
		t.Error(r)
	}
	id := importFile(t, node.Client(), harness.NewFile(t, harness.Shape{Turns: 1}))
	if r := host.Sessctl(t, "attach", "--head", "nowhere", id); r.Code != 3 {
		t.Error(r)
	}
}
