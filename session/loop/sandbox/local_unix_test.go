//go:build unix

package sandbox_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/sandbox"
)

// backends are the kinds of sandboxes, all of which do what the tests say.
func backends(t *testing.T) map[string]sandbox.Opener {
	all := map[string]sandbox.Opener{"local": sandbox.Local, "double of docker": sandbox.Container{Image: "busybox", Program: os.Args[0]}.Open}
	if err := exec.Command("docker", "image", "inspect", "busybox").Run(); err != nil {
		t.Log("skipped: no daemon of Docker is reachable, or it has no image busybox")
	} else {
		all["docker"] = sandbox.Container{Image: "busybox"}.Open
	}
	return all
}

// forEach runs a test with each backend. open opens a sandbox in a new directory.
func forEach(t *testing.T, f func(t *testing.T, open func(sandbox.Spec) (sandbox.Box, string))) {
	for name, opener := range backends(t) {
		t.Run(name, func(t *testing.T) {
			f(t, func(spec sandbox.Spec) (sandbox.Box, string) {
				t.Helper()
				spec.Dir = t.TempDir()
				b, err := opener(t.Context(), spec)
				testkit.Must(t, err)
				t.Cleanup(func() { _ = b.Close() })
				return b, spec.Dir
			})
		})
	}
}

func TestCommandsRunInTheDirectory(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, open func(sandbox.Spec) (sandbox.Box, string)) {
		b, dir := open(sandbox.Spec{Env: []string{"PORT=8080"}})
		c, err := b.Run(t.Context(), `pwd; echo "$PORT" >&2; echo x > made; exit 3`)
		testkit.Must(t, err)
		real, err := filepath.EvalSymlinks(dir)
		testkit.Must(t, err)
		if got := strings.TrimSpace(c.Stdout); got != dir && got != real || c.Stderr != "8080\n" || c.ExitCode != 3 {
			t.Errorf("result %+v", c)
		}
		f, err := b.Read("made")
		testkit.Must(t, err)
		testkit.Equal(t, "file", "x\n", f.Data)
	})
}

// Keys of the host's programs are not in the environment of commands.
func TestCommandsDoNotSeeTheEnvironment(t *testing.T) {
	t.Setenv("SECRET_KEY", "k")
	forEach(t, func(t *testing.T, open func(sandbox.Spec) (sandbox.Box, string)) {
		b, _ := open(sandbox.Spec{})
		c, err := b.Run(t.Context(), "env")
		testkit.Must(t, err)
		if strings.Contains(c.Stdout, "SECRET_KEY") || !strings.Contains(c.Stdout, "PATH=") {
			t.Errorf("environment %s", c.Stdout)
		}
	})
}

// A command that does not end is killed with the processes that it started, and one
// that ends leaves none.
func TestCommandsAreKilledWithTheirProcesses(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, open func(sandbox.Spec) (sandbox.Box, string)) {
		b, _ := open(sandbox.Spec{Timeout: 300 * time.Millisecond})
		_, err := b.Run(t.Context(), "echo begun; sleep 1000 & sleep 1000")
		if f, ok := errors.AsType[*loop.Failure](err); !ok || f.Kind != "timeout" {
			t.Errorf("error %v", err)
		}

		b, dir := open(sandbox.Spec{})
		ctx, cancel := context.WithCancel(t.Context())
		pipe := filepath.Join(dir, "alive")
		testkit.Must(t, syscall.Mkfifo(pipe, 0o600))
		ended := make(chan error)
		go func() {
			_, err := b.Run(ctx, "(echo begun; exec sleep 1000) > alive & wait")
			ended <- err
		}()
		waitForEnd(t, pipe, cancel)
		testkit.WantErr(t, <-ended, context.Canceled)

		go func() {
			// The shell opens the pipe: what it starts may be killed before it begins.
			_, err := b.Run(t.Context(), "exec 3> alive; echo begun >&3; sleep 1000 & echo done")
			ended <- err
		}()
		waitForEnd(t, pipe, func() {})
		testkit.Must(t, <-ended)
	})
}

