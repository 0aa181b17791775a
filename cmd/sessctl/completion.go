package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/session/catalog"
)

const (
	completionTime = 2 * time.Second // a shell must not hang
	completionMost = 100
)

func completionCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a shell completion script",
		Long: `Prints a script for SHELL: bash, zsh or fish. It completes verbs, flags, ids of
sessions, names of contexts and of agents. For ids it asks the node, for two
seconds at most.

-o changes nothing here.`,
		Example: `sessctl completion bash > ~/.local/share/bash-completion/completions/sessctl
sessctl completion zsh > "${fpath[1]}/_sessctl"
sessctl completion fish > ~/.config/fish/completions/sessctl.fish`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.Stdout)
			case "fish":
				return root.GenFishCompletion(a.Stdout, true)
			}
			return cli.Usagef("%.64q is not one of bash, zsh, fish", args[0])
		},
	}
}

// complete has the verbs that take sessions complete their ids, and flags their
// values.
func (a app) complete(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		a.complete(cmd)
	}
	if cmd := root; cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && strings.Contains(cmd.Use, "SESSION") {
		cmd.ValidArgsFunction = a.completeSessions
		if !strings.Contains(cmd.Use, "SESSION...") { // what follows is no session
			cmd.ValidArgsFunction = a.completeSession
		}
	}
	for name, values := range map[string][]string{
		"output": cli.Formats, "dialect": agentNames(), "agent": agentNames(), "as": agentNames(), "sort": {"modified", "changed", "created", "name", "size", "cost", "entries"}, "state": cli.States,
	} {
		if root.LocalFlags().Lookup(name) != nil {
			_ = root.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // it fails where it was done already
		}
	}
	if root.LocalFlags().Lookup("context") != nil {
		_ = root.RegisterFlagCompletionFunc("context", a.completeContexts)
	}
}

func agentNames() (names []string) {
	for _, d := range dialect.All() {
		names = append(names, d.Name())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// completeSessions lists the ids that begin with what was typed, the latest used
// first. What looks like a file is left to the shell.
func (a app) completeSessions(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if cli.LooksLikePath(typed) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	node, err := a.Client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	page, err := node.List(ctx, catalog.Filter{Prefix: typed, Limit: completionMost})
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var words []string
	for _, row := range page.Sessions {
		title := cli.Plain(cli.Cut(cli.Join("  ", row.Name, row.First), 60))
		words = append(words, cobra.CompletionWithDesc(string(row.ID), title))
	}
	return words, cobra.ShellCompDirectiveKeepOrder
}

// completeSession is completeSessions for the first argument.
func (a app) completeSession(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.completeSessions(cmd, args, typed)
}

func (a app) completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	c, err := a.ReadContexts()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(c.Contexts)), cobra.ShellCompDirectiveNoFileComp
}
