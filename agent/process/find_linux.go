package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Find returns a process that runs the program called name, or 0. It prefers one
// whose working directory is in dirs, and ignores those in except. ok is false if
// the platform cannot tell.
func Find(name string, dirs []string, except map[int]bool) (pid int, ok bool) {
	return prefer(called(name, except), dirs), true
}

// called returns the processes that run the program called name.
func called(name string, except map[int]bool) (pids []int) {
	for _, pid := range processes() {
		if !except[pid] && isCalled(pid, name) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// prefer returns the first of pids that runs in one of dirs, else the first.
func prefer(pids []int, dirs []string) int {
	for _, pid := range pids {
		runsIn := func(dir string) bool { return SameDir(dir, fmt.Sprintf("/proc/%d/cwd", pid)) }
		if slices.ContainsFunc(dirs, runsIn) {
			return pid
		}
	}
	if len(pids) == 0 {
		return 0
	}
	return pids[0]
}

// isCalled reports whether a process is the program called name, or an
// interpreter that runs it.
func isCalled(pid int, name string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	for i, arg := range bytes.Split(line, []byte{0}) {
		base := filepath.Base(string(arg))
		if i < 2 && strings.TrimSuffix(base, filepath.Ext(base)) == name {
			return true
		}
	}
	return false
}

func processes() (pids []int) {
	names, _ := os.ReadDir("/proc")
	for _, name := range names {
		if pid, err := strconv.Atoi(name.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// StartID identifies a process among all that ever have its number: the boot ID of
// the system, and the clock ticks from boot to the start of the process. It does
// not depend on clocks, which can be set and differ between containers. It is
// empty if the system does not tell.
func StartID(pid int) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	fields := statFields(pid)
	const startTime = 22 - 3
	if err != nil || len(fields) <= startTime {
		return ""
	}
	return fmt.Sprintf("%s/%s", bytes.TrimSpace(boot), fields[startTime])
}

// isZombie reports whether a process has ended and its parent has not yet read its
// exit status.
func isZombie(pid int) bool {
	fields := statFields(pid)
	return len(fields) > 0 && (fields[0][0] == 'Z' || fields[0][0] == 'X')
}

// statFields returns the fields of /proc/PID/stat from the third on. The second is
// a name, which may contain spaces and parentheses.
func statFields(pid int) [][]byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
}
