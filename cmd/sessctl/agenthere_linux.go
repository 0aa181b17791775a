package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// agentIn returns a process of the agent's, 0 where none is left; one that runs in
// one of dirs, if there is. An agent goes on with a session from wherever it is
// started, so where a process runs says only which is the likeliest. but are
// processes that do something else. known is false where it cannot be told how the
// agent's processes are called.
func agentIn(agent string, dirs []string, but map[int]bool) (pid int, known bool) {
	if openArgs(agent, "") == nil { // only of those it is known that they are programs
		return 0, false
	}
	return likeliest(called(agent, but), dirs), true
}

// called are the processes of that name, without those in but.
func called(name string, but map[int]bool) (pids []int) {
	for _, pid := range processes() {
		if !but[pid] && isCalled(pid, name) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// likeliest returns the first of pids that runs in one of dirs, else the first, 0
// where there is none.
func likeliest(pids []int, dirs []string) int {
	for _, pid := range pids {
		runsIn := func(dir string) bool { return samePlace(dir, fmt.Sprintf("/proc/%d/cwd", pid)) }
		if slices.ContainsFunc(dirs, runsIn) {
			return pid
		}
	}
	if len(pids) == 0 {
		return 0
	}
	return pids[0]
}

// isCalled reports whether a process is the program of that name, or an
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

// writerOf is a process that has the file at path open for writing, 0 for none that
// may be seen.
func writerOf(path string) int {
	for _, pid := range processes() {
		fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		for _, fd := range fds {
			to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name()))
			if err == nil && to == path && pid != os.Getpid() && isWritten(pid, fd.Name()) {
				return pid
			}
		}
	}
	return 0
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

// startOf tells a process from all others that ever have its number: which start of
// the system it is of, and how many ticks after that it began. Clocks have no part
// in it: they are set, stand still with a machine, and differ between containers.
// It is empty where the system does not say.
func startOf(pid int) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	fields := statOf(pid)
	const startTime = 22 - 3
	if err != nil || len(fields) <= startTime {
		return ""
	}
	return fmt.Sprintf("%s/%s", bytes.TrimSpace(boot), fields[startTime])
}

// isZombie reports whether a process has ended and waits to be asked how.
func isZombie(pid int) bool {
	fields := statOf(pid)
	return len(fields) > 0 && (fields[0][0] == 'Z' || fields[0][0] == 'X')
}

// statOf are the fields of /proc/PID/stat from the third on. The second is a name,
// which may have blanks and parentheses in it.
func statOf(pid int) [][]byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
}
