package agent

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/internal/testkit"
)

// A testDirs is an agent's sessions directory and its working directory.
type testDirs struct {
	t    *testing.T
	root string // the sessions directory
	work string // the working directory
}

func newTestDirs(t *testing.T) testDirs {
	t.Helper()
	dir := t.TempDir()
	p := testDirs{t, filepath.Join(dir, "sessions"), filepath.Join(dir, "work")}
	for _, d := range []string{p.root, p.work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// write appends to a file below the root, and creates it if necessary.
func (p testDirs) write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func header(id, cwd string) string {
	at, _ := json.Marshal(cwd)
	return `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-01-05T09:00:00.000Z","cwd":` + string(at) + "}\n"
}

const aLine = `{"type":"message","id":"a1b2c3d4","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"hello"}}` + "\n"

func (p testDirs) finder(argv ...string) *finder {
	return newFinder([]follow.Root{{Path: p.root, Dialect: "pi"}}, p.work, append([]string{"pi"}, argv...))
}

func wantFound(t *testing.T, f *finder, pid int, want ...string) {
	t.Helper()
	var got []string
	for _, file := range f.scan(pid) {
		got = append(got, file.path)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestFinderFindsFilesOfTheWorkingDirectoryThatChange(t *testing.T) {
	t.Parallel()
	p := newTestDirs(t)
	old := p.write("d/old.jsonl", header("session-old", p.work)+aLine)
	p.write("d/quiet.jsonl", header("session-quiet", p.work)+aLine)
	p.write("e/other.jsonl", header("session-other", "/somewhere/else")+aLine)
	f := p.finder()
	wantFound(t, f, 0)

	p.write("d/old.jsonl", aLine)                                          // grows
	fresh := p.write("new/fresh.jsonl", header("session-fresh", p.work))   // is new
	p.write("e/other.jsonl", aLine)                                        // grows elsewhere
	p.write("e/another.jsonl", header("session-another", "/another/home")) // is new elsewhere
	p.write("d/notes.txt", "no session")
	p.write("d/.hidden.jsonl", header("session-hidden", p.work))
	wantFound(t, f, 0, old, fresh)
	wantFound(t, f, 0) // each once
	p.write("e/other.jsonl", aLine)
	p.write("d/old.jsonl", aLine)
	wantFound(t, f, 0)
}

func TestFinderWaitsForACompleteHeader(t *testing.T) {
	t.Parallel()
	p := newTestDirs(t)
	f := p.finder()
	whole := header("session-slow", p.work)
	p.write("slow.jsonl", "")
	wantFound(t, f, 0)
	p.write("slow.jsonl", whole[:40])
	wantFound(t, f, 0)
	path := p.write("slow.jsonl", whole[40:])
	wantFound(t, f, 0, path)
}

func TestFinderResolvesLinksToTheWorkingDirectory(t *testing.T) {
	t.Parallel()
	p := newTestDirs(t)
	link := filepath.Join(filepath.Dir(p.work), "link")
	if err := os.Symlink(p.work, link); err != nil {
		t.Fatal(err)
	}
	f := p.finder()
	path := p.write("linked.jsonl", header("session-linked", link))
	wantFound(t, f, 0, path)
}

func TestFinderTakesFilesThatArgumentsName(t *testing.T) {
	t.Parallel()
	p := newTestDirs(t)
	elsewhere := filepath.Join(filepath.Dir(p.work), "elsewhere")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	named := p.write("../elsewhere/named.jsonl", header("session-named", "/gone"))
	byName := p.finder("--session", "../elsewhere/named.jsonl")
	byFlag := p.finder("--session-dir=" + elsewhere)
	wantFound(t, byName, 0)
	p.write("../elsewhere/named.jsonl", aLine)
	wantFound(t, byName, 0, named)
	wantFound(t, byFlag, 0) // another agent's
	fresh := p.write("../elsewhere/fresh.jsonl", header("session-fresh", p.work))
	wantFound(t, byFlag, 0, fresh)
}

func TestFinderFindsFilesOfSubagents(t *testing.T) {
	t.Parallel()
	p := newTestDirs(t)
	f := p.finder()
	main := p.write("d/main.jsonl", header("session-main", p.work))
	wantFound(t, f, 0, main)
	sub := p.write("d/main/Sub.jsonl", header("session-sub", "/tmp/worktree"))
	wantFound(t, f, 0, sub)
	all := []Result{{Path: main}, {Path: sub}}
	if all[0].IsSubagent(all) || !all[1].IsSubagent(all) {
		t.Error("IsSubagent does not tell the subagent from its agent")
	}
}

// A file that a process of the agent has open for writing is the agent's, wherever
// it is. A file that it only reads is not.
func TestFinderFindsFilesThatTheAgentHasOpen(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("open files are known on Linux only")
	}
	p := newTestDirs(t)
	written := p.write("../work/written.jsonl", header("session-written", "/gone"))
	read := p.write("../work/read.jsonl", header("session-read", "/gone"))
	p.write("../work/data.jsonl", `{"some":"data"}`+"\n")
	f := p.finder()
	// A shell whose child has them open.
	cmd := exec.Command("sh", "-c", `sh -c 'echo ready; read line'; true`)
	cmd.Dir = p.work
	in, err := os.Open(read)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, name := range []string{written, filepath.Join(p.work, "data.jsonl")} {
		h, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, h)
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, in)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	wantFound(t, f, cmd.Process.Pid, written)
	wantFound(t, f, cmd.Process.Pid)
	_ = stdin.Close()
	_ = cmd.Wait() // its exit status does not matter
}

func TestFinderFollowsAgentToAnotherDirectory(t *testing.T) {
	t.Parallel()
	p := newTestDirs(t)
	moved := t.TempDir()
	f := p.finder()
	path := p.write("moved.jsonl", header("session-moved", moved)+aLine)
	p.write("other.jsonl", header("session-other", "/somewhere/else")+aLine)
	wantFound(t, f, 0) // it is like a file of another agent
	f.addDir(moved)
	wantFound(t, f, 0, path)

	p = newTestDirs(t)
	f = p.finder("--cwd", moved)
	wantFound(t, f, 0, p.write("moved.jsonl", header("session-moved", moved)+aLine))
}

// An agent that changes its directory says so nowhere, and may end before a second
// look.
func TestFinderReadsTheDirectoryOfTheProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("this platform does not tell where processes work")
	}
	p := newTestDirs(t)
	moved := t.TempDir()
	f := p.finder()
	agent := exec.Command("sleep", "60")
	agent.Dir = moved
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	wantFound(t, f, agent.Process.Pid)
	_ = agent.Process.Kill()
	_ = agent.Wait()
	wantFound(t, f, 0, p.write("moved.jsonl", header("session-moved", moved)+aLine))
}

func TestFinderExpectsOmpOutsideOfTheHome(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	if got := ompDir(env, t.TempDir()); got != "" {
		t.Errorf("outside of the home omp moves to %q", got)
	}
	tmp := filepath.Join(home, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := ompDir(env, home); got != tmp {
		t.Errorf("omp moves to %q, want %q", got, tmp)
	}
}

// A file whose first lines could not be read is read again when the agent has ended,
// even if its size and time are the same.
func TestLastScanReadsUnchangedFilesAgain(t *testing.T) {
	t.Parallel()
	p := newTestDirs(t)
	f := p.finder()
	path := p.write("d/slow.jsonl", "\x00\x00\x00\n")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	wantFound(t, f, os.Getpid())
	whole := header("session-slow", p.work)
	f.seen[path] = fileMark{int64(len(whole)), info.ModTime()}
	testkit.WriteFile(t, path, []byte(whole))
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	wantFound(t, f, 0, path)
}
