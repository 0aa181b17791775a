package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/hint"
)

func verifyCmd(a app) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify SESSION...",
		Short: "Check that sessions are complete and intact",
		Long: `Reads every record of the sessions, their snapshots and blobs, and verifies them.
With --all it verifies every session that the log has records of, including those
in the trash and those too damaged to be listed, and the log's streams. The exit
code is 8 if there are problems.

Each problem has a kind:

- hole: records are missing
- record: a record cannot be read
- end: the last record cannot be read
- body: the large body of a record is missing
- stray: the writer of a record knew records that the log has lost since
- copy: a server lacks a record that another one has
- snapshot, blob: it is missing or damaged
- row: a listing has more than the log
- lost: a snapshot or a listing proves records that the log has lost
- shard: messages inside a stream are missing

A session with lost records is restored from its latest snapshot if that continues
what the log has. Until it has all of them again it accepts no writes, and no
snapshot of it is deleted. --accept-loss ends that.

--repair repairs what another copy contains, and never guesses: lines of orphans
move to separate heads, a snapshot is written again from the records, a blob from
the node's memory if its digest matches, a row from the log. The output lists what
was repaired and what is left.

With -o json: one object per line for each session: session, records, rewritten (of
them, stored again after the log had lost them), restored (of them, from a
backup), entries, blobs, snapshot, cursor, problems, each with kind, what, detail
and next, and repaired, the same. With --all the last one is of the log: log,
sessions, problems.`,
		Example: `sessctl verify 019a
sessctl verify --all --repair`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.acceptLoss && f.all {
				return cli.Usagef("--accept-loss requires sessions, not --all")
			}
			if f.all == (len(args) > 0) {
				return cli.Usagef("either sessions or --all are required")
			}
			ctx, cancel := a.Within(cmd, cli.Forever)
			defer cancel()
			return a.verify(ctx, cmd, args, f)
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "verify every session and the log's streams")
	cmd.Flags().BoolVar(&f.repair, "repair", false, "repair what another copy contains")
	cmd.Flags().BoolVar(&f.acceptLoss, "accept-loss", false, "accept that records are lost: the sessions can be written again")
	return cmd
}

type verifyFlags struct{ all, repair, acceptLoss bool }

// tally counts the findings of verify.
type tally struct {
	problems, affected int
	unchecked          int // sessions that could not be verified
	failed             int // the exit code of one of them
}

// verify verifies the sessions of args, or all.
func (a app) verify(ctx context.Context, cmd *cobra.Command, args []string, f verifyFlags) error {
	node, ids, log, err := a.toVerify(ctx, args)
	if err != nil {
		return err
	}
	bar := a.NewProgress("verifying")
	defer bar.End()
	var t tally
	for i, id := range ids {
		bar.Step(i, len(ids))
		r, err := verifyOne(ctx, node, id, f)
		switch {
		case err == nil:
			t.add(r.Problems)
			if err := a.printReport(r); err != nil {
				return err
			}
		case len(ids) == 1 && log == nil, ctx.Err() != nil, cli.IsUnanswered(err):
			return err
		default:
			t.unchecked++
			if exit := a.Show(cmd, fmt.Errorf("%s: %w", id, err)); t.failed != cli.ExitDamaged {
				t.failed = exit
			}
		}
	}
	if log != nil {
		t.add(log.Problems)
		if err := a.printLogReport(*log, t.unchecked); err != nil {
			return err
		}
	}
	if t.problems > 0 {
		next := "repair with: --repair"
		if f.repair {
			next = "change nothing, and follow the hint of each problem"
		}
		return cli.Hintf(fmt.Errorf("%s in %s%w", cli.Count(t.problems, "problem", "problems"), cli.Count(t.affected, "place", "places"), hint.Silent(core.ErrCorrupt)), "%s", next)
	}
	if t.failed != 0 {
		return cli.Reported{Exit: t.failed}
	}
	return nil
}

func (t *tally) add(ps []report.Problem) {
	t.problems += len(ps)
	if len(ps) > 0 {
		t.affected++
	}
}

func verifyOne(ctx context.Context, node *client.Client, id core.SessionID, f verifyFlags) (api.Report, error) {
	if f.acceptLoss {
		return node.AcceptLoss(ctx, string(id))
	}
	if f.repair {
		return node.Repair(ctx, string(id))
	}
	return node.Verify(ctx, string(id))
}

// toVerify returns the sessions of args, or without args all sessions of the log
// with a report of the log.
func (a app) toVerify(ctx context.Context, args []string) (node *client.Client, ids []core.SessionID, log *api.LogReport, err error) {
	for _, arg := range args {
		var id core.SessionID
		if node, id, err = a.InLog(ctx, arg); err != nil {
			return nil, nil, nil, err
		}
		ids = append(ids, id)
	}
	if len(args) > 0 {
		return node, ids, nil, nil
	}
	if node, err = a.Client(); err != nil {
		return nil, nil, nil, err
	}
	r, err := node.VerifyLog(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	return node, r.Sessions, &r, nil
}

func (a app) printReport(r api.Report) error {
	r.Problems = cli.NotNil(r.Problems)
	return a.Print(r, func() error {
		err := a.Printf("%s  %s: %s, %s, %s", r.Session, healthOf(r.Problems, r.Repaired),
			cli.Count(r.Records, "record", "records"), cli.Count(r.Entries, "entry", "entries"), cli.Count(r.Blobs, "blob", "blobs"))
		if r.Rewritten > 0 {
			err = errors.Join(err, a.Printf("  %s stored again after the log had lost them", cli.Count(r.Rewritten, "record was", "records were")))
		}
		if r.Restored > 0 {
			err = errors.Join(err, a.Printf("  %s restored from a backup", cli.Count(r.Restored, "record was", "records were")))
		}
		for _, p := range r.Repaired {
			err = errors.Join(err, a.Printf("  repaired: %s %s", p.Kind, cli.Plain(p.What)))
		}
		return errors.Join(err, a.printProblems(r.Problems))
	})
}

// printLogReport prints r. unchecked is the number of its sessions that could not be
// verified.
func (a app) printLogReport(r api.LogReport, unchecked int) error {
	r.Problems, r.Sessions = cli.NotNil(r.Problems), cli.NotNil(r.Sessions)
	return a.Print(r, func() error {
		err := a.Printf("log %s  streams: %s; %s", cli.Plain(r.Log), healthOf(r.Problems, nil), checkedOf(len(r.Sessions), unchecked))
		return errors.Join(err, a.printProblems(r.Problems))
	})
}

// checkedOf says how many sessions were verified.
func checkedOf(all, unchecked int) string {
	if unchecked == 0 {
		return cli.Count(all, "session", "sessions") + " verified"
	}
	return fmt.Sprintf("%d of %s verified", all-unchecked, cli.Count(all, "session", "sessions"))
}

func healthOf(problems, repaired []report.Problem) string {
	switch {
	case len(problems) > 0:
		return cli.Count(len(problems), "problem", "problems")
	case len(repaired) > 0:
		return "repaired"
	}
	return "all is well"
}

func (a app) printProblems(ps []report.Problem) error {
	var err error
	for _, p := range ps {
		err = errors.Join(err, a.Printf("  %s %s: %s", cli.Plain(string(p.Kind)), cli.Plain(p.What), cli.Plain(p.Detail)))
		if p.Next != "" {
			err = errors.Join(err, a.Printf("    hint: %s", cli.Plain(p.Next)))
		}
	}
	return err
}
