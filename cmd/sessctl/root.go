package main

import (
	"github.com/spf13/cobra"
)

// verbs are the constructors of the commands. Each run has commands of its own,
// because a command keeps the values of its flags.
var verbs = []func(*app) *cobra.Command{
	importCmd, newCmd, lsCmd, infoCmd, treeCmd, contextCmd, entriesCmd, exportCmd,
	appendCmd, labelCmd, nameCmd, branchCmd, childrenCmd, forkCmd, mergeCmd, lineageCmd, tailCmd,
	resumeCmd, claimCmd, releaseCmd, headsCmd, psCmd,
	historyCmd, searchCmd, rmCmd, eraseCmd, redactCmd, holdCmd, pruneCmd, retentionCmd, auditCmd, verifyCmd, doctorCmd, checkpointCmd, rebuildCmd, statusCmd, topCmd, blobsCmd, benchCmd, versionCmd,
	backupCmd, restoreCmd,
	watchCmd, runCmd, attachCmd,
	contextsCmd, completionCmd, manCmd,
	tokenCmd,
}

// root makes the command that all verbs hang on.
func (a *app) root() *cobra.Command {
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
				cmd.SetOut(a.stderr)
				_ = cmd.Help()
				return usagef("no verb given")
			}
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return usagef("there is no verb %.128q; did you mean %.128q?", args[0], near[0])
			}
			return usagef("there is no verb %.128q", args[0])
		},
		PersistentPreRun: func(*cobra.Command, []string) { a.start() },
	}
	cmd.SetIn(a.stdin)
	cmd.SetOut(a.stdout)
	cmd.SetErr(a.stderr)
	cmd.CompletionOptions.DisableDefaultCmd = true // there is completionCmd
	cmd.SuggestionsMinimumDistance = 2
	a.addFlags(cmd.PersistentFlags())
	for _, verb := range verbs {
		cmd.AddCommand(verb(a))
	}
	a.complete(cmd)
	explainArguments(cmd)
	addTopics(cmd)
	setHelp(cmd)
	return cmd
}
