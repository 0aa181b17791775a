//go:build unix

package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/loop/sandbox"
)

// TestMain makes this program a double of Docker's client, if its first argument is one
// of that client's commands.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") {
		os.Exit(m.Run())
	}
	switch args := os.Args[2:]; os.Args[1] {
	case "run":
		os.Exit(dockerRun(args))
	case "rm":
		dockerRemove(args[len(args)-1])
	}
}

// dockerRun runs the command of a container as a group of processes.
func dockerRun(args []string) int {
	flags, env := map[string]string{}, []string{"PATH=" + os.Getenv("PATH")}
	sh := ""
	for len(args) > 0 && strings.HasPrefix(args[0], "--") {
		if args[0] == "--rm" || args[0] == "--init" {
			args = args[1:]
			continue
		}
		flag, value := args[0], args[1]
		flags[flag] = value
		args = args[2:]
		limit, n, _ := strings.Cut(value, "=")
		switch {
		case flag == "--env":
			env = append(env, value)
		case limit == "cpu":
			sh += "ulimit -t " + n + "\n"
		case limit == "fsize":
			bytes, _ := strconv.Atoi(n) // the tests know numbers
			sh += fmt.Sprintf("ulimit -f %d\n", bytes/512)
		}
	}
	if len(args) != 3 || args[0] != "busybox" || args[1] != "-c" {
		fmt.Fprintf(os.Stderr, "unknown image or command %q\n", args)
		return 125
	}
	c := exec.Command(flags["--entrypoint"], "-c", sh+args[2])
	c.Dir, c.Env, c.Stdout, c.Stderr = flags["--workdir"], env, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	pid := filepath.Join(os.TempDir(), flags["--name"])
	_ = os.WriteFile(pid, []byte(strconv.Itoa(c.Process.Pid)), 0o600) // or no test passes
	err := c.Wait()
	dockerRemove(flags["--name"])
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !exit.Exited() {
		return 137
	}
	return c.ProcessState.ExitCode()
}

func dockerRemove(name string) {
	file := filepath.Join(os.TempDir(), name)
	b, err := os.ReadFile(file)
	if err != nil {
		return
	}
	os.Remove(file)
	if pid, err := strconv.Atoi(string(b)); err == nil {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // as a rule nothing is left
	}
}

func TestContainersThatDoNotStartAreErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := sandbox.Container{Image: "none", Program: os.Args[0]}.Open(t.Context(), sandbox.Spec{Dir: dir})
	testkit.Must(t, err)
	defer b.Close()
	if c, err := b.Run(t.Context(), "true"); err == nil || !strings.Contains(err.Error(), "unknown image") {
		t.Errorf("result %+v, error %v", c, err)
	}
	for _, c := range []sandbox.Container{{Image: "busybox", Program: "/does/not/exist"}, {Image: "busybox", Program: "false"}} {
		if _, err := c.Open(t.Context(), sandbox.Spec{Dir: dir}); err == nil {
			t.Errorf("%s was opened", c.Program)
		}
	}
	comma := filepath.Join(dir, "a,b")
	testkit.Must(t, os.Mkdir(comma, 0o700))
	if _, err := (sandbox.Container{Image: "busybox", Program: os.Args[0]}).Open(t.Context(), sandbox.Spec{Dir: comma}); err == nil {
		t.Error("a directory was opened that cannot be mounted")
	}
}
