package interop_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core/display"
)

// judgeTimeout bounds one answer of a judge.
const judgeTimeout = time.Minute

// A judge is a process of an agent's own code. Its methods are safe for concurrent
// use; it handles one request at a time.
type judge struct {
	agent *agent
	mu    sync.Mutex
	cmd   *exec.Cmd
	in    io.Writer
	out   *bufio.Reader
	said  string // the file with its standard error
}

// newJudge starts a judge. It ends with the test.
func newJudge(tb testing.TB, a *agent) *judge {
	tb.Helper()
	home := tb.TempDir()
	script, err := filepath.Abs(filepath.Join("testdata", "judge.mjs"))
	if err != nil {
		tb.Fatal(err)
	}
	j := &judge{agent: a, cmd: exec.Command(a.node, "--expose-gc", script, a.module), said: filepath.Join(home, "stderr")}
	j.cmd.Dir = home
	j.cmd.Env = isolated(home)
	in, err := j.cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := j.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	errOut, err := os.Create(j.said)
	if err != nil {
		tb.Fatal(err)
	}
	defer errOut.Close() // the child has its own descriptor
	j.cmd.Stderr = errOut
	j.in, j.out = in, bufio.NewReaderSize(out, 1<<20)
	if err := j.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = j.cmd.Process.Kill() // fails only if the process is dead
		_ = j.cmd.Wait()
	})
	return j
}

// isolated returns the environment of an agent's process, with home and without the
// user's settings.
func isolated(home string) []string {
	return []string{
		"HOME=" + home,
		"PI_CODING_AGENT_DIR=" + filepath.Join(home, "agent"),
		"PI_OFFLINE=1",
		"PATH=" + os.Getenv("PATH"),
		"TMPDIR=" + os.TempDir(),
		"TZ=UTC",
	}
}

// ask sends a request and reads the answer into v.
func (j *judge) ask(tb testing.TB, v any, request map[string]any) {
	tb.Helper()
	if err := j.answer(v, request); err != nil {
		tb.Fatalf("%s, asked to %s: %v", j.agent, request["op"], err)
	}
}

func (j *judge) answer(v any, request map[string]any) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	b, err := json.Marshal(request)
	if err != nil {
		return err
	}
	tooLong := time.AfterFunc(judgeTimeout, func() { _ = j.cmd.Process.Kill() })
	defer tooLong.Stop()
	if _, err := j.in.Write(append(b, '\n')); err != nil {
		return j.dead(err)
	}
	line, err := j.out.ReadBytes('\n')
	if err != nil {
		return j.dead(err)
	}
	var a struct {
		OK    json.RawMessage
		Error string
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return err
	}
	if a.Error != "" {
		return fmt.Errorf("%s", a.Error)
	}
	return json.Unmarshal(a.OK, v)
}

// dead returns err with the last output of the process.
func (j *judge) dead(err error) error {
	b, _ := os.ReadFile(j.said) // the output is optional
	return fmt.Errorf("the process is dead, or took longer than %v: %w\n%.4000s", judgeTimeout, err, b)
}

// A reading is an agent's report of a file.
type reading struct {
	Session  string
	CWD      string
	Leaf     *string
	Name     *string
	IDs      []string
	Tree     []display.TreeNode
	Context  string            // digest of the context at the leaf
	Contexts map[string]string // digest of the context at each entry
}

func (j *judge) read(tb testing.TB, path string) reading {
	tb.Helper()
	var r reading
	j.ask(tb, &r, map[string]any{"op": "read", "path": path})
	return r
}

// context returns the context that the agent builds at leaf, or at the end if leaf is
// empty, as the agent encodes it.
func (j *judge) context(tb testing.TB, path, leaf string) []byte {
	tb.Helper()
	var b json.RawMessage
	j.ask(tb, &b, map[string]any{"op": "context", "path": path, "leaf": leaf})
	return b
}

// append makes the agent apply todo to the session in the file.
func (j *judge) append(tb testing.TB, path string, todo []step) {
	tb.Helper()
	var leaf *string
	j.ask(tb, &leaf, map[string]any{"op": "append", "path": path, "todo": todo})
}

// fork makes the agent write a file with the path to leaf, and returns its path.
func (j *judge) fork(tb testing.TB, path, leaf string) string {
	tb.Helper()
	var fork string
	j.ask(tb, &fork, map[string]any{"op": "fork", "path": path, "leaf": leaf})
	return fork
}
