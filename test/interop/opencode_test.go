//go:build unix

package interop_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/agent/eventdb"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// opencodeCLI returns the program of opencode, or skips the test.
func opencodeCLI(tb testing.TB) string {
	tb.Helper()
	return published(tb, "opencode-1.18.33", func(dir string) string {
		for _, name := range []string{"opencode-*-baseline", "opencode-*"} { // a baseline runs on any processor
			found, _ := filepath.Glob(filepath.Join(dir, "node_modules", name, "bin", "opencode"))
			if len(found) > 0 {
				return found[0]
			}
		}
		return ""
	}, "opencode-ai@1.18.33")
}

// An opencodeHost is a host on which a user runs opencode in a project.
type opencodeHost struct {
	*harness.Host
	program, project string
}

func newOpencodeHost(t *testing.T, n *harness.Node, program, project string, m *chatModel) *opencodeHost {
	t.Helper()
	h := &opencodeHost{Host: harness.NewHost(t, n), program: program}
	h.project = h.Path(project)
	bin := h.Path("bin")
	for _, dir := range []string{h.project, bin} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(program, filepath.Join(bin, "opencode")); err != nil { // sessctl resume starts its server
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{
		"provider": map[string]any{"fake": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": map[string]any{"baseURL": m.URL + "/v1", "apiKey": "x"},
			"models": map[string]any{"f1": map[string]any{
				"name": "f1", "reasoning": true, "attachment": true, "limit": map[string]any{"context": 100_000, "output": 8000},
				"modalities": map[string]any{"input": []string{"text", "image"}, "output": []string{"text"}},
			}},
		}},
		"permission": map[string]any{"*": "allow"}, "autoupdate": false, "share": "disabled",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"DATA", "CONFIG", "STATE", "CACHE"} {
		h.Env = append(h.Env, "XDG_"+kind+"_HOME="+h.Path("xdg", strings.ToLower(kind)))
	}
	h.Env = append(h.Env, "OPENCODE_CONFIG_CONTENT="+string(config), "PATH="+bin+":"+os.Getenv("PATH"), "SHELL=/bin/bash",
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_PURE=1", "OPENCODE_DISABLE_AUTOUPDATE=1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD=1", "npm_config_offline=true", "npm_config_registry=http://127.0.0.1:9/", "npm_config_fetch_retries=0",
		"HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost")
	return h
}

// opencodeRun is the agent's command line for one turn, without the prompt.
func (h *opencodeHost) opencodeRun() []string {
	return []string{h.program, "run", "--model", "fake/f1"}
}

func (h *opencodeHost) sessctl(t *testing.T, args ...string) harness.Result {
	t.Helper()
	return runsIn(t, h.project, h.Command(agentTimeout(t), t, args...))
}

// resumes asks the next question without sessctl, in a copy of the agent's data.
func (h *opencodeHost) resumes(t *testing.T, id string) {
	t.Helper()
	data := t.TempDir()
	if err := os.CopyFS(data, os.DirFS(h.Path("xdg", "data"))); err != nil {
		t.Fatal(err)
	}
	line := append(h.opencodeRun(), "--session", id, "next")
	cmd := exec.CommandContext(agentTimeout(t), line[0], line[1:]...)
	cmd.Env = append(h.Environ(), "XDG_DATA_HOME="+data)
	if r := runsIn(t, h.project, cmd); r.Code != 0 {
		t.Fatalf("the agent: %s", r)
	}
}

// runsIn runs a command in a directory.
func runsIn(t *testing.T, dir string, cmd *exec.Cmd) harness.Result {
	t.Helper()
	cmd.Dir = dir
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return harness.Result{Out: out.String(), Err: errs.String(), Code: cmd.ProcessState.ExitCode()}
}

// An opencodeCase is what happens in a session before it is resumed on another host.
type opencodeCase struct {
	script  []chatAnswer
	prompts []string // one turn each
	image   bool     // the first prompt has an image
	fork    bool     // the last prompt goes to a fork
	kill    bool     // the agent is killed while it waits for the last answer
	holds   string   // what the request has if the case has happened
}

// whenStored waits until the agent's database has a call that is being run. What the
// agent writes last is in the file beside the database.
const whenStored = `until grep -qas '"status":"running"' "$XDG_DATA_HOME"/opencode/opencode.db*; do sleep 0.05; done; `

