package main

import (
	"cmp"
	"fmt"
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
	{"Agents on this host:", "run acp loop resume rescue watch service import ps claim release"},
	{"Reading sessions:", "ls info usage tree diff model-input entries children heads attach tail search history lineage export trace share mcp"},
	{"Writing to sessions:", "new append label name move-head fork merge checkpoint"},
	{"Cleaning up:", "rm retention secrets redact erase legal-hold"},
	{"Operating a log:", "status top doctor verify rebuild backup restore blobs token audit bench"},
	{"This program:", "contexts completion man version help"},
}

// mainVerbs are those that sessctl --help shows, in this order.
const mainVerbs = "import run resume watch ls search tree attach model-input export fork status"

// usageTemplate is what follows the first paragraph of a verb's help.
const usageTemplate = `Usage:
  {{.UseLine}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Verbs:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .LocalNonPersistentFlags.HasAvailableFlags}}

Flags:
{{.LocalNonPersistentFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}
`

// exampleIndent is in front of each example in help.
const exampleIndent = "  "

// setHelp sorts the verbs of root into sections, and sets the help of all verbs.
func setHelp(root *cobra.Command) {
	root.SetHelpCommand(helpCmd())
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
	root.SetUsageTemplate(usageTemplate)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if cmd == root {
			fmt.Fprint(cmd.OutOrStdout(), rootPage(root, false))
			return
		}
		fmt.Fprint(cmd.OutOrStdout(), page(cmd))
	})
}

func helpCmd() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "help [VERB]",
		Short: "Show the help of a verb or a topic, or --all verbs",
		Long:  `Shows the help of a verb, such as sessctl help resume, or a topic, such as sessctl help claims.`,
		Example: `sessctl help --all
sessctl help resume`,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if len(args) == 0 {
				fmt.Fprint(cmd.OutOrStdout(), rootPage(root, all))
				return nil
			}
			of, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 || of == root {
				return unknownVerb(root, args[0])
			}
			return of.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if of, _, err := cmd.Root().Find(args); err == nil {
				names = verbsOf(of)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list all verbs")
	return cmd
}

// page is the help of a verb or a topic: what it does, how it is called, and then
// the details.
func page(cmd *cobra.Command) string {
	first, details, _ := strings.Cut(fitted(cmp.Or(cmd.Long, cmd.Short)), "\n\n")
	if !cmd.Runnable() && !cmd.HasSubCommands() {
		return fitted(cmd.Long) + "\n" // a topic
	}
	text := first + "\n\n" + cmd.UsageString()
	if details != "" {
		text += "\n" + details + "\n"
	}
	return text + "\nGlobal flags: sessctl help flags\n"
}

// rootPage is the help of the program, with the main verbs or all.
func rootPage(root *cobra.Command, all bool) string {
	var b strings.Builder
	about, _, _ := strings.Cut(fitted(root.Long), "\n\n")
	b.WriteString(about + "\n\nUsage:\n  sessctl VERB [ARGUMENT...] [flags]\n\nExamples:\n" + root.Example + "\n")
	row := func(cmd *cobra.Command) { fmt.Fprintf(&b, "  %-*s %s\n", root.NamePadding(), cmd.Name(), cmd.Short) }
	if all {
		for _, g := range root.Groups() {
			b.WriteString("\n" + g.Title + "\n")
			for _, cmd := range root.Commands() {
				if cmd.GroupID == g.ID && !cmd.Hidden {
					row(cmd)
				}
			}
		}
	} else {
		b.WriteString("\nMain verbs:\n")
		for name := range strings.FieldsSeq(mainVerbs) {
			if cmd, _, err := root.Find([]string{name}); err == nil {
				row(cmd)
			}
		}
	}
	b.WriteString("\nTopics:\n")
	for _, cmd := range root.Commands() {
		if cmd.IsAdditionalHelpTopicCommand() {
			row(cmd)
		}
	}
	b.WriteString("\nAll verbs: sessctl help --all. One verb or topic: sessctl help NAME\n")
	return b.String()
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
