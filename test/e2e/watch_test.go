package e2e_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// An agent keeps writing while sessctl watch and the node are killed and restarted.
// In the end the log has every line of the file.
func TestWatchSurvivesKills(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	dir := host.Path(".pi", "agent", "sessions", "--w--") // the sessions directory of pi
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const id = "0199aaaa-0000-7000-8000-000000000001"
	path := filepath.Join(dir, "2026-01-02T03-04-05-678Z_"+id+".jsonl")
	data, n := "", 0
	say := func(line string) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
		data += line + "\n"
	}
	talk := func(lines int) {
		for range lines {
			parent := "null"
			if n > 0 {
				parent = fmt.Sprintf(`"e%d"`, n-1)
			}
			say(fmt.Sprintf(`{"type":"message","id":"e%d","parentId":%s,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"x","timestamp":1}}`, n, parent))
			n++
		}
	}
	watch := func() *exec.Cmd {
		cmd := host.Command(harness.Timeout(t), t, "watch")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	inLog := func() error { return holds(t, node, id, data) }
	kill := func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}

	w := watch()
	say(`{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}`)
	talk(5)
	harness.Await(t, "the first lines", inLog)
	talk(5)
	kill(w)
	talk(5)
	node.Kill()
	w = watch()
	talk(5)
	node.Start(t)
	harness.Await(t, "what was written meanwhile", inLog)
	talk(5)
	if err := w.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); err != nil {
		t.Errorf("watch ended with %v", err)
	}
	host.Do(t, "watch", "--once") // in case five seconds are not enough
	if err := inLog(); err != nil {
		t.Error(err)
	}
	intact(t, node.Client(), id)
}

func TestNodeFollowsFilesOfAgents(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not-there-yet", "sessions")
	node := harness.StartNode(t, "--watch-roots", dir)
	const id = "0199aaaa-0000-7000-8000-000000000002"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	data := `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}` + "\n"
	testkit.WriteFile(t, filepath.Join(dir, "a.jsonl"), []byte(data))
	harness.Await(t, "the session", func() error { return holds(t, node, id, data) })
}

// holds returns an error unless the session is byte-identical to data.
func holds(t *testing.T, node *harness.Node, id, data string) error {
	r, err := node.Client().Export(t.Context(), id, false)
	if err != nil {
		return err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err == nil && string(b) != data {
		err = fmt.Errorf("the log has %d bytes, the file %d", len(b), len(data))
	}
	return err
}
