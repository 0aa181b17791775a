//go:build unix

package interop_test

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// codexCLI returns the program of Codex, or skips the test.
func codexCLI(tb testing.TB) string {
	tb.Helper()
	return published(tb, "codex-0.169.0", func(dir string) string {
		found, _ := filepath.Glob(filepath.Join(dir, "node_modules", "@openai", "codex-*", "vendor", "*", "*", "codex"))
		return strings.Join(found, "")
	}, "@openai/codex@0.169.0")
}

// A responsesModel answers like the Responses API of OpenAI, from a script, and records
// the input of each request. After the script it says OK.
type responsesModel struct {
	script[responsesAnswer]
	hangs chan struct{} // gets a value when an answer hangs
}

// A responsesAnswer is the items of one answer.
type responsesAnswer struct {
	items  []map[string]any
	tokens int             // that the answer says it used; 110 if 0
	hang   bool            // the stream stops before its end
	after  <-chan struct{} // closed before the answer is given; nil: at once
}

func newResponsesModel(tb testing.TB, answers ...responsesAnswer) *responsesModel {
	tb.Helper()
	m := &responsesModel{hangs: make(chan struct{}, 1)}
	m.answers = answers
	m.after = func() responsesAnswer { return responsesAnswer{items: []map[string]any{codexSays("OK.")}} }
	m.serve(tb, m)
	return m
}

func (m *responsesModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model string
		Input []map[string]any
	}
	if !strings.HasSuffix(r.URL.Path, "/responses") || json.NewDecoder(r.Body).Decode(&body) != nil {
		fmt.Fprint(w, `{"object":"list","data":[],"models":[]}`)
		return
	}
	a, n := m.next(body.Input)
	if !await(r, a.after) {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind string, data map[string]any) {
		data["type"] = kind
		b, _ := json.Marshal(data) // it is made of maps and strings
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, b)
		_ = http.NewResponseController(w).Flush()
	}
	response := map[string]any{"id": fmt.Sprint("resp_", n), "object": "response", "model": body.Model, "status": "in_progress", "output": []any{}}
	event("response.created", map[string]any{"response": response})
	for i, item := range a.items {
		item["id"] = fmt.Sprintf("%s_interop_%d_%d", item["kind"], n, i)
		delete(item, "kind")
		event("response.output_item.added", map[string]any{"output_index": i, "item": item})
		if a.hang && i == len(a.items)-1 {
			m.hangs <- struct{}{}
			<-r.Context().Done()
			return
		}
		event("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	usage := map[string]any{
		"input_tokens": 100, "input_tokens_details": map[string]any{"cached_tokens": 0},
		"output_tokens": 10, "output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": max(a.tokens, 110),
	}
	response["status"], response["output"], response["usage"] = "completed", a.items, usage
	event("response.completed", map[string]any{"response": response})
}

func codexSays(text string) map[string]any {
	return map[string]any{
		"kind": "msg", "type": "message", "role": "assistant", "status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}},
	}
}

func codexThinks(text string) map[string]any {
	return map[string]any{"kind": "rs", "type": "reasoning", "summary": []any{map[string]any{"type": "summary_text", "text": text}}, "encrypted_content": "c2VjcmV0"}
}

func codexRuns(id, command string) map[string]any {
	args, _ := json.Marshal(map[string]any{"cmd": command, "command": []string{"bash", "-lc", command}}) // as above
	return map[string]any{"kind": "fc", "type": "function_call", "name": "exec_command", "call_id": id, "arguments": string(args), "status": "completed"}
}

func codexDelegates(id, task string) map[string]any {
	args, _ := json.Marshal(map[string]any{"task_name": "helper", "message": task, "fork_turns": "none"}) // as above
	return map[string]any{"kind": "fc", "type": "function_call", "namespace": "collaboration", "name": "spawn_agent", "call_id": id, "arguments": string(args), "status": "completed"}
}

