//go:build unix

package interop_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

const streamsSuite = "@durable-streams/server-conformance-tests@0.3.6"

// streamTests is how many tests the suite has.
const streamTests = 338

// A vitestReport is vitest's report, as far as it is used.
type vitestReport struct {
	Passed  int `json:"numPassedTests"`
	Total   int `json:"numTotalTests"`
	Results []struct {
		Name  string
		Tests []struct {
			Status   string   `json:"status"`
			Name     string   `json:"fullName"`
			Failures []string `json:"failureMessages"`
		} `json:"assertionResults"`
	} `json:"testResults"`
}

// failed returns the tests that failed, each with its first message.
func (r vitestReport) failed() (all []string) {
	for _, file := range r.Results {
		for _, test := range file.Tests {
			if test.Status == "failed" {
				message, _, _ := strings.Cut(strings.Join(test.Failures, "\n"), "\n")
				all = append(all, test.Name+": "+message)
			}
		}
	}
	return all
}

// runStreamsSuite runs the suite against a node.
func runStreamsSuite(t *testing.T, suite, base string) vitestReport {
	t.Helper()
	dir := t.TempDir()
	test := `import { runConformanceTests } from "@durable-streams/server-conformance-tests"
runConformanceTests({ baseUrl: process.env.STREAMS_URL, longPollTimeoutMs: 500, subscriptions: true })
`
	if err := os.WriteFile(filepath.Join(dir, "streams.test.mjs"), []byte(test), 0o600); err != nil {
		t.Fatal(err)
	}
	return runVitest(t, "node", suite, dir, "STREAMS_URL="+base)
}

// runVitest runs the tests in dir with the packages installed in modules. It waits for
// at most five minutes.
func runVitest(t *testing.T, node, modules, dir string, env ...string) vitestReport {
	t.Helper()
	if err := os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // on a busy machine
	defer cancel()
	report := filepath.Join(dir, "report.json")
	cmd := exec.CommandContext(ctx, node, filepath.Join(modules, "node_modules", "vitest", "vitest.mjs"), "run", "--root", dir, "--globals",
		"--reporter=json", "--outputFile="+report, "--testTimeout=30000")
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput() // fails if a test does
	b, missing := os.ReadFile(report)
	if missing != nil {
		t.Fatalf("the suite made no report: %v\n%s", err, out)
	}
	var r vitestReport
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// streamsJudged prints the score of a run.
func streamsJudged(t *testing.T, what string, r vitestReport) {
	t.Helper()
	t.Logf("judged durable-streams %s: %d of %d", what, r.Passed, r.Total)
	if failed := r.failed(); len(failed) > 0 || r.Passed < streamTests {
		t.Errorf("failed:\n%s", strings.Join(failed, "\n"))
	}
}

func fetchedStreamsSuite(t *testing.T) string {
	t.Helper()
	if !*suites {
		t.Skip("only with -args -suites")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no judge durable-streams: there is no node here")
	}
	vitest := published(t, "durable-streams-0.3.6", func(dir string) string {
		found, _ := filepath.Glob(filepath.Join(dir, "node_modules", "vitest", "vitest.mjs"))
		return strings.Join(found, "")
	}, streamsSuite)
	return strings.TrimSuffix(vitest, filepath.Join("/node_modules", "vitest", "vitest.mjs"))
}

func TestDurableStreamsSuite(t *testing.T) {
	suite := fetchedStreamsSuite(t)
	n := harness.StartNode(t, "--streams-poll", "500ms", "--streams-webhooks", "local")
	streamsJudged(t, "against one node", runStreamsSuite(t, suite, n.Client().Base))
}

// The suite runs against one of three nodes, of which another is killed and started
// again meanwhile.
func TestDurableStreamsSuiteAgainstCluster(t *testing.T) {
	suite := fetchedStreamsSuite(t)
	nodes := harness.StartCluster(t, 3, harness.StartBucket(t), "--streams-poll", "500ms", "--streams-webhooks", "local")
	base := nodes[0].Client().Base
	done := make(chan struct{})
	var r vitestReport
	t.Run("both", func(t *testing.T) {
		t.Run("suite", func(t *testing.T) {
			t.Parallel()
			defer close(done)
			r = runStreamsSuite(t, suite, base)
		})
		t.Run("restart", func(t *testing.T) {
			t.Parallel()
			awaitStreams(t, base, 50, done)
			nodes[2].Kill()
			awaitStreams(t, base, 100, done)
			nodes[2].Start(t)
		})
	})
	streamsJudged(t, "against three nodes, one killed and started again", r)
}

// awaitStreams waits until the suite has made n streams through base.
func awaitStreams(t *testing.T, base string, n int, done <-chan struct{}) {
	t.Helper()
	for {
		select {
		case <-done:
			t.Fatal("the suite ended before it made streams")
		case <-time.After(100 * time.Millisecond):
		}
		res, err := http.Get(base + "/v1/sessions?dialect=bytestream&limit=" + strconv.Itoa(n))
		if err != nil {
			continue
		}
		b, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if strings.Count(string(b), `"bytestream"`) >= n {
			return
		}
	}
}
