package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// helpWidth is how many columns of a terminal help needs, whichever it is printed
// to.
const helpWidth = 80

// verbGroups are the verbs by what they are for.
var verbGroups = []struct {
	title string
	verbs string
}{
	{"Agents on this host:", "run resume watch import ps claim release"},
	{"Looking at sessions:", "ls info tree context entries children heads attach tail search history lineage export"},
	{"Writing to sessions:", "new append label name branch fork merge checkpoint"},
	{"Cleaning up:", "rm prune hold redact erase retention"},
	{"Keeping a log well:", "status top doctor verify rebuild backup restore blobs token audit bench"},
	{"This program:", "contexts completion man version help"},
}

// groupVerbs has root's help show the verbs by what they are for, and every verb's
// help fit a terminal.
func groupVerbs(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	group := map[string]string{}
	for _, g := range verbGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for verb := range strings.FieldsSeq(g.verbs) {
			group[verb] = g.title
		}
	}
	for _, cmd := range root.Commands() {
		cmd.GroupID = group[cmd.Name()]
	}
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "FlagUsages", "FlagUsagesWrapped "+strconv.Itoa(helpWidth)))
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", fitted(cmp.Or(cmd.Long, cmd.Short)), cmd.UsageString())
	})
}

// fitted is text with those of its paragraphs wrapped anew that are too wide.
// What is indented stays as it is.
func fitted(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		tooWide, indented := false, false
		for line := range strings.SplitSeq(p, "\n") {
			tooWide = tooWide || columns(line) > helpWidth
			indented = indented || strings.HasPrefix(line, " ")
		}
		if tooWide && !indented {
			paragraphs[i] = wrapped(p, helpWidth, 0)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
