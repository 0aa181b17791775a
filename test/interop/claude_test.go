//go:build unix

package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// claudeCode returns the program of Claude Code, which is published for each platform
// in a separate package, or skips the test.
func claudeCode(tb testing.TB) string {
	tb.Helper()
	return published(tb, "claude-2.1.197", func(dir string) string {
		found, _ := filepath.Glob(filepath.Join(dir, "node_modules", "@anthropic-ai", "claude-code-*", "claude"))
		return strings.Join(found, "")
	}, "@anthropic-ai/claude-code@2.1.197")
}

// published returns a program of packages that npm installs, or skips the test.
func published(tb testing.TB, name string, program func(dir string) string, specs ...string) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("agents are not fetched: -short is set")
	}
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Minute)
	defer cancel()
	if _, err := exec.LookPath("npm"); err != nil {
		tb.Skipf("no judge %s: there is no npm here", name)
	}
	dir, err := cached(ctx, name, func(dir string) error {
		return npm(ctx, dir, append([]string{"install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund"}, specs...)...)
	})
	if err == nil && program(dir) == "" {
		err = errors.New("the package has no program for this platform")
	}
	if err != nil {
		tb.Skipf("no judge %s: %v", name, err)
	}
	return program(dir)
}

// A claudeHost is a host on which a user runs Claude Code in a project.
type claudeHost struct {
	*harness.Host
	program, project string
}

func newClaudeHost(t *testing.T, n *harness.Node, program, project string, m *messagesModel) *claudeHost {
	t.Helper()
	h := &claudeHost{Host: harness.NewHost(t, n), program: program}
	h.project = h.Path(project)
	if err := os.MkdirAll(h.project, 0o700); err != nil {
		t.Fatal(err)
	}
	h.Env = append(h.Env, "CLAUDE_CONFIG_DIR="+h.Path("config"), "ANTHROPIC_BASE_URL="+m.URL, "ANTHROPIC_API_KEY=sk-ant-fake", "SHELL=/bin/bash",
		"CLAUDE_CODE_MAX_RETRIES=0", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "IS_SANDBOX=1")
	return h
}

// runs runs sessctl in the project, with the agent's command line after args.
func (h *claudeHost) runs(t *testing.T, args []string, prompt string, more ...string) harness.Result {
	t.Helper()
	line := append(append(args, "--", h.program, "-p", prompt, "--model", claudeModel, "--permission-mode", "bypassPermissions"), more...)
	return h.ends(t, h.Command(agentTimeout(t), t, line...))
}

// shows is runs for a prompt with a picture.
func (h *claudeHost) shows(t *testing.T, prompt string) harness.Result {
	t.Helper()
	cmd := h.Command(agentTimeout(t), t, "run", "--", h.program, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--model", claudeModel, "--permission-mode", "bypassPermissions")
	image := block("image", map[string]any{"source": map[string]any{"type": "base64", "media_type": "image/png", "data": picture}})
	line, _ := json.Marshal(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []any{image, textBlock(prompt)}}}) // as above
	cmd.Stdin = strings.NewReader(string(line) + "\n")
	return h.ends(t, cmd)
}

// ends runs a command in the project to its end.
func (h *claudeHost) ends(t *testing.T, cmd *exec.Cmd) harness.Result {
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

// resumes asks the next question without sessctl, on the agent's own files.
func (h *claudeHost) resumes(t *testing.T, id string) {
	t.Helper()
	cmd := exec.CommandContext(agentTimeout(t), h.program, "-p", "next question", "--resume", id, "--model", claudeModel, "--permission-mode", "bypassPermissions")
	cmd.Dir, cmd.Env = h.project, h.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the agent: %v\n%s", err, out)
	}
}

