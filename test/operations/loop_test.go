//go:build linux

package operations_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/modeltest"
	"github.com/sesslog/sesslog/test/e2e/harness"
	"github.com/sesslog/sesslog/test/operations/blocks"
)

// TestLoopPage types docs/LOOP.md: sessctl loop and the program of the page are killed
// in the middle of a call of a tool, and continue on another host and in another process.
func TestLoopPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a node and builds a program")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	page, err := blocks.Read("../../docs/LOOP.md")
	if err != nil {
		t.Fatal(err)
	}
	node := harness.StartNode(t)
	t.Run("commands", func(t *testing.T) {
		t.Parallel()
		typeLoop(t, node, page)
	})
	t.Run("program", func(t *testing.T) {
		t.Parallel()
		runLoopProgram(t, node, page)
	})
}

// scripted returns the URL of a server of OpenAI's API that gives replies in order.
func scripted(t *testing.T, replies ...loop.Reply) string {
	t.Helper()
	s := httptest.NewServer(modeltest.OpenAI.Script(replies...))
	t.Cleanup(s.Close)
	return s.URL
}

func calling(name, arguments string) loop.Reply {
	return loop.Reply{Finish: loop.FinishTools, Calls: []loop.Call{{ID: "c1", Name: name, Arguments: arguments}}}
}

func saying(text string) loop.Reply { return loop.Reply{Text: text, Finish: loop.FinishStop} }

// pipe makes a pipe that a command can wait for, until the test ends.
func pipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0) // does not wait
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
}

func typeLoop(t *testing.T, node *harness.Node, page []blocks.Block) {
	bin := filepath.Dir(harness.Binary(t, "sessctl"))
	harness.Binary(t, "sessmodel")
	url := scripted(t, calling("bash", `{"command":"touch started; cat gate"}`), saying("The port is in use."), saying("It starts now."))
	hosts, screens := map[string]*host{}, map[string]string{}
	for _, name := range []string{"desk", "couch"} {
		hosts[name] = newHost(t, name, "SESS_URL="+node.URL, "OPENAI_BASE_URL="+url, "OPENAI_API_KEY=k")
		hosts[name].types(t, 0, "export PATH="+bin+":$PATH\n")
	}
	desk := hosts["desk"]
	pipe(t, desk.path("gate"))
	id := "?"
	for _, step := range page {
		switch step.At {
		case "desk":
			desk.types(t, step.Line, strings.TrimSpace(step.Text)+" 2> log &\necho $! > pid\n")
			harness.Await(t, "the command runs", func() error {
				_, err := os.Stat(desk.path("started"))
				return err
			})
			desk.types(t, step.Line, "kill -9 $(cat pid)\n")
			_, rest, _ := strings.Cut(desk.read("log"), "session ")
			id, _, _ = strings.Cut(rest, "\n")
		case "couch":
			screens["couch"] += hosts["couch"].types(t, step.Line, strings.ReplaceAll(step.Text, "019a", id))
		}
	}
	if s := screens["couch"]; !strings.Contains(s, "The port is in use.") || !strings.Contains(s, "It starts now.") {
		t.Errorf("couch does not continue:\n%s", s)
	}
	if s := hosts["couch"].types(t, 0, "sessctl model-input "+id+"\n"); strings.Count(s, "interrupted") != 1 {
		t.Errorf("the model does not get one result of the call:\n%s", s)
	}
}

// loopProgram is the program of the page. The first process begins at loop.Start; the next
// one gets the id of the session.
const loopProgram = `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/openai"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	FIRST
		check(err)
		return
	}
	id := core.SessionID(os.Args[1])
	NEXT
	check(err)
	fmt.Println(result.Text)
}
`

func runLoopProgram(t *testing.T, node *harness.Node, page []blocks.Block) {
	dir := t.TempDir()
	text := loopProgram
	names := []string{"FIRST", "NEXT"}
	for _, b := range page {
		if b.Lang == "go" {
			text = strings.Replace(text, names[0], strings.ReplaceAll(b.Text, "http://127.0.0.1:7433", node.URL), 1)
			names = names[1:]
		}
	}
	text = strings.Replace(text, "l, err := loop.Start", "if len(os.Args) == 1 {\nl, err := loop.Start", 1)
	write(t, dir+"/main.go", text)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/agent", dir+"/main.go")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, text)
	}
	url := scripted(t, calling("read", `{"path":"server.toml"}`), saying("8080."))
	agent := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), dir+"/agent", args...)
		cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "OPENAI_BASE_URL="+url, "OPENAI_API_KEY=k"), os.Stderr
		return cmd
	}
	file := dir + "/server.toml"
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	first := agent()
	var out strings.Builder
	first.Stdout = &out
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, "the tool reads the file", func() error {
		f, err := os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0) // fails without a reader
		if err != nil {
			return err
		}
		defer f.Close()
		return first.Process.Kill()
	})
	_ = first.Wait() // it was killed
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	write(t, file, "port = 8080")
	b, err := agent(strings.TrimSpace(out.String())).Output()
	if err != nil || string(b) != "8080.\n" {
		t.Errorf("the next process prints %q, %v", b, err)
	}
}
