// Package write has the verbs of sessctl that write sessions.
package write

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
		appendCmd(a),
		moveHeadCmd(a),
		a.Renamed("branch", moveHeadCmd(a)),
		forkCmd(a),
		importCmd(a),
		labelCmd(a),
		mergeCmd(a),
		nameCmd(a),
		newCmd(a),
		rmCmd(a),
		a.Renamed("prune", rmCmd(a)),
	}
}