var opencodeCases = map[string]opencodeCase{
	"tools": {
		holds:   `exit 3`,
		prompts: []string{"use", "again"},
		script: []chatAnswer{
			{says: "I look.", calls: []chatCall{runsShell("echo forty-two")}},
			{says: "It is forty-two."},
			{calls: []chatCall{runsShell("exit 3")}},
			{says: "It failed."},
		},
	},
	"parallel tools": {
		holds:   `/does/not/exist`,
		prompts: []string{"use"},
		script: []chatAnswer{
			{calls: []chatCall{runsShell("sleep 0.3; echo one"), runsShell("echo two"), {"read", map[string]any{"filePath": "/does/not/exist"}}}},
			{says: "Done."},
		},
	},
	"thinking": {
		holds:   `Hm.`,
		prompts: []string{"think"},
		script:  []chatAnswer{{thinks: "Hm.", says: "Thought."}},
	},
	"image": {
		holds:   `data:image/png;base64,`,
		prompts: []string{"see"},
		script:  []chatAnswer{{says: "A dot."}},
		image:   true,
	},
	"sub-agent": {
		holds:   `I looked around.`,
		prompts: []string{"delegate"},
		script: []chatAnswer{
			{calls: []chatCall{{"task", map[string]any{"description": "look", "prompt": "look around", "subagent_type": "general"}}}},
			{calls: []chatCall{runsShell("echo below")}},
			{says: "I looked around."},
			{says: "It looked around."},
		},
	},
	"compaction": {
		holds:   `The number is forty-two.`,
		prompts: []string{"remember", "recall"},
		script: []chatAnswer{
			{says: "I remember forty-two.", tokens: 99_000},
			{says: "The number is forty-two."}, // the summary
		},
	},
	"fork": {
		holds:   `Something else.`,
		prompts: []string{"say", "else"},
		script:  []chatAnswer{{says: "Something."}, {says: "Something else."}},
		fork:    true,
	},
	"error": {
		holds:   `Something.`,
		prompts: []string{"say", "fail"},
		script:  []chatAnswer{{says: "Something."}, {status: 400}},
	},
	"interruption": {
		holds:   `call_1_0`,
		prompts: []string{"wait"},
		script:  []chatAnswer{{says: "I wait.", calls: []chatCall{runsShell(whenStored + "kill -INT $PPID; sleep 30")}}},
	},
	"killed in a stream": {
		holds:   `more`,
		prompts: []string{"say", "more"},
		script:  []chatAnswer{{says: "Something."}, {thinks: "More.", says: "More, and", hang: true}},
		kill:    true,
	},
	"killed in a tool": {
		holds:   `call_1_0`,
		prompts: []string{"wait"},
		script:  []chatAnswer{{says: "I wait.", calls: []chatCall{runsShell(whenStored + "kill -9 $PPID; sleep 5")}}},
	},
}

// The table of TestClaudeResumesRequestIdentical for opencode. The messages of B's
// first request are those that A would have sent. What is imported is the list of the
// events that A's database has.
func TestOpencodeResumesRequestIdentical(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("opencode needs seconds of processor time for each start: -long is not set")
	}
	program := opencodeCLI(t)
	imports := harness.StartNode(t)
	for name, c := range opencodeCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := harness.StartNode(t)
			m := newChatModel(t, c.script...)
			a := newOpencodeHost(t, node, program, "project a", m)
			id := a.works(t, m, c)
			a.resumes(t, id)
			want := m.last(t)
			if all := chatOf(want, a); !strings.Contains(all, c.holds) {
				t.Errorf("the request does not have %q: %s", c.holds, all)
			}
			b := newOpencodeHost(t, imports, program, "imported/to", m)
			b.imports(t, a, "")
			hosts := map[string]*opencodeHost{"import": b, "run": newOpencodeHost(t, node, program, "else where/é", m)}
			if name == "tools" {
				shorter := newOpencodeHost(t, harness.StartNode(t), program, "project b", m)
				shorter.imports(t, a, "It is forty-two.")
				hosts["a line is missing"] = shorter
			}
			for _, gone := range []string{a.Path("xdg"), a.project} {
				if err := os.RemoveAll(gone); err != nil {
					t.Fatal(err)
				}
			}
			for by, b := range hosts {
				t.Run(by, func(t *testing.T) {
					r := b.next(t, "next", id)
					if by == "a line is missing" {
						if r.Code == 0 && chatOf(want, a, b) == chatOf(m.last(t), a, b) {
							t.Error("a request without a line is taken for the whole")
						}
						return
					}
					if r.Code != 0 || !strings.Contains(r.Err, "is in the log, head main") {
						t.Fatalf("sessctl resume: %s", r)
					}
					if want, got := chatOf(want, a, b), chatOf(m.last(t), a, b); want != got {
						t.Errorf("the requests differ: %s", differ([]byte(got), []byte(want)))
					}
				})
			}
		})
	}
}

