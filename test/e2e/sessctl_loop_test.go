//go:build unix

package e2e_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/modeltest"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A loopingHost is a host on which sessctl loop is in the first command of a reply of its
// model, which has two. The command ends when the gate is closed.
type loopingHost struct {
	*harness.Host
	cmd      *exec.Cmd
	id       string
	log      string
	gate     *os.File
	requests *atomic.Int64
}

const blocked = `{"command":"echo > started; cat gate"}`

// startLooping starts the agent on a node, and returns when it is in the command.
func startLooping(t *testing.T, node *harness.Node, vendor string, wire modeltest.Wire) *loopingHost {
	t.Helper()
	harness.Binary(t, "sessmodel")
	h := &loopingHost{Host: harness.NewHost(t, node), requests: &atomic.Int64{}}
	script := wire.Script(
		loop.Reply{Text: "I look.", Finish: loop.FinishTools, Calls: []loop.Call{{ID: "c1", Name: "bash", Arguments: blocked}, {ID: "c2", Name: "bash", Arguments: `{"command":"echo >> second; test ! -e hold || cat hold"}`}}},
		loop.Reply{Text: "All done.", Finish: loop.FinishStop},
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.requests.Add(1)
		script(w, r)
	}))
	t.Cleanup(server.Close)
	h.Env = append(h.Env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY=k", "ANTHROPIC_BASE_URL="+server.URL, "ANTHROPIC_API_KEY=k")
	h.gate = pipe(t, h.Path("gate"))
	h.log = h.Path("log")
	log, err := os.Create(h.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	h.cmd = h.Command(t.Context(), t, "loop", "--model", vendor+"/m", "--tools", "read,bash", "--system", "be kind", "look", "around")
	h.cmd.Stderr = log
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, "the command runs", func() error {
		_, err := os.Stat(h.Path("started"))
		return err
	})
	_, rest, _ := strings.Cut(h.stderr(t), "session ")
	h.id, _, _ = strings.Cut(rest, "\n")
	return h
}

// pipe makes a pipe. It has a reader and a writer, so that opening it does not wait.
func pipe(t *testing.T, path string) *os.File {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // it may be closed
	return f
}

func (h *loopingHost) stderr(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(h.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wait returns the exit code of the agent, -1 after a signal.
func (h *loopingHost) wait(t *testing.T) int {
	t.Helper()
	err := h.cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return h.cmd.ProcessState.ExitCode()
}

// other returns a host that connects to another node.
func (h *loopingHost) other(t *testing.T, node *harness.Node) *harness.Host {
	other := harness.NewHost(t, node)
	other.Env = append(other.Env, h.Env...)
	return other
}

// resume continues the session on another host to its end.
func (h *loopingHost) resume(t *testing.T, node *harness.Node, other *harness.Host) {
	t.Helper()
	if out := other.Do(t, "loop", "--resume", h.id, "--dir", other.Dir); out != "All done.\n" {
		t.Errorf("the other host printed %q", out)
	}
	h.check(t, node, other)
}

// check checks that the other host did what this one had not begun, and only that.
func (h *loopingHost) check(t *testing.T, node *harness.Node, other *harness.Host) {
	t.Helper()
	want := []string{
		`system {"content": "be kind"}`, `user {"content": "look around"}`, "assistant", "tool_result interrupted", "tool_result exit_code", "assistant All done.",
	}
	rows := loopRows(t, node, h.id)
	if len(rows) != len(want) {
		t.Fatalf("rows\n%s", strings.Join(rows, "\n"))
	}
	for i, row := range rows {
		if kind, text, _ := strings.Cut(want[i], " "); !strings.HasPrefix(row, kind) || !strings.Contains(row, text) {
			t.Errorf("row %s, want %s", row, want[i])
		}
	}
	for name, ran := range map[string]bool{"started": false, "second": true} {
		if _, err := os.Stat(other.Path(name)); (err == nil) != ran {
			t.Errorf("file %s on the other host: %v", name, err)
		}
	}
	if n := h.requests.Load(); n != 2 {
		t.Errorf("%d requests to the model", n)
	}
}

// sessctl loop ends in the middle of a command: it is killed, interrupted, or another
// host takes its session over. Another node's host continues it: the command, which
// may have run, does not run again, the next one runs once.
func TestSessctlLoopContinuesOnAnotherHost(t *testing.T) {
	t.Parallel()
	nodes := harness.StartCluster(t, 3, harness.StartBucket(t))
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		h := startLooping(t, nodes[0], "openai", modeltest.OpenAI)
		_ = h.cmd.Process.Kill() // it is a child that was not waited for
		h.wait(t)
		other := h.other(t, nodes[1])
		h.resume(t, nodes[1], other)
		if r := other.Sessctl(t, "loop", "--resume", h.id); r.Out != "All done.\n" {
			t.Errorf("a session that has ended prints %s", r)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		h := startLooping(t, nodes[1], "anthropic", modeltest.Anthropic)
		if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code, want := h.wait(t), "sessctl loop --resume "+h.id; code != 130 || !strings.Contains(h.stderr(t), want) {
			t.Errorf("exit code %d, %s", code, h.stderr(t))
		}
		h.resume(t, nodes[2], h.other(t, nodes[2]))
	})
	t.Run("taken over", func(t *testing.T) {
		t.Parallel()
		h := startLooping(t, nodes[2], "openai", modeltest.OpenAI)
		other := h.other(t, nodes[0])
		hold := pipe(t, other.Path("hold"))
		next := other.Command(t.Context(), t, "loop", "--resume", h.id, "--dir", other.Dir)
		if err := next.Start(); err != nil {
			t.Fatal(err)
		}
		harness.Await(t, "the other host runs the next command", func() error {
			_, err := os.Stat(other.Path("second"))
			return err
		})
		closePipe(t, h.gate)
		code, log := h.wait(t), h.stderr(t)
		closePipe(t, hold)
		if err := next.Wait(); err != nil {
			t.Error(err)
		}
		h.check(t, nodes[0], other)
		if code != 6 || !strings.Contains(log, "sessctl attach "+h.id) || !strings.Contains(log, "is held by sessctl loop on ") {
			t.Errorf("exit code %d, %s", code, log)
		}
		if _, err := os.Stat(h.Path("second")); err == nil {
			t.Error("the host ran its next command, too")
		}
	})
}

func closePipe(t *testing.T, f *os.File) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
