package cli

import "github.com/spf13/cobra"

// DryRunFlag adds --dry-run: the node validates requests and returns the result,
// but stores nothing.
func (a *App) DryRunFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.DryRun, "dry-run", false, "have the node validate the request and show the result, but store nothing")
}

// sayDry prints a note once that nothing is stored.
func (a *App) sayDry() {
	if !a.saidDry {
		a.saidDry = true
		a.Notef("dry run: nothing is stored; the result would be:")
	}
}
