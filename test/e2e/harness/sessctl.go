package harness

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

// A Host is a host on which a user runs sessctl: a home directory, and the node to
// connect to.
type Host struct {
	Dir string // home and working directory
	URL string
	Env []string
}

// NewHost returns a Host that connects to n.
func NewHost(tb testing.TB, n *Node) *Host {
	tb.Helper()
	h := &Host{Dir: testkit.TempDir(tb), URL: n.URL}
	if n.Token != "" {
		h.Env = append(h.Env, "SESS_TOKEN="+n.Token)
	}
	return h
}

// Command returns sessctl with args. The process is killed when ctx ends.
func (h *Host) Command(ctx context.Context, tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(ctx, Binary(tb, "sessctl"), args...)
	cmd.Dir = h.Dir
	cmd.Env = h.Environ()
	dieWithParent(cmd)
	return cmd
}

// Environ returns the environment of a program on the host, without the user's own
// settings.
func (h *Host) Environ() []string {
	return isolated(h.Dir, append([]string{"SESS_URL=" + h.URL}, h.Env...))
}

// Sessctl runs sessctl with args until it exits.
func (h *Host) Sessctl(tb testing.TB, args ...string) Result {
	tb.Helper()
	return runProgram(tb, h.Command(Timeout(tb), tb, args...))
}

// Feed is Sessctl with standard input.
func (h *Host) Feed(tb testing.TB, input string, args ...string) Result {
	tb.Helper()
	cmd := h.Command(Timeout(tb), tb, args...)
	cmd.Stdin = strings.NewReader(input)
	return runProgram(tb, cmd)
}

// Do is Sessctl for a command that must succeed. It returns the output.
func (h *Host) Do(tb testing.TB, args ...string) string {
	tb.Helper()
	r := h.Sessctl(tb, args...)
	if r.Code != 0 {
		tb.Fatalf("sessctl %s: %s", strings.Join(args, " "), r)
	}
	return r.Out
}

// JSON is Do with -o json, decoded into v.
func (h *Host) JSON(tb testing.TB, v any, args ...string) {
	tb.Helper()
	out := h.Do(tb, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		tb.Fatalf("sessctl %s: %v in:\n%s", strings.Join(args, " "), err, clip(out))
	}
}

// Path returns a path below the host's directory.
func (h *Host) Path(elem ...string) string {
	return filepath.Join(append([]string{h.Dir}, elem...)...)
}
