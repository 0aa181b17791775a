package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
)

func redactCmd(a *app) *cobra.Command {
	var f redactFlags
	cmd := &cobra.Command{
		Use:   "redact SESSION ENTRY...",
		Short: "Take what entries say out of a session for good",
		Long: `Shows the lines that would stand in place of entries. With --yes they do: what
the entries say is gone from the session, its snapshots, its records, and from
listings and searches, and nobody can give them other content again. Ids, links,
types, roles, times and numbers stay, so that the agent can go on. The SESSION
is written in full.

Only the entries that are named are redacted: what others say about them (labels,
summaries, names) stays, and so do sessions that came from this one, which are
listed. What was stopped in the middle is completed by the same again. Where the
brokers flush late (the node's setting nats.sync), it waits for twice that time,
and says so.

With -o json: one object with session, log, cursor, entries, forks; without --yes
lines (as they would be) and wait (nanoseconds, where the brokers flush late), with --yes sha256, object (the new snapshot), removed
(records, snapshots, rows) and remains.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.yes && strings.TrimSpace(f.why) == "" {
				return usagef("say the reason with --why TEXT, the log keeps it")
			}
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			return a.redact(ctx, args[0], args[1:], f)
		},
	}
	whyFlag(cmd, &f.why)
	cmd.Flags().StringVar(&f.with, "with", "", "a `TEXT` in the place of what they say (default \"[redacted]\")")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do it, do not only show it")
	return cmd
}

type redactFlags struct {
	why  string
	with string
	yes  bool
}

func (a *app) redact(ctx context.Context, arg string, entries []string, f redactFlags) error {
	node, id, err := a.inFull(arg)
	if err != nil {
		return err
	}
	q := api.RedactRequest{Notice: a.notice(f.why), Entries: entries, With: f.with, DryRun: !f.yes}
	if q.DryRun && q.Why == "" {
		q.Why = "dry run"
	}
	if f.yes { // said before, by whoever waits; what is wrong, the redaction tells
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
	return a.print(out, func() error { return a.printRedacted(out, f.yes) })
}

func (a *app) printRedacted(out api.Redacted, done bool) error {
	for _, line := range out.Lines {
		if err := a.printf("%s", plain(string(line))); err != nil {
			return err
		}
	}
	for _, fork := range out.Forks {
		if err := a.printf("stays    session %s, which came from it", plain(fork)); err != nil {
			return err
		}
	}
	if !done {
		a.noteWait(out.Wait)
		a.notef("nothing was done yet, redact with: --yes --why TEXT")
		return nil
	}
	if err := a.printf("redacted %s", count(len(out.Entries), "entry", "entries")); err != nil {
		return err
	}
	if err := a.printf("removed  %s, %s", count(out.Removed.Records, "record", "records"), count(out.Removed.Snapshots, "snapshot", "snapshots")); err != nil {
		return err
	}
	return a.printRemains(out.Remains)
}