// clone copies the agent's directory, so that the agent can be asked what it would
// have sent.
func (h *claudeHost) clone(t *testing.T) *claudeHost {
	t.Helper()
	c := *h
	host := *h.Host
	c.Host = &host
	dir := filepath.Join(t.TempDir(), "config")
	if err := os.CopyFS(dir, os.DirFS(h.Path("config"))); err != nil {
		t.Fatal(err)
	}
	c.Env = append(append([]string{}, h.Env...), "CLAUDE_CONFIG_DIR="+dir)
	return &c
}

// hasFiles fails unless the log has every file of the session, byte for byte.
func (h *claudeHost) hasFiles(t *testing.T, id string, atLeast int) {
	t.Helper()
	out := t.TempDir()
	if r := h.Sessctl(t, "export", id, "--home", out, "--cwd", h.project); r.Code != 0 {
		t.Fatal(r)
	}
	own, n := h.Path("config", "projects"), 0
	err := filepath.WalkDir(own, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		name, _ := filepath.Rel(own, path)
		logged, err := os.ReadFile(filepath.Join(out, "projects", name))
		if err != nil {
			return err
		}
		if file := string(testkit.ReadFile(t, path)); file != string(logged) {
			t.Errorf("%s is not in the log as it is: %s", name, differ(logged, []byte(file)))
		}
		return nil
	})
	if err != nil || n < atLeast {
		t.Fatalf("the session has %d files: %v", n, err)
	}
}

const claudeModel = "claude-sonnet-4-5"

// whenWritten waits for the call toolu_1 in the agent's file, which the agent writes a
// moment after it has started the tool.
const whenWritten = `until grep -q toolu_1 "$CLAUDE_CONFIG_DIR"/projects/*/*.jsonl; do sleep 0.05; done; `

// picture is a PNG of one pixel.
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// A claudeCase is what happens in a session before it is resumed on another host.
type claudeCase struct {
	script  []messagesAnswer
	prompts []string // one turn each
	picture bool     // the first prompt has one
	fork    bool     // the last prompt goes to a fork
	kill    bool     // the agent is killed while it waits for the last answer
	files   int      // of the session, at least
	holds   string   // what the request has if the case has happened
}

func block(kind string, members map[string]any) map[string]any {
	members["type"] = kind
	return members
}

func textBlock(text string) map[string]any { return block("text", map[string]any{"text": text}) }

func call(id, name string, input map[string]any) map[string]any {
	return block("tool_use", map[string]any{"id": id, "name": name, "input": input})
}

func bash(id, command string) map[string]any {
	return call(id, "Bash", map[string]any{"command": command, "description": "run it"})
}

