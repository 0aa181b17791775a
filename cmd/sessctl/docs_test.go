package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	docsPath  = "../../docs/CLI.md"
	docsBegin = "<!-- verbs: written by: go test ./cmd/sessctl -run TestDocs -update -->\n"
	docsEnd   = "<!-- end of verbs -->\n"
)

// TestDocs holds docs/CLI.md to the program: every verb and flag is there, in
// its own words.
func TestDocs(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(docsPath)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), docsBegin)
	_, after, ok2 := strings.Cut(rest, docsEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks of its written part", docsPath)
	}
	want := before + docsBegin + "\n" + verbsDoc() + docsEnd + after
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the program says; run: go test ./cmd/sessctl -run TestDocs -update", docsPath)
	}
	if err := os.WriteFile(docsPath, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestDocsNameEveryExitCode(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(docsPath)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| %d \\|.*`%s`", o.exit, o.code))
		if !row.Match(b) {
			t.Errorf("the table of exit codes lacks %d %s", o.exit, o.code)
		}
	}
}

func verbsDoc() string {
	root := testApp(nil).root()
	root.InitDefaultHelpCmd()
	var b strings.Builder
	b.WriteString("### Flags of every verb\n\n")
	writeFlags(&b, root.PersistentFlags())
	writeVerbs(&b, root)
	return b.String()
}

func writeVerbs(b *strings.Builder, parent *cobra.Command) {
	for _, cmd := range parent.Commands() {
		if cmd.Name() == "help" || cmd.Hidden {
			continue
		}
		fmt.Fprintf(b, "### %s\n\n", strings.TrimPrefix(cmd.CommandPath(), "sessctl "))
		if !cmd.HasSubCommands() {
			fmt.Fprintf(b, "    %s\n\n", strings.TrimSuffix(cmd.UseLine(), " [flags]"))
		}
		fmt.Fprintf(b, "%s.\n\n%s\n\n", cmd.Short, strings.ReplaceAll(cmd.Long, "<", "&lt;"))
		writeFlags(b, cmd.LocalNonPersistentFlags())
		writeVerbs(b, cmd)
	}
}

func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	some := false
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		if !some {
			b.WriteString("| flag | |\n|---|---|\n")
		}
		some = true
		arg, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if arg != "" && f.Value.Type() != "bool" {
			name += " " + arg
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" {
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", name, usage)
	})
	if some {
		b.WriteString("\n")
	}
}
