package process

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"golang.org/x/sys/unix"
)

// unique returns a program name that no other process has.
func unique(what string) string { return fmt.Sprintf("%s-of-%d", what, os.Getpid()) }

func TestRunningComparesTheStartOfTheProcess(t *testing.T) {
	t.Parallel()
	pid := testkit.StartProgram(t, "agent", t.TempDir())
	start := StartID(pid)
	boot, ticks, ok := strings.Cut(start, "/")
	if !ok || boot == "" || ticks == "" {
		t.Fatalf("StartID is %q", start)
	}
	for _, c := range []struct {
		name  string
		pid   int
		start string
		want  bool
	}{
		{"the same process", pid, start, true},
		{"unknown start", pid, "", true},
		{"reused number", pid, boot + "/1" + ticks, false},
		{"reboot", pid, "another-boot/" + ticks, false},
		{"no process", 0, start, false},
	} {
		if got := Running(c.pid, c.start); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestRunningIsFalseForZombies(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	pid := cmd.Process.Pid
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil { // leaves the zombie
		t.Fatal(err)
	}
	if Running(pid, StartID(pid)) || Running(pid, "") {
		t.Errorf("process %d counts as running", pid)
	}
}

func TestFindPrefersProcessesInTheGivenDirectories(t *testing.T) {
	t.Parallel()
	name, here, there := unique("anywhere"), t.TempDir(), t.TempDir()
	find := func(dirs []string, except map[int]bool) int {
		pid, ok := Find(name, dirs, except)
		if !ok {
			t.Fatal("Find cannot tell")
		}
		return pid
	}
	if pid := find(nil, nil); pid != 0 {
		t.Fatalf("before the start of any: process %d", pid)
	}
	far := testkit.StartProgram(t, name, there)
	if got := find([]string{here}, nil); got != far {
		t.Errorf("with one in another directory: process %d, want %d", got, far)
	}
	near := testkit.StartProgram(t, name, here)
	if got := find([]string{"", "/not/there", here}, nil); got != near {
		t.Errorf("with one in the directory: process %d, want %d", got, near)
	}
	if got := find([]string{here}, map[int]bool{near: true}); got != far {
		t.Errorf("without the one in the directory: process %d, want %d", got, far)
	}
	if got := find([]string{here}, map[int]bool{near: true, far: true}); got != 0 {
		t.Errorf("without both: process %d", got)
	}
}
