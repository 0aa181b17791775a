package testkit

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// StartProgram starts a program called name in dir and returns its process id. It
// runs until the test ends.
func StartProgram(t testing.TB, name, dir string) int {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(shell, path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-c", "echo ready; read line")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	bufio.NewScanner(out).Scan()
	return cmd.Process.Pid
}
