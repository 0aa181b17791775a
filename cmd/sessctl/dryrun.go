package main

import "github.com/spf13/cobra"

// dryFlag gives a verb that writes to sessions a dry run: the node checks what it
// is asked and answers as it would, and stores nothing.
func (a *app) dryFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.dry, "dry-run", false, "have the node validate the request and show the result, but store nothing")
}

// sayDry tells people once that what they read did not happen.
func (a *app) sayDry() {
	if !a.saidDry {
		a.saidDry = true
		a.notef("a dry run: nothing is stored, here is what it would come to")
	}
}
