package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func pruneCmd(a *app) *cobra.Command {
	var f pruneFlags
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Put old sessions in the trash",
		Long: `Puts sessions in the trash: those whose last change is longer ago than
--older-than, and of the others those that changed longest ago, until at most
--keep are left. At least one of the two must be given. Only sessions that
--dialect and --cwd select are looked at and counted. A session that a writer
holds stays, and so does one of which no time is known.

Without --yes it only says what would go. Nothing is erased: sessctl rm --undo
takes a session out of the trash.

With -o json: one object with deleted (whether they are in the trash now) and
sessions, a list of objects with id and why, the oldest first.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.yes && f.dry {
				return usagef("--yes and --dry-run exclude each other")
			}
			if f.limits.MaxAge < 0 || f.limits.Keep < 0 || f.limits == (core.PruneLimits{}) {
				return usagef("give --older-than TIME, --keep N or both, each above 0")
			}
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			return a.prune(ctx, f)
		},
	}
	cmd.Flags().StringVar(&f.dialect, "dialect", "", "look only at sessions of this agent, `NAME`")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "look only at sessions that worked in this directory, `DIR`")
	cmd.Flags().DurationVar(&f.limits.MaxAge, "older-than", 0, "sessions go whose last change is longer ago than this `TIME`, such as 24h")
	cmd.Flags().IntVar(&f.limits.Keep, "keep", 0, "at most `N` sessions stay")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "only say what would go, which is the default")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do it")
	return cmd
}

type pruneFlags struct {
	dialect, cwd string
	limits       core.PruneLimits
	dry, yes     bool
}

// pruned is what went, or would go.
type pruned struct {
	Deleted  bool          `json:"deleted"`
	Sessions []core.Pruned `json:"sessions"`
}

func (a *app) prune(ctx context.Context, f pruneFlags) error {
	node, err := a.client()
	if err != nil {
		return err
	}
	rows, _, err := allSessions(ctx, node, lsFlags{})
	if err != nil {
		return err
	}
	res := pruned{Deleted: f.yes, Sessions: notNil(core.Prune(f.prunable(rows), f.limits, a.now()))}
	if !f.yes {
		return a.printPruned(res, nil)
	}
	by, host := a.whoami()
	gone := res.Sessions
	res.Sessions = []core.Pruned{}
	for _, p := range gone {
		err = node.Delete(ctx, string(p.ID), api.Notice{By: by, Host: host, Why: "sessctl prune: " + p.Why})
		if errors.Is(err, core.ErrDeleted) || errors.Is(err, core.ErrNotFound) {
			err = nil // somebody else was faster
			continue
		}
		if err != nil {
			break
		}
		res.Sessions = append(res.Sessions, p)
	}
	return a.printPruned(res, err)
}

// prunable returns the rows that f selects and that nobody holds.
func (f pruneFlags) prunable(rows []api.Row) []core.Prunable {
	var all []core.Prunable
	for _, r := range rows {
		if r.Holder != nil || f.dialect != "" && r.Dialect != f.dialect || f.cwd != "" && r.CWD != f.cwd {
			continue
		}
		all = append(all, core.Prunable{ID: r.ID, Created: timeIn(r.Created), Modified: timeIn(r.Modified)})
	}
	return all
}

// timeIn reads a time of a listing, the zero time where it is none.
func timeIn(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// printPruned prints what went also when err stopped the rest.
func (a *app) printPruned(res pruned, err error) error {
	printErr := a.print(res, func() error {
		g := a.newGrid()
		if len(res.Sessions) > 0 {
			g.add("ID", "WHY")
		}
		for _, p := range res.Sessions {
			g.add(string(p.ID), p.Why)
		}
		if err := g.flush(); err != nil {
			return err
		}
		n := count(len(res.Sessions), "session", "sessions")
		switch {
		case !res.Deleted:
			a.notef("%s would go; do it with: --yes", n)
		default:
			a.notef("%s in the trash, take one out with: sessctl rm --undo ID", n)
		}
		return nil
	})
	return errors.Join(err, printErr)
}
