package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/admin"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/agents"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/read"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/write"
)

// An app is a run of the program, with the verbs of this package as methods.
type app struct{ *cli.App }

// commands returns new commands for all verbs. Each run has its own, because a
// command keeps the values of its flags.
func (a app) commands() []*cobra.Command {
	return slices.Concat(read.Commands(a.App), write.Commands(a.App), agents.Commands(a.App), admin.Commands(a.App),
		[]*cobra.Command{contextsCmd(a), completionCmd(a), manCmd(a), versionCmd(a)})
}

// root returns the root command with all verbs.
func (a app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "sessctl",
		Short:         "Read, write and move the sessions of agents",
		Long:          rootHelp,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				cmd.SetOut(a.Stderr)
				_ = cmd.Help()
				return cli.Usagef("no verb given")
			}
			return unknownVerb(cmd, args[0])
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.Start()
			return refuseEmpty(cmd)
		},
	}
	cmd.SetIn(a.Stdin)
	cmd.SetOut(a.Stdout)
	cmd.SetErr(a.Stderr)
	cmd.CompletionOptions.DisableDefaultCmd = true // there is completionCmd
	cmd.SuggestionsMinimumDistance = 2
	cmd.Version = thisVersion().Version
	cmd.SetVersionTemplate("sessctl {{.Version}}\n")
	a.AddFlags(cmd.PersistentFlags())
	cmd.AddCommand(a.commands()...)
	a.complete(cmd)
	explainArguments(cmd)
	addTopics(cmd)
	setHelp(cmd)
	return cmd
}

// neverEmpty are the flags that must not be empty, each with the verb that this
// applies to, if not to all. An empty --seen waits for nothing, as the first call of a
// script wants.
var neverEmpty = map[string]string{
	"at": "", "head": "", "leaf": "", "after": "append", "until": "", "since": "", "key": "", "id": "",
	"cwd": "", "dialect": "", "agent": "", "tag": "", "custom": "", "prefix": "", "expires": "",
	"summary": "move-head",
}

// refuseEmpty rejects an empty position, id, filter or limit, such as that of a
// variable of a script that is not set: it would mean the default, such as all
// sessions.
func refuseEmpty(cmd *cobra.Command) error {
	for name, only := range neverEmpty {
		f := cmd.Flags().Lookup(name)
		if f == nil || !f.Changed || only != "" && cmd.Name() != only {
			continue
		}
		list, isList := f.Value.(pflag.SliceValue)
		if f.Value.String() == "" || isList && slices.Contains(list.GetSlice(), "") {
			return cli.Usagef("--%s is empty", name)
		}
	}
	return nil
}

// unknownVerb is the error for a name that is no verb. It proposes the verb that
// begins most like it.
func unknownVerb(root *cobra.Command, name string) error {
	near, begins := "", -1
	for _, verb := range root.SuggestionsFor(name) {
		if n := commonPrefix(verb, name); n > begins {
			near, begins = verb, n
		}
	}
	if near == "" {
		return cli.Usagef("unknown verb %.128q; list the verbs with: sessctl help --all", name)
	}
	return cli.Usagef("unknown verb %.128q; did you mean %.128q?", name, near)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
