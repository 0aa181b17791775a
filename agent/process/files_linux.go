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

// maxTree bounds how many descendants of a process are examined.
const maxTree = 256

// OpenJSON returns the JSON files that a process or one of its descendants has
// open for writing. It returns nil if pid is 0 or the platform cannot tell.
func OpenJSON(pid int) []string {
	isJSON := func(path string) bool {
		return filepath.IsAbs(path) && strings.Contains(filepath.Base(path), ".json")
	}
	var paths []string
	for _, p := range tree(pid) {
		paths = append(paths, written(p, isJSON)...)
	}
	return paths
}

// Dirs returns the working directories of a process and its descendants. It returns
// nil if pid is 0 or the platform cannot tell.
func Dirs(pid int) []string {
	var dirs []string
	for _, p := range tree(pid) {
		dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p))
		if err == nil && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// WriterOf returns a process that has the file at path open for writing, or 0. It
// sees only processes that the user may inspect, and not this one.
func WriterOf(path string) int {
	for _, pid := range processes() {
		if pid != os.Getpid() && len(written(pid, func(open string) bool { return open == path })) > 0 {
			return pid
		}
	}
	return 0
}

// written returns the matching files that a process has open for writing.
func written(pid int, match func(path string) bool) (paths []string) {
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	for _, fd := range fds {
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name()))
		if err == nil && match(path) && isWritable(pid, fd.Name()) {
			paths = append(paths, path)
		}
	}
	return paths
}

func isWritable(pid int, fd string) bool {
	info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, fd))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(info, []byte("flags:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	flags, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 8, 64)
	return err == nil && flags&int64(os.O_WRONLY|os.O_RDWR) != 0
}

// tree returns a process and its descendants.
func tree(pid int) []int {
	if pid == 0 {
		return nil
	}
	pids := []int{pid}
	for i := 0; i < len(pids) && len(pids) < maxTree; i++ {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pids[i]))
		for _, task := range tasks {
			children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pids[i], task.Name()))
			for _, child := range bytes.Fields(children) {
				if p, err := strconv.Atoi(string(child)); err == nil {
					pids = append(pids, p)
				}
			}
		}
	}
	return pids
}
