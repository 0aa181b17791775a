package main

import (
	"errors"
	"testing"

	"github.com/spf13/pflag"

	"github.com/sesslog/sesslog/test/operations/blocks"
)

// TestDocumentedCommandsAreValid parses each command of the documents: its verb
// exists and accepts the flags and the number of arguments.
func TestDocumentedCommandsAreValid(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/OPERATIONS.md", "docs/SECURITY.md", "docs/CLI.md", "docs/METRICS.md", "docs/DIALECTS.md", "docs/RELIABILITY.md", "deploy/k8s/README.md", "deploy/monitoring/README.md"} {
		calls, err := blocks.Calls("../../"+doc, "sessctl")
		if err != nil {
			t.Error(err)
		}
		for _, call := range calls {
			if err := accepted(call.Args, call.Prose); err != nil {
				t.Errorf("%s, %s: %v", doc, call, err)
			}
		}
		t.Logf("%s: %d commands", doc, len(calls))
	}
}

func TestInvalidCommandsAreRejected(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"importt", "x"}, {"ls", "--backwards"}, {"blobs", "burn"}, {"import", "--dry"}, {"backup", "prune"}, {"ls", "--limit", "many"}} {
		if accepted(args, false) == nil {
			t.Errorf("sessctl %q is accepted", args)
		}
	}
}

// accepted returns the error of parsing args, without running the command. In
// prose, arguments may be missing.
func accepted(args []string, prose bool) error {
	root := testApp(nil).root()
	root.InitDefaultHelpCmd()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if cmd == root {
		return errors.New("there is no such verb")
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		if missing := (*pflag.ValueRequiredError)(nil); prose && errors.As(err, &missing) {
			return nil
		}
		return err
	}
	words := cmd.Flags().Args()
	if cmd.HasSubCommands() && len(words) > 0 {
		return errors.New("there is no such verb")
	}
	if prose {
		return nil
	}
	return errors.Join(cmd.ValidateArgs(words), cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups())
}
