//go:build unix

package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

// If the test binary runs under the name pi, it is the agent.
func init() {
	if filepath.Base(os.Args[0]) == "pi" {
		os.Exit(agentDouble(os.Args[1:]))
	}
}

// agentDouble writes a session file as pi does and obeys commands on its standard
// input: "say N" appends N lines, "exit N" exits with code N, "die N" ends by signal
// N. It acknowledges each command. With --session FILE it continues that file.
func agentDouble(args []string) int {
	d := &double{}
	if err := d.open(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("ready %d %s\n", os.Getpid(), d.path)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		what, arg, _ := strings.Cut(in.Text(), " ")
		n, _ := strconv.Atoi(arg)
		switch what {
		case "say":
			for range n {
				if err := d.say(); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return 1
				}
			}
			fmt.Printf("said %d\n", n)
		case "exit":
			return n
		case "die":
			_ = syscall.Kill(os.Getpid(), syscall.Signal(n))
		}
	}
	return 0
}

type double struct {
	path, id, leaf string
	n              int
}

func (d *double) open(args []string) error {
	if len(args) == 2 && args[0] == "--session" {
		d.path = args[1]
		b, err := os.ReadFile(d.path)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(b) {
			var e struct{ ID string }
			if err := json.Unmarshal(line, &e); err != nil {
				return err
			}
			d.leaf = e.ID
		}
		return nil
	}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	d.id = fmt.Sprintf("01900000-0000-7000-8000-%012x", now.UnixNano()&0xffffffffffff)
	dir := filepath.Join(os.Getenv("HOME"), ".pi", "agent", "sessions", "--"+strings.ReplaceAll(strings.TrimPrefix(cwd, "/"), "/", "-")+"--")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	d.path = filepath.Join(dir, now.Format("2006-01-02T15-04-05-000Z")+"_"+d.id+".jsonl")
	return nil
}

// say appends a line with an open and a write of its own, as pi does.
func (d *double) say() error {
	stamp := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	if d.id != "" && d.leaf == "" {
		cwd, err := os.Getwd()
		if err != nil {
			return err
		}
		header := fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":%q,"cwd":%q}`, d.id, stamp, cwd)
		if err := d.write(header); err != nil {
			return err
		}
	}
	parent := "null"
	if d.leaf != "" {
		parent = strconv.Quote(d.leaf)
	}
	d.n++
	id := fmt.Sprintf("%08x", time.Now().UnixNano()/64&0xffffffff)
	role := []string{"user", "assistant"}[d.n%2]
	line := fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":%q,"message":{"role":%q,"content":[{"type":"text","text":"line %d of process %d"}]}}`,
		id, parent, stamp, role, d.n, os.Getpid())
	d.leaf = id
	return d.write(line)
}

func (d *double) write(line string) error {
	f, err := os.OpenFile(d.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		return err
	}
	return f.Close()
}

// agentProgram returns the path of the agent on a host.
func agentProgram(t *testing.T, host *harness.Host) string {
	t.Helper()
	path := host.Path("bin", "pi")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, path); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	return path
}

// An agentRun is a sessctl run of the agent.
type agentRun struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    *os.File
	out   *bufio.Scanner
	pid   int    // of the agent
	path  string // path of its session file
	ended bool
}

// startAgent starts the agent under sessctl on a host, and returns when it is ready.
func startAgent(t *testing.T, host *harness.Host, args ...string) *agentRun {
	t.Helper()
	line := append([]string{"run", "--", agentProgram(t, host)}, args...)
	r := &agentRun{t: t, cmd: host.Command(t.Context(), t, line...)}
	// Pipes as files: the agent keeps them if sessctl is killed.
	from, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = from, write, errs
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = from.Close(), write.Close()
	r.in, r.out = in, bufio.NewScanner(read)
	t.Cleanup(func() {
		_ = in.Close() // ends the agent
		if !r.ended {
			_ = r.cmd.Process.Kill()
			_ = r.cmd.Wait()
		}
		_ = read.Close()
		_ = errs.Close()
		if t.Failed() {
			t.Logf("sessctl run printed:\n%s", r.said())
		}
	})
	pid, path, _ := strings.Cut(strings.TrimPrefix(r.line(), "ready "), " ")
	if r.pid, err = strconv.Atoi(pid); err != nil {
		t.Fatalf("the agent is not ready: %v", err)
	}
	r.path = path
	return r
}

// line returns the next line that the agent prints.
func (r *agentRun) line() string {
	r.t.Helper()
	if !r.out.Scan() {
		r.t.Fatalf("the agent prints no further line: %v\n%s", r.out.Err(), r.said())
	}
	return r.out.Text()
}

func (r *agentRun) said() string {
	b, err := os.ReadFile(r.cmd.Stderr.(*os.File).Name())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// says makes the agent write n lines.
func (r *agentRun) says(n int) {
	r.t.Helper()
	fmt.Fprintf(r.in, "say %d\n", n)
	if got, want := r.line(), fmt.Sprintf("said %d", n); got != want {
		r.t.Fatalf("the agent printed %q, want %q", got, want)
	}
}

// ends makes the agent end by a command, and returns the exit code and output of
// sessctl.
func (r *agentRun) ends(how string) (code int, said string) {
	r.t.Helper()
	fmt.Fprintln(r.in, how)
	return r.over()
}

// over waits until sessctl ends.
func (r *agentRun) over() (code int, said string) {
	r.t.Helper()
	r.ended = true
	if err := r.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		r.t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode(), r.said()
}