// A codexHost is a host on which a user runs Codex in a project.
type codexHost struct {
	*harness.Host
	program, project string
	m                *responsesModel
}

func newCodexHost(t *testing.T, n *harness.Node, program, project string, m *responsesModel, model string) *codexHost {
	t.Helper()
	h := &codexHost{Host: harness.NewHost(t, n), program: program, m: m}
	h.project = h.Path(project)
	home := h.Path(".codex")
	for _, dir := range []string{h.project, home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf(`model = %q
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[skills]
include_instructions = false
[skills.bundled]
enabled = false
[model_providers.fake]
name = "fake"
base_url = "%s/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`, cmp.Or(model, "gpt-5.5"), m.URL)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	h.Env = append(h.Env, "CODEX_HOME="+home, "FAKE_KEY=x")
	return h
}

// runs runs a command line in the project.
func (h *codexHost) runs(t *testing.T, cmd *exec.Cmd) harness.Result {
	t.Helper()
	cmd.Dir = h.project
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return harness.Result{Out: out.String(), Err: errs.String(), Code: cmd.ProcessState.ExitCode()}
}

func (h *codexHost) sessctl(t *testing.T, args ...string) harness.Result {
	t.Helper()
	return h.runs(t, h.Command(agentTimeout(t), t, args...))
}

// resumes asks the next question without sessctl, in a copy of the agent's home. If
// without is not empty, the copy lacks the lines that have it.
func (h *codexHost) resumes(t *testing.T, id, without string) {
	t.Helper()
	home := filepath.Join(t.TempDir(), ".codex")
	if err := os.CopyFS(filepath.Join(home, "sessions"), os.DirFS(h.Path(".codex", "sessions"))); err != nil {
		t.Fatal(err)
	}
	config := string(testkit.ReadFile(t, h.Path(".codex", "config.toml")))
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if without != "" {
		found, _ := filepath.Glob(filepath.Join(home, "sessions", "*", "*", "*", "*.jsonl"))
		for _, path := range found {
			withoutLines(t, path, without)
		}
	}
	cmd := exec.CommandContext(agentTimeout(t), h.program, "exec", "--skip-git-repo-check", "resume", id, "next question")
	cmd.Env = append(h.Environ(), "CODEX_HOME="+home)
	if r := h.runs(t, cmd); r.Code != 0 {
		t.Fatalf("the agent: %s", r)
	}
}

// ids returns the ids of all items that the agent has stored.
func (h *codexHost) ids(t *testing.T) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for _, m := range itemID.FindAllStringSubmatch(h.text(t), -1) {
		ids[m[1]] = true
	}
	return ids
}

var (
	itemID = regexp.MustCompile(`"id":"((?:msg|rs|fc|fco|ctc|ctco|at|ci|cmp)_[^"]*)"`)
	// contextNote is what the agent says of the host before a prompt.
	contextNote = regexp.MustCompile(`^\s*(<environment_context>|<permissions instructions>|<tools>|<skills_instructions>|# AGENTS\.md instructions)`)
)

// A codexCase is what happens in a session before it is resumed on another host.
type codexCase struct {
	script  []responsesAnswer
	prompts []string
	model   string   // if not the usual one
	flags   []string // of the agent's first prompt
	fork    bool     // the last prompt goes to a fork
	kill    bool     // the agent is killed while it waits for the last answer
	holds   string   // what the request has if the case has happened
}

