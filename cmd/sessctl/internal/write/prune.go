package write

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/prune"
	"github.com/sesslog/sesslog/session/catalog"
)

// pruneFlags select old sessions.
type pruneFlags struct {
	cli.Confirmation
	prune.Limits
	dialect string
	cwd     string
}

func (f *pruneFlags) add(a *cli.App, cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dialect, "dialect", "", "only sessions of the agent `NAME`")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "only sessions of the directory `DIR`")
	cli.DurationVar(cmd.Flags(), &f.MaxAge, "older-than", 0, "sessions not modified for this `TIME`, such as 24h or 30d")
	cmd.Flags().IntVar(&f.Keep, "keep", 0, "sessions beyond the newest `N`")
	f.Confirmation.Add(a, cmd)
}

// check validates the flags.
func (f *pruneFlags) check(cmd *cobra.Command) error {
	older, keep := cmd.Flags().Changed("older-than"), cmd.Flags().Changed("keep")
	switch {
	case !older && !keep:
		return cli.Usagef("name a SESSION, or select old ones with --older-than TIME, --keep N or both")
	case older && f.MaxAge <= 0:
		return cli.Usagef("--older-than %s is not above 0", f.MaxAge)
	case keep && f.Keep < 1:
		return cli.Usagef("--keep %d is below 1", f.Keep)
	}
	if f.dialect != "" {
		if _, err := dialect.Named(f.dialect); err != nil {
			return cli.Usagef("%v", err)
		}
	}
	if f.cwd == "" {
		return nil
	}
	dir, err := agent.RealDir(f.cwd)
	f.cwd = dir
	return err
}

func (f *pruneFlags) match(r catalog.Row) bool {
	return (f.dialect == "" || r.Dialect == f.dialect) && (f.cwd == "" || r.CWD != "" && filepath.Clean(r.CWD) == f.cwd)
}

// A pruning is a session to prune, and the result.
type pruning struct {
	ID     core.SessionID `json:"id"`
	Last   time.Time      `json:"last,omitzero"`
	Why    string         `json:"why"`
	Pruned bool           `json:"pruned"`
	Error  string         `json:"error,omitempty"`

	seq uint64 // of the session when it was listed
}

func (a app) prune(ctx context.Context, f pruneFlags) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	rows, _, err := cli.AllSessions(ctx, node, catalog.Filter{})
	if err != nil {
		return err
	}
	all := prunings(a.Now(), rows, f)
	if a.DryRun {
		f.Yes = false
	}
	if f.Yes {
		failed := a.trashAll(ctx, node, all)
		return cmp.Or(a.Print(cli.NotNil(all), func() error { return a.printPrunings(all, true) }), failed)
	}
	if err := a.Print(cli.NotNil(all), func() error { return a.printPrunings(all, false) }); err != nil || len(all) == 0 || a.DryRun {
		return err
	}
	yes, err := a.Confirm(ctx, "Move them to the trash?", "to move them to the trash: --yes")
	if err != nil || !yes {
		return err
	}
	failed := a.trashAll(ctx, node, all)
	a.Notef("to restore a session from the trash: sessctl rm --undo SESSION")
	return failed
}

// prunings returns the sessions of rows to prune.
func prunings(now time.Time, rows []catalog.Row, f pruneFlags) []pruning {
	var all []prune.Session
	byID := map[core.SessionID]catalog.Row{}
	for _, r := range rows {
		if _, twice := byID[r.ID]; f.match(r) && !twice { // a session can be on two pages
			all = append(all, prunable(r))
			byID[r.ID] = r
		}
	}
	var out []pruning
	for _, p := range prune.Choose(now, all, f.Limits) {
		if r := byID[p.ID]; r.Holder == nil {
			out = append(out, pruning{ID: p.ID, Last: p.Last, Why: p.Why, seq: r.Seq})
		}
	}
	return out
}

// prunable returns a row with its parsed times.
func prunable(r catalog.Row) prune.Session {
	p := prune.Session{ID: r.ID}
	p.Created, _ = time.Parse(time.RFC3339, r.Created)
	p.Modified, _ = time.Parse(time.RFC3339, r.Modified)
	return p
}

// trashAll moves all to the trash. An error of one does not stop the others, unless
// the node does not respond.
func (a app) trashAll(ctx context.Context, node *client.Client, all []pruning) error {
	var failed error
	for i := range all {
		p := &all[i]
		err := a.trash(ctx, node, p)
		if err == nil {
			p.Pruned = true
			continue
		}
		p.Error = err.Error()
		failed = fmt.Errorf("session %s is kept: %w", p.ID, err)
		if cli.IsUnanswered(err) || ctx.Err() != nil {
			return failed
		}
	}
	return failed
}

// trash moves p to the trash, unless the session changed after it was listed.
func (a app) trash(ctx context.Context, node *client.Client, p *pruning) error {
	info, err := node.Info(ctx, string(p.ID))
	if err != nil {
		return err
	}
	if info.Log.Deleted != nil {
		return nil
	}
	if info.Log.Cursor.Seq != p.seq {
		return fmt.Errorf("it changed after it was listed: %w", core.ErrConflict)
	}
	return node.Delete(ctx, string(p.ID), a.Notice("pruned: "+p.Why))
}

func (a app) printPrunings(all []pruning, done bool) error {
	if len(all) == 0 {
		a.Notef("no session matches")
		return nil
	}
	g := a.NewGrid()
	g.Row("ID", "MODIFIED", "STATE", "WHY")
	for _, p := range all {
		state := "-"
		if p.Pruned {
			state = "deleted"
		} else if p.Error != "" {
			state = "stays"
		}
		last := ""
		if !p.Last.IsZero() {
			last = p.Last.UTC().Format("2006-01-02T15:04:05.000Z")
		}
		g.Row(string(p.ID), a.TimeText(last), state, p.Why)
	}
	if err := g.Flush(); err != nil {
		return err
	}
	if done {
		a.Notef("to restore a session from the trash: sessctl rm --undo SESSION")
	}
	return nil
}
