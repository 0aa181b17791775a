package main

import (
	"bytes"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/nodetest"
	"github.com/sesslog/sesslog/internal/testkit"
)

// A fakeNode is a fake node, and the environment in which a test runs sessctl.
type fakeNode struct {
	*nodetest.Node
	t     *testing.T
	home  string
	stdin string
	// What testID is, where that changes: the agent's file, and what the node says.
	file, info atomic.Value // strings
}

func newFake(t *testing.T) *fakeNode {
	t.Helper()
	return &fakeNode{Node: nodetest.New(t), t: t, home: testkit.TempDir(t)}
}

// A result is what a run of the program came to.
type result struct {
	code     int
	out, err string
}

func (f *fakeNode) run(args ...string) result {
	f.t.Helper()
	return f.runWith(nil, args...)
}

func (f *fakeNode) runWith(env map[string]string, args ...string) result {
	f.t.Helper()
	vars := map[string]string{"SESS_URL": f.URL, "HOME": f.home, "USER": "tester"}
	for k, v := range env {
		vars[k] = v
	}
	var out, errs bytes.Buffer
	code := run(f.t.Context(), args, func(k string) string { return vars[k] }, strings.NewReader(f.stdin), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// app is an app on its own, for what needs no command line.
func testApp(env map[string]string) app {
	return app{cli.New(func(k string) string { return env[k] }, strings.NewReader(""), io.Discard, io.Discard)}
}

const testID = "01aaaaaaaaaaaaaaaaaaaaaaaa"

func wantResult(t *testing.T, got result, code int, out, errs string) {
	t.Helper()
	if got.code != code {
		t.Errorf("exit code %d, want %d", got.code, code)
	}
	if !strings.Contains(got.out, out) {
		t.Errorf("stdout lacks %q:\n%s", out, got.out)
	}
	if !strings.Contains(got.err, errs) || errs == "" && got.err != "" {
		t.Errorf("stderr lacks %q:\n%s", errs, got.err)
	}
}
