package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func verifyCmd(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "verify SESSION...",
		Short: "Check that everything a session holds is there and unharmed",
		Long: `Reads every record of the sessions, their snapshots and blobs, and proves that
they are what was promised. With --all every session there is, the trash too.
Exits with 8 if there are problems.

With -o json: an object for each session, each on a line of its own: session,
records, entries, blobs, snapshot, cursor, and problems, each with kind
(record, chain, snapshot, blob or directory), what, detail and next.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usagef("name sessions, or give --all")
			}
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			return a.verify(ctx, cmd, args)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "verify every session")
	return cmd
}

// verify checks the sessions that args name, or all.
func (a *app) verify(ctx context.Context, cmd *cobra.Command, args []string) error {
	node, ids, err := a.toVerify(ctx, args)
	if err != nil {
		return err
	}
	problems, harmed, failed := 0, 0, 0
	for _, id := range ids {
		r, err := node.Verify(ctx, string(id))
		switch {
		case err == nil:
			problems += len(r.Problems)
			if len(r.Problems) > 0 {
				harmed++
			}
			if err := a.printReport(r); err != nil {
				return err
			}
		case len(ids) == 1, ctx.Err() != nil, unanswered(err):
			return err
		default:
			if exit := a.show(cmd, fmt.Errorf("%s: %w", id, err)); failed != exitDamaged {
				failed = exit
			}
		}
	}
	if problems > 0 {
		return hintf(fmt.Errorf("%s in %s%w", count(problems, "problem", "problems"), count(harmed, "session", "sessions"), silent{core.ErrCorrupt}),
			"keep everything as it is, and see what each problem says")
	}
	if failed != 0 {
		return reported{failed}
	}
	return nil
}

func (a *app) toVerify(ctx context.Context, args []string) (node *api.Client, ids []core.SessionID, err error) {
	for _, arg := range args {
		var id core.SessionID
		if node, id, err = a.inLog(ctx, arg); err != nil {
			return nil, nil, err
		}
		ids = append(ids, id)
	}
	if len(args) > 0 {
		return node, ids, nil
	}
	if node, err = a.client(); err != nil {
		return nil, nil, err
	}
	for _, trash := range []bool{false, true} {
		rows, _, err := allSessions(ctx, node, lsFlags{deleted: trash})
		if err != nil {
			return nil, nil, err
		}
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
	}
	return node, ids, nil
}

func (a *app) printReport(r api.Report) error {
	r.Problems = notNil(r.Problems)
	return a.print(r, func() error {
		state := "all is well"
		if len(r.Problems) > 0 {
			state = count(len(r.Problems), "problem", "problems")
		}
		err := a.printf("%s  %s: %s, %s, %s", r.Session, state,
			count(r.Records, "record", "records"), count(r.Entries, "entry", "entries"), count(r.Blobs, "blob", "blobs"))
		for _, p := range r.Problems {
			err = errors.Join(err, a.printf("  %s %s: %s", plain(p.Kind), plain(p.What), plain(p.Detail)))
			if p.Next != "" {
				err = errors.Join(err, a.printf("    next: %s", plain(p.Next)))
			}
		}
		return err
	})
}
