package harness

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A Host is a place where somebody runs sessctl: a home directory of its own,
// and the node it speaks to.
type Host struct {
	Dir string // the home, and where commands run
	URL string
	Env []string
}

// NewHost returns a Host that speaks to n.
func NewHost(tb testing.TB, n *Node) *Host {
	tb.Helper()
	h := &Host{Dir: tb.TempDir(), URL: n.URL}
	if n.Token != "" {
		h.Env = append(h.Env, "SESS_TOKEN="+n.Token)
	}
	return h
}

// Command is sessctl with args. It is killed when ctx ends.
func (h *Host) Command(ctx context.Context, tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(ctx, Binary(tb, "sessctl"), args...)
	cmd.Dir = h.Dir
	cmd.Env = h.Environ()
	dieWithParent(cmd)
	return cmd
}

// Environ is the environment of a program on the host: nothing of the user's
// own settings is in it.
func (h *Host) Environ() []string {
	return isolated(h.Dir, append([]string{"SESS_URL=" + h.URL}, h.Env...))
}

// Sessctl runs sessctl with args to its end.
func (h *Host) Sessctl(tb testing.TB, args ...string) Result {
	tb.Helper()
	return runProgram(tb, h.Command(Timeout(tb), tb, args...))
}

// Feed is Sessctl with something on its standard input.
func (h *Host) Feed(tb testing.TB, input string, args ...string) Result {
	tb.Helper()
	cmd := h.Command(Timeout(tb), tb, args...)
	cmd.Stdin = strings.NewReader(input)
	return runProgram(tb, cmd)
}

// Do is Sessctl for what must succeed; it returns the output.
func (h *Host) Do(tb testing.TB, args ...string) string {
	tb.Helper()
	r := h.Sessctl(tb, args...)
	if r.Code != 0 {
		tb.Fatalf("sessctl %s: %s", strings.Join(args, " "), r)
	}
	return r.Out
}

// JSON is Do with -o json, its output read into v.
func (h *Host) JSON(tb testing.TB, v any, args ...string) {
	tb.Helper()
	out := h.Do(tb, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		tb.Fatalf("sessctl %s: %v in:\n%s", strings.Join(args, " "), err, clip(out))
	}
}

// Path is a path below the host's directory.
func (h *Host) Path(elem ...string) string {
	return filepath.Join(append([]string{h.Dir}, elem...)...)
}