// waitForEnd reads a pipe until the process that writes to it is dead. When it has
// begun, waitForEnd calls f.
func waitForEnd(t *testing.T, pipe string, f func()) {
	t.Helper()
	r, err := os.Open(pipe)
	testkit.Must(t, err)
	defer r.Close()
	b := make([]byte, 16)
	_, err = r.Read(b)
	testkit.Must(t, err)
	f()
	if n, err := r.Read(b); err == nil {
		t.Errorf("the process wrote %q", b[:n])
	}
}

func TestCommandsHaveLimits(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, open func(sandbox.Spec) (sandbox.Box, string)) {
		b, _ := open(sandbox.Spec{File: 1024, CPU: time.Second})
		c, err := b.Run(t.Context(), "head -c 5000 /dev/zero > big")
		testkit.Must(t, err)
		size, err := b.Run(t.Context(), "wc -c < big")
		testkit.Must(t, err)
		if c.ExitCode == 0 || strings.TrimSpace(size.Stdout) != "1024" {
			t.Errorf("a command with a limit of 1024 bytes wrote %s, exit %d", size.Stdout, c.ExitCode)
		}
		c, err = b.Run(t.Context(), "ulimit -t")
		testkit.Must(t, err)
		testkit.Equal(t, "seconds", "1\n", c.Stdout)
		c, err = b.Run(t.Context(), "echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo last")
		testkit.Must(t, err)
		half := strings.Repeat("x", 32_000)
		testkit.Equal(t, "kept output", "first\n"+half[6:]+"\n...(4936011 bytes are left out)...\n"+half[5:]+"last\n", c.Stdout)
	})
}

func TestFilesAreBelowTheDirectory(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, open func(sandbox.Spec) (sandbox.Box, string)) {
		b, dir := open(sandbox.Spec{})
		w, err := b.Write("a/b.txt", []byte("hi"))
		testkit.Must(t, err)
		testkit.Equal(t, "written", int64(2), w.Bytes)
		f, err := b.Read(filepath.Join(dir, "a/b.txt"))
		testkit.Must(t, err)
		testkit.Equal(t, "data", "hi", f.Data)
		testkit.Must(t, os.Symlink(t.TempDir(), filepath.Join(dir, "out")))
		testkit.Must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
		for _, name := range []string{"../x", "/etc/passwd", "out/x", "pipe", "a", ""} {
			if _, err := b.Write(name, nil); err == nil {
				t.Errorf("%q was written", name)
			}
			if _, err := b.Read(name); err == nil {
				t.Errorf("%q was read", name)
			}
		}
	})
}

// The tools do what a model asks, and its errors are rows.
func TestToolsWorkInTheSandbox(t *testing.T) {
	t.Parallel()
	s := sandbox.New(map[string]sandbox.Opener{"local": sandbox.Local})
	testkit.Must(t, s.To("local", sandbox.Spec{Dir: t.TempDir()}))
	defer s.Close()
	tools, err := sandbox.Tools(s)
	testkit.Must(t, err)
	var got []string
	for _, c := range []struct{ name, arguments string }{
		{"write", `{"path":"a","content":"port = 8080"}`},
		{"read", `{"path":"a"}`},
		{"bash", `{"command":"cat a; exit 1"}`},
		{"read", `{"path":"b"}`},
	} {
		for _, tool := range tools {
			if tool.Name != c.name {
				continue
			}
			switch result, err := tool.Run(t.Context(), []byte(c.arguments)); r := result.(type) {
			case loop.Command:
				got = append(got, r.Stdout)
			case nil:
				got = append(got, loop.ErrorText(err))
			default:
				got = append(got, loop.Text(r))
			}
		}
	}
	testkit.Equal(t, "results", []string{
		`{"bytes_written": 11}`, `{"data": "port = 8080"}`, "port = 8080",
		`{"ok": false, "error_kind": "io", "message": "statat b: no such file or directory"}`,
	}, got)
}
