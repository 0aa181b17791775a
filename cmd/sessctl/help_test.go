package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

// Every line of help fits into 80 columns, and the list of verbs has each verb in a
// section.
func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	root := testApp(nil).root()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); cli.Columns(line) > 80 {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), cli.Columns(line), line)
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	for _, cmd := range root.Commands() {
		if !cmd.Hidden && !cmd.IsAdditionalHelpTopicCommand() && cmd.GroupID == "" {
			t.Errorf("%s is in no section of the list of verbs", cmd.Name())
		}
	}
}

func TestWrongArgumentsAreAnsweredWithTheUsageLine(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"info"}, "info: got 0 arguments; usage: sessctl info SESSION\n"},
		{[]string{"redact", testID}, "redact: got 1 argument; usage: sessctl redact SESSION ENTRY...\n"},
		{[]string{"ps", "x"}, "ps: got 1 argument; usage: sessctl ps\n"},
		{[]string{"retention", "check"}, `retention: unknown verb: sessctl retention "check"; the verbs are: apply, plan` + "\n"},
		{[]string{"resume", testID, "pi"}, `resume: put two dashes before the agent: sessctl resume "` + testID + `" -- "pi"` + "\n"},
	} {
		wantResult(t, f.run(c.args...), cli.ExitUsage, "", c.want)
	}
}
