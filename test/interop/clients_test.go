//go:build unix

package interop_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

const claudeSDK = "@anthropic-ai/claude-agent-sdk@0.3.329"

// fetchedClaudeSDK returns the module of the Claude Agent SDK, or skips the test.
func fetchedClaudeSDK(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	dir, err := cached(ctx, "claude-agent-sdk-0.3.329", func(dir string) error { return pack(ctx, dir, claudeSDK) })
	if err != nil {
		t.Skipf("no judge claude-agent-sdk: %v", err)
	}
	return filepath.Join(dir, "package", "sdk.mjs")
}

// typescript returns a node that runs TypeScript, or skips the test.
func typescript(t *testing.T) string {
	t.Helper()
	if !*suites {
		t.Skip("only with -args -suites")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	node, err := nodeSince(ctx, 22, 18)
	if err != nil {
		t.Skipf("no judge clients/ts: %v", err)
	}
	return node
}

// runClient runs a program of clients/ and returns its output.
func runClient(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = filepath.Join("..", "..", "clients"), append(os.Environ(), env...), time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// testTypeScript runs a test of clients/ts against a node, and returns its output.
func testTypeScript(t *testing.T, file string, env ...string) string {
	t.Helper()
	program := typescript(t)
	env = append(env, "SESS_URL="+harness.StartNode(t).URL, "NODE_NO_WARNINGS=1")
	return runClient(t, env, program, "--test", "--test-reporter=tap", filepath.Join("ts", file))
}

// testPython runs a test of clients/python against a node, and returns its output.
func testPython(t *testing.T, module string) string {
	t.Helper()
	if !*suites {
		t.Skip("only with -args -suites")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no judge clients/python: there is no python3 here")
	}
	env := []string{"SESS_URL=" + harness.StartNode(t).URL, "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=python"}
	return runClient(t, env, python, "-m", "unittest", "-v", module)
}

// countOf returns how often the output of a test runner that succeeded has the pattern,
// which is how its line of a test begins.
func countOf(t *testing.T, out, test string) int {
	t.Helper()
	n := len(regexp.MustCompile(test).FindAllString(out, -1))
	if n == 0 {
		t.Fatalf("no test ran:\n%s", out)
	}
	return n
}

func TestClaudeStoreSuite(t *testing.T) {
	t.Parallel()
	typescript(t)
	out := testTypeScript(t, "claude.test.ts", "SDK="+fetchedClaudeSDK(t))
	contracts, _, _ := strings.Cut(out, "# Subtest: promises")
	t.Logf("judged Claude SessionStore (TypeScript): %d of 13 contracts, %d tests", countOf(t, contracts, `(?m)^    ok `), countOf(t, out, `(?m)^    ok `))
}

func TestClaudeStoreSuiteInPython(t *testing.T) {
	t.Parallel()
	out := testPython(t, "test_claude")
	t.Logf("judged Claude SessionStore (Python): %d of 14 contracts, %d tests", countOf(t, out, `(?m)^test_\d\d_`), countOf(t, out, `(?m)^test_`))
}

func TestOpenAISessionSuite(t *testing.T) {
	t.Parallel()
	typescript(t)
	const version = "0.20.0"
	sdk := published(t, "openai-agents-core-"+version, func(dir string) string {
		found, _ := filepath.Glob(filepath.Join(dir, "node_modules", "@openai", "agents-core", "dist", "index.mjs"))
		return strings.Join(found, "")
	}, "@openai/agents-core@"+version)
	out := testTypeScript(t, "openai.test.ts", "AGENTS="+sdk)
	t.Logf("judged OpenAI Agents Session (TypeScript, with the SDK's runner): %d tests", countOf(t, out, `(?m)^    ok `))
}

func TestOpenAISessionSuiteInPython(t *testing.T) {
	t.Parallel()
	out := testPython(t, "test_openai")
	t.Logf("judged OpenAI Agents Session (Python): %d tests", countOf(t, out, `(?m)^test_`))
}

// LangGraph for Python cannot be fetched from npm: the contracts are ours, of its published interface.
func TestLangGraphSuiteInPython(t *testing.T) {
	t.Parallel()
	out := testPython(t, "test_langgraph")
	t.Logf("judged LangGraph checkpointer (Python, by the published interface): %d contracts, sync and async, %d tests",
		countOf(t, out, `(?m)^test_\w+ \(test_langgraph\.Contracts\b`), countOf(t, out, `(?m)^test_\w+ \(test_langgraph\.(SyncC|C|P)`))
}

// LangGraph's own validation of checkpointers, and what ours promises beyond it: among
// others, that the Python client reads what the TypeScript client wrote, and the reverse.
func TestLangGraphSuite(t *testing.T) {
	t.Parallel()
	node := typescript(t)
	vitest := published(t, "langgraph-checkpoint-validation-1.1.1", func(dir string) string {
		found, _ := filepath.Glob(filepath.Join(dir, "node_modules", "vitest", "vitest.mjs"))
		return strings.Join(found, "")
	}, "@langchain/langgraph-checkpoint-validation@1.1.1", "@langchain/langgraph-checkpoint@1.2.2", "@langchain/core@1.4.0", "vitest@4.1.12")
	dir := t.TempDir()
	found, err := filepath.Glob(filepath.Join("..", "..", "clients", "ts", "*.ts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if name := filepath.Base(path); strings.HasPrefix(name, "langgraph") || !strings.HasSuffix(name, ".test.ts") {
			if err := os.WriteFile(filepath.Join(dir, name), testkit.ReadFile(t, path), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	env, want := []string{"SESS_URL=" + harness.StartNode(t).URL}, 721
	if _, err := exec.LookPath("python3"); err == nil {
		python, err := filepath.Abs(filepath.Join("..", "..", "clients", "python"))
		if err != nil {
			t.Fatal(err)
		}
		env, want = append(env, "PYTHON_CLIENT="+python), want+1
	}
	r := runVitest(t, node, strings.TrimSuffix(vitest, filepath.Join("/node_modules", "vitest", "vitest.mjs")), dir, env...)
	for _, file := range r.Results {
		if !strings.HasSuffix(file.Name, "langgraph.test.ts") {
			continue
		}
		passed := 0
		for _, test := range file.Tests {
			if test.Status == "passed" {
				passed++
			}
		}
		t.Logf("judged LangGraph checkpointer: %d of %d", passed, len(file.Tests))
	}
	if failed := r.failed(); len(failed) > 0 || r.Passed != want {
		t.Errorf("%d passed; failed:\n%s", r.Passed, strings.Join(failed, "\n"))
	}
}

// A session that the SDK itself imports through the store is resumed by the CLI on
// another host, which sends the model what it would have sent where the session began.
func TestClaudeStoreSuiteSessionIsResumed(t *testing.T) {
	t.Parallel()
	node := typescript(t)
	sdk, program := fetchedClaudeSDK(t), claudeCode(t)
	m := newMessagesModel(t, claudeCases["sub-agent"].script...)
	a := newClaudeHost(t, harness.StartNode(t), program, "project a", m)
	id := a.works(t, m, claudeCases["sub-agent"])
	a.clone(t).resumes(t, id)
	want := m.last(t)

	n := harness.StartNode(t)
	script := `const { importSessionToStore } = await import(process.env.SDK)
const { SesslogSessionStore } = await import(process.cwd() + "/ts/claude.ts")
for (let i = 0; i < 2; i++) await importSessionToStore(process.env.ID, new SesslogSessionStore(), { dir: process.env.PROJECT })`
	env := []string{"SESS_URL=" + n.URL, "NODE_NO_WARNINGS=1", "SDK=" + sdk, "ID=" + id, "PROJECT=" + a.project, "CLAUDE_CONFIG_DIR=" + a.Path("config")}
	runClient(t, env, node, "--input-type=module", "-e", script)

	b := newClaudeHost(t, n, program, "else where/é", m)
	if r := b.runs(t, []string{"resume", id, "--cwd", b.project}, "next question"); r.Code != 0 {
		t.Fatalf("sessctl resume: %s", r)
	}
	if want, got := sameOnHosts(want, a, b), sameOnHosts(m.last(t), a, b); want != got {
		t.Errorf("the requests differ: %s", differ([]byte(got), []byte(want)))
	}
	b.hasFiles(t, id, 2)
}
