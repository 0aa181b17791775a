//go:build unix

package interop_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

// The newest version that runs on Node.js 20.
const mcpSuite = "@modelcontextprotocol/conformance@0.1.13"

// mcpScenarios are those of what a node declares. The others call tools, resources and
// prompts of a server that is made for the suite.
var mcpScenarios = []string{
	"server-initialize", "ping", "logging-set-level", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection",
}

var mcpScore = regexp.MustCompile(`Passed: (\d+)/(\d+), 0 failed, 0 warnings`)

func TestMCPSuite(t *testing.T) {
	if !*suites {
		t.Skip("only with -args -suites")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no judge MCP: there is no node here")
	}
	suite := published(t, "mcp-conformance-0.1.13", func(dir string) string {
		found, _ := filepath.Glob(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"))
		return strings.Join(found, "")
	}, mcpSuite)
	n := harness.StartNode(t)
	passed, total := 0, 0
	for _, scenario := range mcpScenarios {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, node, suite, "server", "--url", n.Client().Base+"/mcp", "--scenario", scenario)
		cmd.Dir, cmd.WaitDelay = t.TempDir(), time.Second
		out, err := cmd.CombinedOutput()
		cancel()
		score := mcpScore.FindSubmatch(out)
		if err != nil || score == nil {
			t.Errorf("%s: %v\n%s", scenario, err, out)
			total++
			continue
		}
		for i, sum := range []*int{&passed, &total} {
			checks, _ := strconv.Atoi(string(score[i+1]))
			*sum += checks
		}
	}
	t.Logf("judged MCP: %d of %d checks", passed, total)
	if passed != total {
		t.Error("not all checks passed")
	}
}
