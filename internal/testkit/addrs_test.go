package testkit_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

// holdEnv makes the test process a child that reserves many addresses until its
// input ends.
const holdEnv = "TESTKIT_HOLD_ADDRS"

func TestFreeAddrsAreReservedAcrossProcesses(t *testing.T) {
	if os.Getenv(holdEnv) != "" {
		for _, addr := range testkit.FreeAddrs(t, 400) {
			_, _ = os.Stdout.WriteString("addr " + addr + "\n")
		}
		_, _ = os.Stdout.WriteString("done\n")
		_, _ = os.Stdin.Read(make([]byte, 1))
		return
	}
	self, err := os.Executable()
	testkit.Must(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run", t.Name())
	cmd.Env = append(os.Environ(), holdEnv+"=1")
	in, err := cmd.StdinPipe()
	testkit.Must(t, err)
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	held := map[string]bool{}
	for s := bufio.NewScanner(out); s.Scan() && s.Text() != "done"; {
		if addr, ok := strings.CutPrefix(s.Text(), "addr "); ok {
			held[addr] = true
		}
	}
	if len(held) != 400 {
		t.Errorf("the other process reserved %d addresses, want 400", len(held))
	}
	for _, addr := range testkit.FreeAddrs(t, 400) {
		if held[addr] {
			t.Errorf("%s is reserved twice", addr)
		}
		held[addr] = true
	}
	testkit.Must(t, in.Close())
	testkit.Must(t, cmd.Wait())
}
