package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// agentIn returns the process of an agent that runs in one of dirs, or that runs
// for somebody else who does not let us see where; 0 for none. but are processes
// that do something else. known is false where it cannot be told how the agent's
// processes are called.
func agentIn(agent string, dirs []string, but map[int]bool) (pid int, known bool) {
	if openArgs(agent, "") == nil { // only of those it is known that they are programs
		return 0, false
	}
	var places []fs.FileInfo
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil {
			places = append(places, info)
		}
	}
	for _, pid := range processes() {
		if but[pid] || !isCalled(pid, agent) {
			continue
		}
		at, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
		same := func(place fs.FileInfo) bool { return err == nil && os.SameFile(at, place) }
		if errors.Is(err, fs.ErrPermission) || slices.ContainsFunc(places, same) {
			return pid, true
		}
	}
	return 0, true
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

// endedSince reports whether the process that had this number at t has ended: what
// has it now waits to be asked how it ended, or began later, by more than the
// system's notion of its own start may be wrong.
func endedSince(pid int, t time.Time) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	uptime, err2 := os.ReadFile("/proc/uptime")
	if err != nil || err2 != nil {
		return false
	}
	_, rest, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(" "))
	fields := bytes.Fields(rest) // from the third on
	if len(fields) < 20 || len(bytes.Fields(uptime)) == 0 {
		return false
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return true
	}
	ticks, err := strconv.ParseFloat(string(fields[19]), 64) // since the system began
	up, err2 := strconv.ParseFloat(string(bytes.Fields(uptime)[0]), 64)
	if err != nil || err2 != nil {
		return false
	}
	const ticksPerSecond, doubt = 100, time.Minute
	age := time.Duration((up - ticks/ticksPerSecond) * float64(time.Second))
	return time.Now().Add(-age).After(t.Add(doubt))
}
