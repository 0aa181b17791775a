package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// The difference between a reader's terminal and the test: the programs are built
// already, the address is free, and the script waits for the node instead of sleeping
// a second.
const prelude = `
go() { case "$1" in
run) shift 2; bin/sessctl "$@" ;;
build) : ;;
esac; }
sleep() { until bin/sessctl status >status 2>&1; do command sleep 0.05; done; }
kill() { command kill "$@"; for last; do :; done; wait "$last" || :; }
trap 'command kill -9 ${!:-} 2>/dev/null || :' EXIT
`

// The blocks of the README run as printed, line by line.
func TestReadmeBlocks(t *testing.T) {
	t.Parallel()
	readme := testkit.ReadFile(t, filepath.Join("..", "..", "README.md"))
	blocks := shellBlocks(string(readme))
	if len(blocks) != 2 {
		t.Fatalf("the README has %d blocks of commands, this test knows two", len(blocks))
	}

	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	out := typed(t, host, blocks[0])
	for _, want := range []string{"hello-2026", "a1b2c3d4", "Port 8080.", "And the admin page?"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output of the first block lacks %q:\n%s", want, out)
		}
	}
	went, back := string(testkit.ReadFile(t, host.Path("hello.jsonl"))), string(testkit.ReadFile(t, host.Path("back.jsonl")))
	if !strings.HasPrefix(back, went) || !strings.Contains(back, "And the admin page?") {
		t.Errorf("back.jsonl differs from hello.jsonl with the appended line:\n%s", back)
	}
	resumed, err := filepath.Glob(host.Path("elsewhere", "*hello-2026.jsonl"))
	if err != nil || len(resumed) != 1 || string(testkit.ReadFile(t, resumed[0])) != back {
		t.Errorf("resume left %v, %v", resumed, err)
	}

	// The second block starts its own node.
	addr := testkit.FreeAddrs(t, 1)[0]
	own := &harness.Host{Dir: t.TempDir(), URL: "http://" + addr, Env: []string{"SESS_LISTEN=" + addr}}
	out = typed(t, own, blocks[1])
	if strings.Count(out, "sessnode ready: ") != 2 || !strings.Contains(out, "Is this safe?") {
		t.Errorf("the second block prints:\n%s", out)
	}
	resumed, err = filepath.Glob(own.Path("elsewhere", "*kill-me-2026.jsonl"))
	if err != nil || len(resumed) != 1 || !strings.Contains(string(testkit.ReadFile(t, resumed[0])), "Is this safe?") {
		t.Errorf("resume left %v, %v", resumed, err)
	}
}

// shellBlocks returns the blocks between ```sh and ```.
func shellBlocks(text string) []string {
	var blocks []string
	for _, part := range strings.Split(text, "\n```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		blocks = append(blocks, block+"\n")
	}
	return blocks
}

// typed runs a block of commands and returns its output. Every command must succeed.
func typed(t *testing.T, host *harness.Host, block string) string {
	t.Helper()
	if err := os.Mkdir(host.Path("bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sessctl", "sessnode"} {
		if err := os.Symlink(harness.Binary(t, name), host.Path("bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.WaitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", prelude+block)
	cmd.Dir = host.Dir
	cmd.Env = host.Environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, block, out)
	}
	return string(out)
}
