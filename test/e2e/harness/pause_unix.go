//go:build unix

package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Pause suspends the node with SIGSTOP until Continue. A paused node can be killed. On
// Linux all threads are stopped when Pause returns: on a busy machine that takes the
// kernel a while.
func (n *Node) Pause() {
	_ = n.process.signal(syscall.SIGSTOP)                                      // fails only if the process is dead
	_ = awaitFor(func() error { return standsStill(n.Pid()) }, n.process.done) // as above
}

// Continue resumes a paused node.
func (n *Node) Continue() { _ = n.process.signal(syscall.SIGCONT) } // fails only if the process is dead

// standsStill returns an error while a thread of a process runs, if the platform shows
// it.
func standsStill(pid int) error {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return err
	}
	for _, path := range tasks {
		stat, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		// The state follows the name, which is in parentheses.
		_, state, _ := bytes.Cut(stat, []byte(") "))
		if err != nil || !bytes.HasPrefix(state, []byte("T")) {
			return fmt.Errorf("a thread is not stopped: %q, %w", stat, err)
		}
	}
	return nil
}
