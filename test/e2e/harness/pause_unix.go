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

// Pause stops the node where it is, as a machine that sleeps does, until
// Continue. A paused node can be killed. On Linux it stands when Pause returns: to
// stop takes as long as it takes until the kernel next looks at each of its threads,
// and on a busy machine they go on meanwhile.
func (n *Node) Pause() {
	_ = n.process.signal(syscall.SIGSTOP)                                                // it fails only for the dead
	_ = awaitFor(Patience, func() error { return standsStill(n.Pid()) }, n.process.done) // as above
}

// Continue has a paused node go on.
func (n *Node) Continue() { _ = n.process.signal(syscall.SIGCONT) } // it fails only for the dead

// standsStill returns an error while a thread of a process runs, as far as there is a
// way to tell.
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
		// The state is behind the name, which is in brackets.
		_, state, _ := bytes.Cut(stat, []byte(") "))
		if err != nil || !bytes.HasPrefix(state, []byte("T")) {
			return fmt.Errorf("a thread is not stopped: %q, %w", stat, err)
		}
	}
	return nil
}
