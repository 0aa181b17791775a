// Package agents has the verbs of sessctl that work with agents on this host.
package agents

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
		acpCmd(a),
		claimCmd(a),
		loopCmd(a),
		psCmd(a),
		releaseCmd(a),
		rescueCmd(a),
		resumeCmd(a),
		runCmd(a),
		serviceCmd(a),
		watchCmd(a),
	}
}