var claudeCases = map[string]claudeCase{
	"tools": {
		holds:   `"tool_result"`,
		prompts: []string{"use a tool", "and again"},
		script: []messagesAnswer{
			{blocks: []map[string]any{textBlock("I look."), bash("toolu_1", "echo forty-two")}},
			{blocks: []map[string]any{textBlock("It is forty-two.")}},
			{blocks: []map[string]any{bash("toolu_2", "seq 1 20000")}},
			{blocks: []map[string]any{textBlock("Many numbers.")}},
		},
		files: 2,
	},
	"parallel tools": {
		holds:   `toolu_3`,
		prompts: []string{"use tools"},
		script: []messagesAnswer{
			{blocks: []map[string]any{bash("toolu_1", "echo one"), bash("toolu_2", "echo two"), bash("toolu_3", "exit 3")}},
			{blocks: []map[string]any{textBlock("Done.")}},
		},
	},
	"thinking": {
		holds:   `"signature":"c2ln"`,
		prompts: []string{"think"},
		script: []messagesAnswer{
			{blocks: []map[string]any{block("thinking", map[string]any{"thinking": "Hm.", "signature": "c2ln"}), textBlock("Thought.")}},
		},
	},
	"sub-agent": {
		holds:   `agentId: `,
		prompts: []string{"delegate"},
		script: []messagesAnswer{
			{blocks: []map[string]any{call("toolu_1", "Task", map[string]any{"description": "look", "prompt": "look around", "subagent_type": "general-purpose"})}},
			{blocks: []map[string]any{bash("toolu_2", "echo below")}},
			{blocks: []map[string]any{textBlock("I looked around.")}},
			{blocks: []map[string]any{textBlock("It looked around.")}},
		},
		files: 3,
	},
	"compaction": {
		holds:   `The number is forty-two.`,
		prompts: []string{"remember forty-two", "/compact", "what was it?"},
		script: []messagesAnswer{
			{blocks: []map[string]any{textBlock("I remember.")}},
			{blocks: []map[string]any{textBlock("<summary>The number is forty-two.</summary>")}},
			{blocks: []map[string]any{textBlock("Forty-two.")}},
		},
	},
	"image": {
		holds:   picture,
		prompts: []string{"what is it?", "and what else?"},
		picture: true,
		script:  []messagesAnswer{{blocks: []map[string]any{textBlock("A point.")}}},
	},
	"fork": {
		holds:   `Something else.`,
		prompts: []string{"say something", "say something else"},
		script: []messagesAnswer{
			{blocks: []map[string]any{textBlock("Something.")}},
			{blocks: []map[string]any{textBlock("Something else.")}},
		},
		fork: true,
	},
	"interruption": {
		holds:   `[Request interrupted by user for tool use]`,
		prompts: []string{"wait"},
		script:  []messagesAnswer{{blocks: []map[string]any{textBlock("I wait."), bash("toolu_1", whenWritten+`kill -INT $PPID; sleep 30`)}}},
	},
	"error": {
		prompts: []string{"say something", "fail"},
		script: []messagesAnswer{
			{blocks: []map[string]any{textBlock("Something.")}},
			{status: 400},
		},
	},
	"killed in a stream": {
		holds:   `say more`,
		prompts: []string{"say something", "say more"},
		script: []messagesAnswer{
			{blocks: []map[string]any{textBlock("Something.")}},
			{blocks: []map[string]any{textBlock("More, and")}, hang: true},
		},
		kill: true,
	},
	"killed in a tool": {
		holds:   `I wait.`,
		prompts: []string{"wait"},
		script: []messagesAnswer{
			{blocks: []map[string]any{textBlock("I wait."), bash("toolu_1", whenWritten+`kill -9 $PPID && sleep 5`)}},
		},
	},
}

// Every cell of the table agent × case: host A works under sessctl run, and is gone;
// host B resumes in another home and another directory. The messages of B's first
// request are those that A would have sent. Another host B has the session from a log
// into which A's files were imported.
func TestClaudeResumesRequestIdentical(t *testing.T) {
	t.Parallel()
	program := claudeCode(t)
	imports := harness.StartNode(t)
	for name, c := range claudeCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !*long && name != "killed in a stream" {
				t.Skip("-long is not set")
			}
			node := harness.StartNode(t)
			var m *messagesModel
			var a *claudeHost
			id := ""
			for range 5 { // an interrupted agent may end before it has written that
				m = newMessagesModel(t, c.script...)
				a = newClaudeHost(t, node, program, "project a", m)
				if id = a.works(t, m, c); name != "interruption" || stored(a.Path("config"), c.holds) {
					break
				}
			}
			if c.files > 0 {
				a.hasFiles(t, id, c.files)
			}
			a.clone(t).resumes(t, id)
			want := m.last(t)
			if all := sameOnHosts(want, a); !strings.Contains(all, c.holds) {
				t.Errorf("the request does not have %.40q: %s", c.holds, all)
			}
			if name == "tools" {
				shorter := a.clone(t)
				shorter.loses(t, "It is forty-two.")
				shorter.resumes(t, id)
				if sameOnHosts(want, a) == sameOnHosts(m.last(t), a) {
					t.Error("a request without a line is taken for the whole")
				}
			}
			b := newClaudeHost(t, imports, program, "imported/to", m)
			if r := b.Sessctl(t, "import", a.Path("config")); r.Code != 0 {
				t.Fatalf("sessctl import: %s", r)
			}
			for _, gone := range []string{a.Path("config"), a.project} {
				if err := os.RemoveAll(gone); err != nil {
					t.Fatal(err)
				}
			}
			for by, b := range map[string]*claudeHost{"import": b, "run": newClaudeHost(t, node, program, "else where/é", m)} {
				t.Run(by, func(t *testing.T) {
					r := b.runs(t, []string{"resume", id, "--cwd", b.project}, "next question")
					if r.Code != 0 || !strings.Contains(r.Err, "is in the log, head main") {
						t.Fatalf("sessctl resume: %s", r)
					}
					if want, got := sameOnHosts(want, a, b), sameOnHosts(m.last(t), a, b); want != got {
						t.Errorf("the requests differ: %s", differ([]byte(got), []byte(want)))
					}
				})
			}
		})
	}
}

