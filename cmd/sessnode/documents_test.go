package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/test/operations/blocks"
)

// TestDocumentedCommandsAreAccepted checks the commands in the documents against
// the program's flags and their values.
func TestDocumentedCommandsAreAccepted(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/OPERATIONS.md", "docs/SECURITY.md", "docs/CLI.md", "docs/METRICS.md", "deploy/k8s/README.md", "deploy/monitoring/README.md"} {
		calls, err := blocks.Calls("../../"+doc, "sessnode")
		if err != nil {
			t.Error(err)
		}
		for _, call := range calls {
			if err := accepted(t, call.Args); err != nil {
				t.Errorf("%s, %s: %v", doc, call, err)
			}
		}
		t.Logf("%s: %d commands", doc, len(calls))
	}
}

func TestInvalidCommandsAreRejected(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"serve"}, {"--listem", "x"}, {"--nats-sync", "often"}, {"--blobs-store", "tape"}} {
		if accepted(t, args) == nil {
			t.Errorf("sessnode %q is accepted", args)
		}
	}
}

// accepted returns why the program would reject args. It runs the config command
// instead of serving, and the help of benchmarks.
func accepted(t *testing.T, args []string) error {
	if i := slices.Index(args, "--config"); i >= 0 { // a file of the reader
		args = slices.Delete(slices.Clone(args), i, min(i+2, len(args)))
	}
	if len(args) > 0 && args[0] == "bench" {
		return run(t.Context(), append(slices.Clone(args), "--help"), nil, io.Discard, io.Discard)
	}
	if len(args) == 0 || strings.HasPrefix(args[len(args)-1], "-") || len(args) > 1 && strings.HasPrefix(args[len(args)-2], "--") {
		args = append(slices.Clone(args), "config")
	}
	return run(t.Context(), args, []string{"SESS_TOKEN=a-token-of-the-documents"}, io.Discard, io.Discard)
}
