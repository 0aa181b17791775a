// Package admin has the verbs of sessctl that operate a log: its health, its
// blobs, its backups and its cleaning up.
package admin

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
		auditCmd(a),
		backupCmd(a),
		blobsCmd(a),
		checkpointCmd(a),
		doctorCmd(a),
		eraseCmd(a),
		legalHoldCmd(a),
		a.Renamed("hold", legalHoldCmd(a)),
		rebuildCmd(a),
		redactCmd(a),
		restoreCmd(a),
		retentionCmd(a),
		shareCmd(a),
		statusCmd(a),
		tokenCmd(a),
		topCmd(a),
		verifyCmd(a),
	}
}
