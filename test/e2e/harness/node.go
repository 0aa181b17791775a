package harness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
)

// A Node is a sessnode with its own data directory, running or stopped. Its methods
// are not safe for concurrent use; its clients are.
type Node struct {
	URL   string // its address, also after it stopped
	Data  string
	Token string // that its clients send
	// TLS configures its clients for https.
	TLS *tls.Config

	// ReadyIn is the time of the last start until the node reported that it is ready.
	ReadyIn time.Duration

	// Via is a command that runs the node's program, such as ip netns exec NAME, and
	// must exec it. Optional.
	Via []string

	// Program is run instead of the built sessnode, such as another build of it.
	// Optional.
	Program string
	// Env is the environment of the program, as NAME=value.
	Env []string

	args      []string
	home, log string
	process   *process // nil while stopped
}

// StartNode starts a Node and returns once it is ready. args follow --data and
// --listen and override them. Arguments of the form NAME=value go into the
// environment.
func StartNode(tb testing.TB, args ...string) *Node {
	tb.Helper()
	n := NewNode(tb, args...)
	n.Start(tb)
	return n
}

// NewNode is StartNode without the start.
func NewNode(tb testing.TB, args ...string) *Node {
	tb.Helper()
	dir := tb.TempDir()
	n := &Node{
		Data: filepath.Join(dir, "data"),
		home: dir,
		log:  filepath.Join(dir, "node.log"),
	}
	addr := testkit.FreeAddrs(tb, 1)[0]
	n.args = []string{"--data", n.Data, "--listen", addr}
	for _, arg := range args {
		if name, _, ok := strings.Cut(arg, "="); ok && strings.ToUpper(name) == name && !strings.HasPrefix(name, "-") {
			n.Env = append(n.Env, arg)
			continue
		}
		n.args = append(n.args, arg)
	}
	tb.Cleanup(func() {
		n.Kill()
		if tb.Failed() {
			tb.Logf("log of the node on %s:\n%s", n.Data, n.Log())
		}
	})
	return n
}

// AddArgs adds arguments to those of the next start.
func (n *Node) AddArgs(args ...string) { n.args = append(n.args, args...) }

// Arg returns the value of a flag that the node was given, "" if it has none.
func (n *Node) Arg(flag string) string {
	if i := slices.Index(n.args, flag); i >= 0 && i+1 < len(n.args) {
		return n.args[i+1]
	}
	return ""
}

// Command returns the node's command line with more arguments.
func (n *Node) Command(tb testing.TB, more ...string) *exec.Cmd {
	tb.Helper()
	program := n.Program
	if program == "" {
		program = Binary(tb, "sessnode")
	}
	line := slices.Concat(n.Via, []string{program}, n.args, more)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = isolated(n.home, n.Env)
	cmd.Dir = n.home
	return cmd
}

// Run runs the node's program with its settings and more arguments until it exits.
func (n *Node) Run(tb testing.TB, more ...string) Result {
	tb.Helper()
	return runProgram(tb, n.Command(tb, more...))
}

// Start starts the node again with the same settings, and returns once it is ready.
func (n *Node) Start(tb testing.TB) {
	tb.Helper()
	n.Launch(tb)
	n.AwaitReady(tb)
}

// StartAll starts nodes that need each other to become ready.
func StartAll(tb testing.TB, nodes []*Node) {
	tb.Helper()
	for _, n := range nodes {
		n.Launch(tb)
	}
	for _, n := range nodes {
		n.AwaitReady(tb)
	}
}

// Launch is Start without waiting until the node is ready.
func (n *Node) Launch(tb testing.TB) {
	tb.Helper()
	if err := n.launch(n.Command(tb)); err != nil {
		tb.Fatal(err)
	}
}

// AwaitReady returns once a launched node is ready.
func (n *Node) AwaitReady(tb testing.TB) {
	tb.Helper()
	if err := n.awaitReady(); err != nil {
		tb.Fatal(err)
	}
}

func (n *Node) launch(cmd *exec.Cmd) (err error) {
	n.Kill()
	n.process, err = startProcess(cmd, n.log)
	return err
}

func (n *Node) awaitReady() error {
	p := n.process
	began := time.Now()
	err := awaitFor(func() error {
		rest, ok := p.find("sessnode ready: ")
		if ok {
			n.URL, _, _ = strings.Cut(rest, " ")
			return nil
		}
		return errors.New("no line that reports it is ready")
	}, p.done)
	n.ReadyIn = time.Since(began)
	if err != nil {
		p.goroutines()
		return fmt.Errorf("start of sessnode on %s: %w\n%s", n.Data, err, n.Log())
	}
	return n.answers()
}

// answers returns once /readyz reports that the node is ready.
func (n *Node) answers() error {
	look := n.http()
	defer look.CloseIdleConnections()
	return awaitFor(func() error {
		r, err := look.Get(n.URL + "/readyz")
		if err != nil {
			return err
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err == nil && r.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", r.Status, b)
		}
		return err
	}, n.process.done)
}

// Client returns a client of the node with its own connections.
func (n *Node) Client() *client.Client {
	return &client.Client{Base: n.URL, Token: n.Token, HTTP: n.http()}
}

func (n *Node) http() *http.Client {
	if n.TLS == nil {
		return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	}
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, TLSClientConfig: n.TLS.Clone()}}
}

// Pid returns the process ID of the running node.
func (n *Node) Pid() int { return n.process.cmd.Process.Pid }

// NATSURL returns the address for NATS clients that the node prints, or "".
func (n *Node) NATSURL() string {
	url, _ := n.process.find("nats: ")
	return url
}

// Kill sends SIGKILL and returns once the node is dead.
func (n *Node) Kill() {
	if n.process != nil {
		n.process.kill()
		n.process = nil
	}
}

// Signal sends SIGTERM and does not wait.
func (n *Node) Signal(tb testing.TB) {
	tb.Helper()
	if err := n.process.signal(syscall.SIGTERM); err != nil {
		tb.Fatal(err)
	}
}

// Wait returns the exit code of a node that was told to stop. If it does not exit, the
// test fails with its goroutines.
func (n *Node) Wait(tb testing.TB) int {
	tb.Helper()
	code, err := n.process.wait(WaitTimeout)
	if err != nil {
		n.process.goroutines()
		tb.Fatalf("%v\n%s", err, n.Log())
	}
	n.process = nil
	return code
}

// Done is closed once the running node is dead.
func (n *Node) Done() <-chan struct{} { return n.process.done }

// Terminate sends SIGTERM and returns the exit code.
func (n *Node) Terminate(tb testing.TB) int {
	tb.Helper()
	n.Signal(tb)
	return n.Wait(tb)
}

// Log returns the standard error of all runs of the node.
func (n *Node) Log() string {
	b, err := os.ReadFile(n.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err.Error()
	}
	const most = 200 << 10
	if len(b) > most {
		b = append([]byte("…"), b[len(b)-most:]...)
	}
	return string(b)
}

// Complaints returns the warnings and errors in the node's log.
func (n *Node) Complaints() []string {
	var bad []string
	for line := range strings.Lines(n.Log()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") {
			bad = append(bad, strings.TrimSpace(line))
		}
	}
	return bad
}

// Timeout returns a context for one call of a test.
func Timeout(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(tb.Context(), WaitTimeout)
	tb.Cleanup(cancel)
	return ctx
}
