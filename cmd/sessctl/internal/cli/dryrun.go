package cli

import "github.com/spf13/cobra"

// DryRunFlag gives a verb that writes to sessions a dry run: the node checks what it
// is asked and answers as it would, and stores nothing.
func (a *App) DryRunFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.DryRun, "dry-run", false, "have the node validate the request and show the result, but store nothing")
}

// sayDry tells people once that what they read did not happen.
func (a *App) sayDry() {
	if !a.saidDry {
		a.saidDry = true
		a.Notef("dry run: nothing is stored; the result would be:")
	}
}
