// Package read has the verbs of sessctl that read sessions.
package read

import (
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

// An app is a run of the program, with the verbs of this package as methods.
type app struct{ *cli.App }

// Commands returns new commands, one for each verb of this package.
func Commands(c *cli.App) []*cobra.Command {
	a := app{c}
	return []*cobra.Command{
		attachCmd(a),
		childrenCmd(a),
		modelInputCmd(a),
		a.Renamed("context", modelInputCmd(a)),
		diffCmd(a),
		entriesCmd(a),
		exportCmd(a),
		headsCmd(a),
		historyCmd(a),
		infoCmd(a),
		lineageCmd(a),
		lsCmd(a),
		mcpCmd(a),
		searchCmd(a),
		secretsCmd(a),
		tailCmd(a),
		traceCmd(a),
		treeCmd(a),
		usageCmd(a),
	}
}