var codexCases = map[string]codexCase{
	"tools": {
		holds:   `function_call_output`,
		prompts: []string{"use a tool", "and again"},
		script: []responsesAnswer{
			{items: []map[string]any{codexSays("I look."), codexRuns("call_1", "echo forty-two")}},
			{items: []map[string]any{codexSays("It is forty-two.")}},
		},
	},
	"parallel tools": {
		holds:   `call_2`,
		prompts: []string{"use tools"},
		script: []responsesAnswer{
			{items: []map[string]any{codexRuns("call_1", "echo one"), codexRuns("call_2", "echo two")}},
			{items: []map[string]any{codexSays("Done.")}},
		},
	},
	"thinking": {
		holds:   `c2VjcmV0`,
		prompts: []string{"think"},
		script:  []responsesAnswer{{items: []map[string]any{codexThinks("Hm."), codexSays("Thought.")}}},
	},
	"fork": {
		holds:   `Something else.`,
		prompts: []string{"say something", "say something else"},
		script:  []responsesAnswer{{items: []map[string]any{codexSays("Something.")}}, {items: []map[string]any{codexSays("Something else.")}}},
		fork:    true,
	},
	"image": {
		holds:   picture,
		prompts: []string{"what is it?", "and what else?"},
		flags:   []string{"--image", pictureFile},
		script:  []responsesAnswer{{items: []map[string]any{codexSays("A point.")}}},
	},
	"interruption": {
		holds:   `<turn_aborted>`,
		prompts: []string{"wait"},
		script:  []responsesAnswer{{items: []map[string]any{codexSays("I wait."), codexRuns("call_1", `until grep -rq call_1 "$CODEX_HOME/sessions"; do sleep 0.05; done; kill -INT $PPID; sleep 30`)}}},
	},
	"sub-agent": {
		holds:   `/root/helper`,
		prompts: []string{"delegate"},
		model:   "gpt-6-sol",
		script:  []responsesAnswer{{items: []map[string]any{codexSays("I delegate."), codexDelegates("call_1", "look around")}}},
	},
	"compaction": {
		holds:   `The number is forty-two.`,
		prompts: []string{"remember forty-two", "what was it?"},
		flags:   []string{"-c", "model_auto_compact_token_limit=5000"},
		script: []responsesAnswer{
			{items: []map[string]any{codexSays("I look."), codexRuns("call_1", "echo forty-two")}, tokens: 20000},
			{items: []map[string]any{codexSays("The number is forty-two.")}},
			{items: []map[string]any{codexSays("I remember.")}},
			{items: []map[string]any{codexSays("Forty-two.")}},
		},
	},
	"killed in a stream": {
		holds:   `say more`,
		prompts: []string{"say something", "say more"},
		script: []responsesAnswer{
			{items: []map[string]any{codexSays("Something.")}},
			{items: []map[string]any{codexThinks("More."), codexSays("More, and")}, hang: true},
		},
		kill: true,
	},
	"killed in a tool": {
		holds:   `aborted`,
		prompts: []string{"wait"},
		script:  []responsesAnswer{{items: []map[string]any{codexSays("I wait."), codexRuns("call_1", `until grep -rq call_1 "$CODEX_HOME/sessions"; do sleep 0.05; done; kill -9 $PPID; sleep 5`)}}},
	},
}

// pictureFile is a file in the project of each host.
const pictureFile = "picture.png"

// The table of TestClaudeResumesRequestIdentical for Codex. The items of B's first
// request are those that A would have sent.
func TestCodexResumesRequestIdentical(t *testing.T) {
	t.Parallel()
	program := codexCLI(t)
	imports := harness.StartNode(t)
	for name, c := range codexCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !*long && name != "fork" {
				t.Skip("-long is not set")
			}
			node := harness.StartNode(t)
			m := newResponsesModel(t, c.script...)
			a := newCodexHost(t, node, program, "project a", m, c.model)
			id := a.works(t, c)
			if name == "compaction" && !strings.Contains(a.text(t), `"type":"compacted"`) {
				t.Error("Codex did not compact the session")
			}
			a.resumes(t, id, "")
			stored, want := a.ids(t), m.last(t)
			if all := itemsOf(want, stored, a); !strings.Contains(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(all), c.holds) {
				t.Errorf("the request does not have %.40q: %s", c.holds, all)
			}
			if name == "tools" {
				a.resumes(t, id, "It is forty-two.")
				if itemsOf(want, stored, a) == itemsOf(m.last(t), stored, a) {
					t.Error("a request without a line is taken for the whole")
				}
			}
			b := newCodexHost(t, imports, program, "imported/to", m, c.model)
			if r := b.Sessctl(t, "import", a.Path(".codex")); r.Code != 0 {
				t.Fatalf("sessctl import: %s", r)
			}
			for _, gone := range []string{a.Path(".codex"), a.project} {
				if err := os.RemoveAll(gone); err != nil {
					t.Fatal(err)
				}
			}
			for by, b := range map[string]*codexHost{"import": b, "run": newCodexHost(t, node, program, "else where/é", m, c.model)} {
				t.Run(by, func(t *testing.T) {
					r := b.next(t, "next question", id)
					if r.Code != 0 || !strings.Contains(r.Err, "is in the log, head main") {
						t.Fatalf("sessctl resume: %s", r)
					}
					if want, got := itemsOf(want, stored, a, b), itemsOf(m.last(t), stored, a, b); want != got {
						t.Errorf("the requests differ: %s", differ([]byte(got), []byte(want)))
					}
				})
			}
		})
	}
}