// works does what happens in a case, and returns the session's id.
func (h *opencodeHost) works(t *testing.T, m *chatModel, c opencodeCase) (id string) {
	t.Helper()
	for i, prompt := range c.prompts {
		line := append([]string{"run", "--"}, h.opencodeRun()...)
		if id != "" {
			line = append(line, "--session", id)
		}
		last := i == len(c.prompts)-1
		if last && c.fork {
			line = append(line, "--fork")
		}
		if c.image && i == 0 {
			line = append(line, "--file", h.picture(t), "--")
		}
		cmd := h.Command(agentTimeout(t), t, append(line, prompt)...)
		if c.kill && last {
			go func() {
				<-m.hangs
				killChildren(cmd.Process.Pid)
			}()
		}
		id = loggedBy(t, runsIn(t, h.project, cmd))
	}
	return id
}

// next resumes a session with the next prompt. The flags are those of sessctl resume.
func (h *opencodeHost) next(t *testing.T, prompt, id string, flags ...string) harness.Result {
	t.Helper()
	line := append(append([]string{"resume", id, "--cwd", h.project}, flags...), "--")
	return h.sessctl(t, append(append(line, h.opencodeRun()...), prompt)...)
}

// events returns the events that the agent's database has, by session.
func (h *opencodeHost) events(t *testing.T) map[string][]string {
	t.Helper()
	db := eventdb.At(h.Path("xdg", "data", "opencode", "opencode.db"))
	defer db.Close()
	sessions, err := db.Sessions(t.Context())
	if err != nil || len(sessions) == 0 {
		t.Fatalf("sessions are %v, %v", sessions, err)
	}
	all := map[string][]string{}
	for id, last := range sessions {
		for at := int64(0); at <= last; {
			events, err := db.Events(t.Context(), id, at, eventdb.Limit)
			if err != nil || len(events) == 0 {
				t.Fatalf("events of %s from %d: %v", id, at, err)
			}
			for _, ev := range events {
				all[id] = append(all[id], string(ev.JSON))
			}
			at = events[len(events)-1].Seq + 1
		}
	}
	return all
}

// imports imports the events of another host, a list for each session, but those with
// the text without.
func (h *opencodeHost) imports(t *testing.T, from *opencodeHost, without string) {
	t.Helper()
	dir := t.TempDir()
	for id, list := range from.events(t) {
		if without != "" {
			list = slices.DeleteFunc(list, func(ev string) bool { return strings.Contains(ev, without) })
		}
		err := os.MkdirAll(filepath.Join(dir, id), 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, id, "events.json"), []byte("["+strings.Join(list, ",")+"]"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if r := h.Sessctl(t, "import", dir); r.Code != 0 {
		t.Fatalf("sessctl import: %s", r)
	}
}

// picture makes a picture of one dot.
func (h *opencodeHost) picture(t *testing.T) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(h.project, "dot.png")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// chatOf returns the messages of a request without what depends on the host: the
// system's, and directories.
func chatOf(messages []map[string]any, hosts ...*opencodeHost) string {
	var text strings.Builder
	for _, m := range messages {
		if m["role"] == "system" {
			continue
		}
		b, _ := json.Marshal(m) // it was JSON
		fmt.Fprintf(&text, "%s\n", b)
	}
	s := text.String()
	for _, h := range hosts {
		s = strings.NewReplacer(h.project, "PROJECT", h.Dir, "HOME").Replace(s)
	}
	return s
}
