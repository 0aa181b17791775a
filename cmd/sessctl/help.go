package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

// helpWidth is the width of help, in columns.
const helpWidth = 80

// verbGroups are the sections of the list of verbs.
var verbGroups = []struct {
	FileTitle string
	verbs     string
}{
	{"Agents on this host:", "run resume watch import ps claim release"},
	{"Reading sessions:", "ls info usage tree context entries children heads attach tail search history lineage export"},
	{"Writing to sessions:", "new append label name branch fork merge checkpoint"},
	{"Cleaning up:", "rm prune hold redact erase retention"},
	{"Operating a log:", "status top doctor verify rebuild backup restore blobs token audit bench"},
	{"This program:", "contexts completion man version help"},
}

// exampleIndent is in front of each example in help.
const exampleIndent = "  "

// setHelp sorts the verbs of root into sections, and fits the help of every verb
// into helpWidth.
func setHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	group := map[string]string{}
	for _, g := range verbGroups {
		root.AddGroup(&cobra.Group{ID: g.FileTitle, Title: g.FileTitle})
		for verb := range strings.FieldsSeq(g.verbs) {
			group[verb] = g.FileTitle
		}
	}
	for _, cmd := range root.Commands() {
		cmd.GroupID = group[cmd.Name()]
	}
	indentExamples(root)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "FlagUsages", "FlagUsagesWrapped "+strconv.Itoa(helpWidth)))
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", fitted(cmp.Or(cmd.Long, cmd.Short)), cmd.UsageString())
	})
}

// indentExamples indents the examples of cmd and of its verbs, as the usage
// template expects them.
func indentExamples(cmd *cobra.Command) {
	if cmd.Example != "" {
		cmd.Example = exampleIndent + strings.ReplaceAll(cmd.Example, "\n", "\n"+exampleIndent)
	}
	for _, sub := range cmd.Commands() {
		indentExamples(sub)
	}
}

// fitted returns text with its wide paragraphs wrapped. Indented paragraphs and
// lists stay as they are.
func fitted(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		tooWide, indented := false, false
		for line := range strings.SplitSeq(p, "\n") {
			tooWide = tooWide || cli.Columns(line) > helpWidth
			indented = indented || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "- ")
		}
		if tooWide && !indented {
			paragraphs[i] = cli.Wrapped(p, helpWidth, 0)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