// works does what happens in a case, and returns the session's id.
func (h *codexHost) works(t *testing.T, c codexCase) (id string) {
	t.Helper()
	png, _ := base64.StdEncoding.DecodeString(picture)
	if err := os.WriteFile(filepath.Join(h.project, pictureFile), png, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, prompt := range c.prompts {
		line := []string{"run", "--", h.program, "exec", "--skip-git-repo-check"}
		last := i == len(c.prompts)-1
		switch {
		case id != "" && last && c.fork:
			line = append(line, "fork", id)
		case id != "":
			line = append(line, "resume", id)
		default:
			line = append(line, c.flags...)
			if len(c.flags) > 0 {
				line = append(line, "--")
			}
		}
		cmd := h.Command(agentTimeout(t), t, append(line, prompt)...)
		if c.kill && last {
			go func() {
				<-h.m.hangs
				killChildren(cmd.Process.Pid)
			}()
		}
		id = loggedBy(t, h.runs(t, cmd))
	}
	return id
}

// next resumes a session with the next prompt. The flags are those of sessctl resume.
func (h *codexHost) next(t *testing.T, prompt, id string, flags ...string) harness.Result {
	t.Helper()
	line := append([]string{"resume", id, "--cwd", h.project}, flags...)
	return h.sessctl(t, append(line, "--", h.program, "exec", "--skip-git-repo-check", prompt)...)
}

// text returns all lines of the agent's sessions.
func (h *codexHost) text(t *testing.T) (text string) {
	t.Helper()
	found, _ := filepath.Glob(h.Path(".codex", "sessions", "*", "*", "*", "*.jsonl"))
	for _, path := range found {
		text += string(testkit.ReadFile(t, path))
	}
	return text
}

// killChildren kills the children of a process.
func killChildren(pid int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range tasks {
		b, _ := os.ReadFile(path) // a thread that has ended has no children
		for child := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(child); err == nil {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
	}
}

// itemsOf returns the items of a request without what depends on the host: notes of
// the directory before the new prompt, and ids that the agent makes for each request.
func itemsOf(input []map[string]any, stored map[string]bool, hosts ...*codexHost) string {
	var text strings.Builder
	for i, item := range input {
		if id, _ := item["id"].(string); !stored[id] {
			delete(item, "id")
			content, _ := json.Marshal(item["content"]) // it was JSON
			var parts []struct{ Text string }
			if json.Unmarshal(content, &parts) == nil && i > 0 && len(parts) > 0 && contextNote.MatchString(parts[0].Text) {
				continue
			}
		}
		b, _ := json.Marshal(item) // it was JSON
		fmt.Fprintf(&text, "%s\n", b)
	}
	s := text.String()
	for _, h := range hosts {
		s = strings.NewReplacer(h.project, "PROJECT", h.Dir, "HOME").Replace(s)
	}
	return s
}
