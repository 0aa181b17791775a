package admin

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func redactCmd(a app) *cobra.Command {
	var f redactFlags
	cmd := &cobra.Command{
		Use:   "redact SESSION ENTRY...",
		Short: "Remove the content of entries permanently",
		Long: `Shows the lines that would replace the entries, and asks whether to redact them;
--yes does so without a question. The content is removed from the session, its
snapshots, its records, and from listings and searches, and these entries cannot
get other content. Ids, links, types, roles, times and numbers stay, so that the
agent can continue.

Only the named entries are redacted. Other entries that quote them (labels,
summaries, names) stay, and so do sessions that were made from this one, which are
listed. To complete an interrupted redaction, repeat the command. If the brokers
sync late (the node's setting nats.sync), redact waits for twice that interval and
says so.

With -o json: one object with session, log, cursor, entries, forks; without --yes
lines (the replacements) and wait (nanoseconds, if the brokers sync late), with
--yes sha256, object (the new snapshot), removed (records, snapshots, rows) and
remains.`,
		Example: `sessctl redact 019a a1b2c3d4
sessctl redact 019a a1b2c3d4 --yes --why "a key"`,
		Args: cobra.MinimumNArgs(2),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			if f.Yes && strings.TrimSpace(f.why) == "" {
				return cli.Usagef("--why is missing: the reason, which the log stores")
			}
			return a.redact(ctx, args[0], args[1:], f)
		}),
	}
	cli.WhyFlag(cmd, &f.why)
	cmd.Flags().StringVar(&f.with, "with", "", "the replacement `TEXT` (default \"[redacted]\")")
	f.Add(a.App, cmd)
	return cmd
}

type redactFlags struct {
	cli.Confirmation
	why  string
	with string
}

func (a app) redact(ctx context.Context, arg string, entries []string, f redactFlags) error {
	node, id, err := a.anySession(ctx, arg)
	if err != nil {
		return err
	}
	q := api.RedactRequest{Notice: a.Notice(f.why), Entries: entries, With: f.with, DryRun: !f.Yes}
	if q.DryRun && q.Why == "" {
		q.Why = "dry run"
	}
	if f.Yes { // the wait is printed before it starts; errors are those of the redaction
		try := q
		try.DryRun = true
		if would, err := node.Redact(ctx, string(id), try); err == nil {
			a.noteWait(would.Wait)
		}
	}
	out, err := node.Redact(ctx, string(id), q)
	if err != nil {
		return err
	}
	if err := a.Print(out, func() error { return a.printRedacted(out, f.Yes) }); err != nil || f.Yes {
		return err
	}
	if f.Yes, f.why, err = a.confirmPermanent(ctx, "Redact these entries permanently?", f.why, "to redact: --yes --why TEXT"); err != nil || !f.Yes {
		return err
	}
	return a.redact(ctx, arg, entries, f)
}

func (a app) printRedacted(out api.Redacted, done bool) error {
	for _, line := range out.Lines {
		if err := a.Printf("%s", cli.Plain(string(line))); err != nil {
			return err
		}
	}
	for _, fork := range out.Forks {
		if err := a.Printf("stays    session %s, which came from it", cli.Plain(fork)); err != nil {
			return err
		}
	}
	if !done {
		a.noteWait(out.Wait)
		return nil
	}
	if err := a.Printf("redacted %s", cli.Count(len(out.Entries), "entry", "entries")); err != nil {
		return err
	}
	if err := a.Printf("removed  %s, %s", cli.Count(out.Removed.Records, "record", "records"), cli.Count(out.Removed.Snapshots, "snapshot", "snapshots")); err != nil {
		return err
	}
	return a.printRemains(out.Remains)
}