// works does what happens in a case, and returns the session's id.
func (h *claudeHost) works(t *testing.T, m *messagesModel, c claudeCase) (id string) {
	t.Helper()
	for i, prompt := range c.prompts {
		var more []string
		last := i == len(c.prompts)-1
		if id != "" {
			more = []string{"--resume", id}
		}
		if c.fork && last {
			more = append(more, "--fork-session")
		}
		if c.kill && last {
			m.killOnHang(h.Path("config"), `"role":"user","content":"`+prompt)
		}
		var r harness.Result
		if c.picture && i == 0 {
			r = h.shows(t, prompt)
		} else {
			r = h.runs(t, []string{"run"}, prompt, more...)
		}
		id = loggedBy(t, r)
	}
	return id
}

// loggedBy returns the session that a run has put into the log.
func loggedBy(t *testing.T, r harness.Result) string {
	t.Helper()
	_, rest, ok := strings.Cut(r.Err, "sessctl: session ")
	if !ok || !strings.Contains(rest, "is in the log, head main") {
		t.Fatalf("sessctl run: %s", r)
	}
	id, _, _ := strings.Cut(rest, " ")
	return id
}

// loses removes the line of the agent's files that has text.
func (h *claudeHost) loses(t *testing.T, text string) {
	t.Helper()
	dir := ""
	for _, v := range h.Env { // the last one counts
		if d, ok := strings.CutPrefix(v, "CLAUDE_CONFIG_DIR="); ok {
			dir = d
		}
	}
	found, _ := filepath.Glob(filepath.Join(dir, "projects", "*", "*.jsonl"))
	for _, path := range found {
		withoutLines(t, path, text)
	}
}

// withoutLines removes the lines of a file that have text.
func withoutLines(t *testing.T, path, text string) {
	t.Helper()
	var kept strings.Builder
	for line := range strings.Lines(string(testkit.ReadFile(t, path))) {
		if !strings.Contains(line, text) {
			kept.WriteString(line)
		}
	}
	if err := os.WriteFile(path, []byte(kept.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sameOnHosts returns the messages of a request without what depends on the host.
func sameOnHosts(messages []map[string]any, hosts ...*claudeHost) string {
	var text strings.Builder
	for _, m := range messages {
		b, _ := json.Marshal(withoutCache(m)) // it was JSON
		fmt.Fprintf(&text, "%s\n", b)
	}
	s := text.String()
	for _, h := range hosts {
		s = strings.NewReplacer(folderOf(h.project), "FOLDER", h.project, "PROJECT", h.Dir, "HOME", folderOf(h.Dir), "FOLDER").Replace(s)
	}
	return s
}

func folderOf(dir string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
			return r
		}
		return '-'
	}, dir)
}

// withoutCache drops the marks of the provider's cache, which move.
func withoutCache(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if k != "cache_control" {
				out[k] = withoutCache(x)
			}
		}
		if s, ok := out["content"].(string); ok && out["role"] != nil {
			out["content"] = []any{map[string]any{"type": "text", "text": s}}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutCache(v[i])
		}
		return out
	}
	return v
}
