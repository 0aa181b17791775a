package e2e_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// The examples of docs/API.md and docs/examples run as they are, each language in turn.
// Every stream of events breaks once, after its first event.

func TestExamplesInShell(t *testing.T) {
	t.Parallel()
	sh := need(t, "sh")
	need(t, "curl")
	dir := t.TempDir()
	out := runExample(t, dir, sh, save(t, dir, "example.sh", shellExamples(t)))
	wantExample(t, out, "made ", "conflict: another came first", "followed: 3 events", `"entries":0`, `"hits":[{"session":"`)
}

func TestExamplesInPython(t *testing.T) {
	t.Parallel()
	python := need(t, "python3")
	dir := t.TempDir()
	out := runExample(t, dir, python, filepath.Join(exampleDir(t), "api.py"))
	wantExample(t, out, "made ", "conflict: 1 records came first", "followed: 3 events", "imported: 0 new entries of 2", "found: Which port does the admin page use?")
}

// The TypeScript compiler finds no errors in the examples either. package-lock.json
// pins its version.
func TestExamplesInTypeScript(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("the compiler is fetched from npm's registry only with -long")
	}
	node, npm := need(t, "node"), need(t, "npm")
	dir := t.TempDir()
	for _, path := range []string{"testdata/examples/package.json", "testdata/examples/package-lock.json", exampleDir(t) + "/api.ts"} {
		b := testkit.ReadFile(t, path)
		save(t, dir, filepath.Base(path), string(b))
	}
	if out, err := commandIn(t, dir, npm, "ci", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts").CombinedOutput(); err != nil {
		t.Skipf("npm cannot install the compiler here: %v\n%s", err, out)
	}
	tsc := filepath.Join(dir, "node_modules", "typescript", "bin", "tsc")
	if out, err := commandIn(t, dir, node, tsc, "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022", "--types", "node", "api.ts").CombinedOutput(); err != nil {
		t.Fatalf("the compiler fails: %v\n%s", err, out)
	}
	out := runExample(t, dir, node, filepath.Join(dir, "api.js"))
	wantExample(t, out, "made ", "conflict: 1 records came first", "followed: 3 events", "imported: 0 new entries of 2", "found: Which port does the admin page use?")
}

func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed", program)
	}
	return path
}

// exampleDir returns the absolute path of docs/examples.
func exampleDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../docs/examples")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// shellExamples returns the shell commands of docs/API.md, in order.
func shellExamples(t *testing.T) string {
	t.Helper()
	doc := testkit.ReadFile(t, "../../docs/API.md")
	var out strings.Builder
	inside := false
	for line := range strings.Lines(string(doc)) {
		switch {
		case strings.TrimSpace(line) == "```sh":
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case inside:
			out.WriteString(line)
		}
	}
	return out.String()
}

func save(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	testkit.WriteFile(t, path, []byte(text))
	return path
}

func commandIn(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(harness.Timeout(t), name, args...)
	cmd.Dir = dir
	return cmd
}

// runExample runs a program against a separate node, and returns its output.
func runExample(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	node := harness.StartNode(t)
	to, err := url.Parse(node.Client().Base)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(&breaking{proxy: httputil.NewSingleHostReverseProxy(to)})
	defer front.Close()
	cmd := commandIn(t, dir, name, args...)
	cmd.Env = append(os.Environ(), "SESS_URL="+front.URL)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, out, errs.Bytes())
	}
	return string(out)
}

func wantExample(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(out, part) {
			t.Errorf("the output lacks %q:\n%s", part, out)
		}
	}
}

// breaking is a proxy that breaks the first stream of events after its first event.
type breaking struct {
	proxy *httputil.ReverseProxy
	once  sync.Once
}

func (b *breaking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/events") {
		b.once.Do(func() { w = &breaker{ResponseWriter: w} })
	}
	b.proxy.ServeHTTP(w, r)
}

type breaker struct {
	http.ResponseWriter
	seen []byte
}

var errBroken = errors.New("the connection is broken")

func (b *breaker) Write(p []byte) (int, error) {
	had := len(b.seen)
	b.seen = append(b.seen, p...)
	at := bytes.Index(b.seen, []byte("\ndata: "))
	if at < 0 {
		return b.ResponseWriter.Write(p)
	}
	end := bytes.Index(b.seen[at:], []byte("\n\n"))
	if end < 0 {
		return b.ResponseWriter.Write(p)
	}
	if rest := at + end + 2; rest > had {
		_, _ = b.ResponseWriter.Write(b.seen[had:rest])
	}
	_ = http.NewResponseController(b.ResponseWriter).Flush()
	return 0, errBroken
}

func (b *breaker) Unwrap() http.ResponseWriter { return b.ResponseWriter }
