package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
)

type gcFlags struct {
	apply bool
	grace time.Duration
	why   string
	gone  []string
}

func blobsGCCmd(a *app) *cobra.Command {
	var f gcFlags
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Collect blobs that no session names",
		Long: `Reads every session of the log and says which blobs no session names. With
--apply those that are older than the grace move to the trash, where they are
still read; what has lain there for a grace and is still not named is deleted
for good, and a record says so; what is named again is put back. So a blob goes
by two runs, a grace apart. Run it daily, when little else is going on.

One session that cannot be read ends the run, with its name, and nothing is
touched. So does a bucket that another log keeps its blobs in. Where that log is
gone for good, such as one that was restored from a backup into the same bucket
under the same name, say so with --gone and what the refusal names; with --apply
it is then forgotten that the log kept blobs there.

With -o json: one object with run, log, applied, grace, began, ended, sessions
and erased (how many there are), stored, referenced, unreferenced, young (of the
unreferenced), trash, moved, putBack and deleted, each with blobs and bytes,
references (each blob counted for each session that names it), saved (bytes that
this sharing saves) and missing (digests that sessions name and that are
nowhere). Where applied is false, moved, putBack and deleted are what would be.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("grace") && f.grace <= 0 {
				return usagef("--grace %s is not above 0", f.grace)
			}
			if len(f.gone) > 0 && f.apply && f.why == "" {
				return usagef("say with --why TEXT how it is known that the log is gone")
			}
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			return a.blobsGC(ctx, f)
		},
	}
	cmd.Flags().BoolVar(&f.apply, "apply", false, "do it, do not only say what would be done")
	cmd.Flags().DurationVar(&f.grace, "grace", 0, "leave alone what is younger than this `TIME` (default the node's blobs.grace, and not less)")
	cmd.Flags().StringVar(&f.why, "why", "", "`TEXT` for the record of what is deleted")
	cmd.Flags().StringArrayVar(&f.gone, "gone", nil, "the log that signed the bucket as `KEY` is gone for good; may be repeated")
	return cmd
}

func (a *app) blobsGC(ctx context.Context, f gcFlags) error {
	node, err := a.client()
	if err != nil {
		return err
	}
	q := api.GCRequest{Apply: f.apply, Why: f.why, Gone: f.gone}
	q.By, q.Host = a.whoami()
	if f.grace > 0 {
		q.Grace = f.grace.String()
	}
	r, err := node.CollectBlobs(ctx, q)
	if err != nil {
		return err
	}
	r.Missing = notNil(r.Missing)
	return a.print(r, func() error { return a.printGC(r) })
}

func (a *app) printGC(r api.GCReport) error {
	moved, back, deleted := "moved to the trash", "put back", "deleted for good"
	if !r.Applied {
		moved, back, deleted = "to move to the trash", "to put back", "to delete for good"
	}
	g := a.newGrid()
	g.add("", "BLOBS", "SIZE")
	add := func(what string, blobs, bytes int64) {
		g.add(what, strconv.FormatInt(blobs, 10), bytesText(bytes))
	}
	add("stored", r.Stored.Blobs, r.Stored.Bytes)
	add("named by sessions", r.Referenced.Blobs, r.Referenced.Bytes)
	add("not named", r.Unreferenced.Blobs, r.Unreferenced.Bytes)
	add("not named, younger than "+r.Grace, r.Young.Blobs, r.Young.Bytes)
	add("copies in the trash", r.Trash.Blobs, r.Trash.Bytes)
	add(moved, r.Moved.Blobs, r.Moved.Bytes)
	add(back, r.PutBack.Blobs, r.PutBack.Bytes)
	add(deleted, r.Deleted.Blobs, r.Deleted.Bytes)
	if err := g.flush(); err != nil {
		return err
	}
	if err := a.printf("%s of %s: sharing saves %s", count(r.References, "reference", "references"),
		count(r.Sessions, "session", "sessions"), bytesText(r.Saved)); err != nil {
		return err
	}
	for _, d := range r.Missing {
		a.notef("sessions name %s, which is nowhere: sessctl verify --all says which", d)
	}
	if !r.Applied && r.Moved.Blobs+r.PutBack.Blobs+r.Deleted.Blobs > 0 {
		a.notef("nothing was done yet, do it with: --apply")
	}
	return nil
}
