package admin

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core/report"
)

type gcFlags struct {
	cli.Confirmation
	grace time.Duration
	why   string
	gone  []string
}

func blobsGCCmd(a app) *cobra.Command {
	var f gcFlags
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Collect blobs that no session uses",
		Long: `Reads every session of the log, shows which blobs no session uses, and asks
whether to collect them; --yes does so without a question. Unused blobs that are
older than the grace period move to the trash, from where they can still be read.
Blobs that were in the trash for a grace period and are still unused are deleted
permanently, which a record documents. Blobs that are used again return from the
trash. So deleting a blob takes two runs that are a grace period apart. Run it
daily, at a quiet time.

If a session cannot be read, or another log keeps its blobs in the same bucket,
the run fails and changes nothing. If that log no longer exists, for example
because it was restored from a backup into the same bucket under the same name,
pass --gone with the key from the error; with --yes the bucket then forgets it.

With -o json: one object with run, log, applied, grace, began, ended, sessions
and erased (how many there are), stored, referenced, unreferenced, young (of the
unreferenced), trash, moved, putBack and deleted, each with blobs and bytes,
references (each blob counted for each session that uses it), saved (bytes that
sharing saves) and missing (digests that sessions use but the store lacks). If
applied is false, moved, putBack and deleted are predictions.`,
		Example: `sessctl blobs gc
sessctl blobs gc --yes --why "nightly run"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("grace") && f.grace <= 0 {
				return cli.Usagef("--grace %s is not above 0", f.grace)
			}
			if len(f.gone) > 0 && f.Yes && f.why == "" {
				return cli.Usagef("--why is missing: how you know that the log is gone")
			}
			ctx, cancel := a.Within(cmd, cli.Forever)
			defer cancel()
			return a.blobsGC(ctx, f)
		},
	}
	f.Add(a.App, cmd)
	cli.DurationVar(cmd.Flags(), &f.grace, "grace", 0, "keep blobs that are younger than this `TIME` (default, and minimum: the node's blobs.grace)")
	cmd.Flags().StringVar(&f.why, "why", "", "`TEXT` for the record of the deletion")
	cmd.Flags().StringArrayVar(&f.gone, "gone", nil, "the log that signed the bucket as `KEY` no longer exists; may be repeated")
	return cmd
}

func (a app) blobsGC(ctx context.Context, f gcFlags) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	q := api.GCRequest{Apply: f.Yes, Why: f.why, Gone: f.gone}
	q.By, q.Host = a.Caller()
	if f.grace > 0 {
		q.Grace = f.grace.String()
	}
	r, err := node.CollectBlobs(ctx, q)
	if err != nil {
		return err
	}
	r.Missing = cli.NotNil(r.Missing)
	if err := a.Print(r, func() error { return a.printGC(r) }); err != nil || f.Yes || r.Moved.Blobs+r.PutBack.Blobs+r.Deleted.Blobs == 0 {
		return err
	}
	if len(f.gone) > 0 && f.why == "" {
		a.Notef("nothing was changed; to do it: --yes --why TEXT")
		return nil
	}
	if f.Yes, err = a.Confirm(ctx, "Collect them?", "to collect them: --yes"); err != nil || !f.Yes {
		return err
	}
	return a.blobsGC(ctx, f)
}

func (a app) printGC(r report.GC) error {
	moved, back, deleted := "moved to the trash", "restored", "deleted permanently"
	if !r.Applied {
		moved, back, deleted = "to move to the trash", "to restore", "to delete permanently"
	}
	g := a.NewGrid()
	g.Row("", "BLOBS", "SIZE")
	add := func(what string, blobs, bytes int64) {
		g.Row(what, strconv.FormatInt(blobs, 10), cli.Bytes(bytes))
	}
	add("stored", r.Stored.Blobs, r.Stored.Bytes)
	add("named by sessions", r.Referenced.Blobs, r.Referenced.Bytes)
	add("not named", r.Unreferenced.Blobs, r.Unreferenced.Bytes)
	add("not named, younger than "+r.Grace, r.Young.Blobs, r.Young.Bytes)
	add("copies in the trash", r.Trash.Blobs, r.Trash.Bytes)
	add(moved, r.Moved.Blobs, r.Moved.Bytes)
	add(back, r.PutBack.Blobs, r.PutBack.Bytes)
	add(deleted, r.Deleted.Blobs, r.Deleted.Bytes)
	if err := g.Flush(); err != nil {
		return err
	}
	if err := a.Printf("%s of %s: sharing saves %s", cli.Count(r.References, "reference", "references"),
		cli.Count(r.Sessions, "session", "sessions"), cli.Bytes(r.Saved)); err != nil {
		return err
	}
	for _, d := range r.Missing {
		a.Notef("sessions refer to %s, which is missing; list them with: sessctl verify --all", d)
	}
	return nil
}
