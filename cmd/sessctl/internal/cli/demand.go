package cli

import (
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// demandFlags select the consistency of reads.
type demandFlags struct {
	seen   string
	strict bool
	api.ReadOptions
}

// Add adds the flags to cmd.
func (d *demandFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.seen, "seen", "", "wait until the session has the record of this `CURSOR`")
	cmd.Flags().StringVar(&d.At, "at", "", "read the session as it was after `RECORD`: a number, a cursor, or entry:ID (an import is one record)")
	cmd.Flags().BoolVar(&d.strict, "strict", false, "read with confirmation by a quorum of the log's servers")
}

func (d *demandFlags) check() (err error) {
	d.Strict = d.strict
	if d.Seen, err = core.ParseCursor(d.seen); err != nil {
		return Usagef("--seen: %.128q is not a cursor", d.seen)
	}
	return nil
}

// on returns src with the consistency of d.
func (d *demandFlags) on(src Source) (Source, error) {
	if d.ReadOptions == (api.ReadOptions{}) {
		return src, nil
	}
	if src.File != nil {
		return src, Usagef("--at, --seen and --strict require a session in the log, not a file")
	}
	src.Node = src.Node.WithReadOptions(d.ReadOptions)
	return src, nil
}
