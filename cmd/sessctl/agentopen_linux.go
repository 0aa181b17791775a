package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// openedBy returns the files that a process, or one that it has started, has
// open for writing. Where the system does not say, there are none.
func openedBy(pid int) []string {
	var paths []string
	for _, p := range processTree(pid) {
		fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p))
		for _, fd := range fds {
			path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", p, fd.Name()))
			if err == nil && filepath.IsAbs(path) && strings.Contains(filepath.Base(path), ".json") && isWritten(p, fd.Name()) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// isWritten reports whether a file is open for writing.
func isWritten(pid int, fd string) bool {
	info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, fd))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(info, []byte("flags:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	flags, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 8, 64)
	return err == nil && flags&int64(os.O_WRONLY|os.O_RDWR) != 0
}

// maxProcesses bounds how much of an agent's processes is looked at.
const maxProcesses = 256

// processTree is a process and those that it has started.
func processTree(pid int) []int {
	if pid == 0 {
		return nil
	}
	tree := []int{pid}
	for i := 0; i < len(tree) && len(tree) < maxProcesses; i++ {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", tree[i]))
		for _, task := range tasks {
			children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", tree[i], task.Name()))
			for _, child := range bytes.Fields(children) {
				if p, err := strconv.Atoi(string(child)); err == nil {
					tree = append(tree, p)
				}
			}
		}
	}
	return tree
}
