package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/backup"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/hint"
)

func backupCmd(a app) *cobra.Command {
	var to string
	var full bool
	var f targetFlags
	cmd := &cobra.Command{
		Use:   "backup --to TARGET",
		Short: "Back up all sessions of a log",
		Long: `Copies every session of the node's log to TARGET: records, snapshots, images,
large bodies and files as they were imported. sessctl restore needs neither this
log, nor its servers, nor its object store.

A backup is incremental: it reads and writes only what changed since the last
one. All data is verified when it is read, and read back after it is written.
The next backup continues an interrupted one. A backup contains every append
that was acknowledged before it began. If a session cannot be read, the error
names it, the backup keeps its last copy, and the exit code is 8.

` + targetHelp + `

With -o json: one object: run, log, strict, sessions, unchanged, read and sent
(bytes), objects, problems (each with session and detail), gone (sessions that
the last backup had and the log does not know).`,
		Example: `sessctl backup --to /backup/prod
sessctl backup --to s3://backups/prod`,
		Args: cobra.ArbitraryArgs,
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				return cli.Usagef("unknown verb %q: use ls, verify or prune; to make a backup: sessctl backup --to TARGET", args[0])
			}
			if to == "" {
				return cli.Usagef("--to TARGET is required")
			}
			return a.backup(ctx, to, f, full)
		}),
	}
	cmd.Flags().StringVar(&to, "to", "", "write to `TARGET`")
	cmd.Flags().BoolVar(&full, "full", false, "read and verify everything as if there were no backup yet, which repairs damaged objects in TARGET")
	f.add(cmd)
	cmd.AddCommand(backupLsCmd(a), backupVerifyCmd(a), backupPruneCmd(a))
	return cmd
}

func (a app) backup(ctx context.Context, to string, f targetFlags, full bool) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	repo, err := a.openTarget(ctx, to, f, true)
	if err != nil {
		return err
	}
	defer repo.Close()
	by, host := a.Caller()
	bar := a.NewProgress("backing up")
	taker := backup.Taker{Node: node, Repo: repo.Repo, Host: host, By: by, Now: a.Now, Full: full, Progress: bar.Step}
	taken, err := taker.Take(ctx)
	bar.End()
	if err != nil {
		return cli.Hintf(err, "repeat the command; data that was written is not written again")
	}
	if err := a.printTaken(taken); err != nil {
		return err
	}
	if n := len(taken.Problems); n > 0 {
		return cli.Hintf(fmt.Errorf("%s%w", cli.Count(n, "problem", "problems"), hint.Silent(core.ErrCorrupt)), "look with: sessctl verify SESSION")
	}
	return nil
}

func (a app) printTaken(t *backup.Taken) error {
	return a.Print(t, func() error {
		err := a.Printf("backup %s of log %s: %s, %d unchanged; %s read, %s written in %s",
			t.Run, cli.Plain(t.Log), cli.Count(t.Sessions, "session", "sessions"), t.Unchanged,
			cli.Bytes(t.Read), cli.Bytes(t.Sent), cli.Count(t.Objects, "object", "objects"))
		if !t.Strict {
			a.Notef("the log is full, so the ends of sessions are unproven: they are those that the stream leaders report")
		}
		for _, id := range t.Gone {
			a.Notef("session %s is in the previous backup, but not in the log", id)
		}
		return errors.Join(err, a.printBackupProblems(t.Problems))
	})
}

func (a app) printBackupProblems(ps []backup.Problem) error {
	var err error
	for _, p := range ps {
		err = errors.Join(err, a.Printf("  %s: %s", p.Session, cli.Plain(p.Detail)))
	}
	return err
}

func backupLsCmd(a app) *cobra.Command {
	var at string
	var f targetFlags
	cmd := &cobra.Command{
		Use:   "ls TARGET",
		Short: "List the backups in a target, or the sessions in one",
		Long: `Lists the backups in TARGET, the oldest first, or with --at the sessions of one
of them. It contacts no node.

` + targetHelp + `

With -o json: a list with an object for each backup: run, log, began, ended, host,
by, sessions, problems. With --at, for each session: id, seq, chain, dialect, cwd,
name, entries, modified, deleted, erased, and its objects.`,
		Example: `sessctl backup ls /backup/prod
sessctl backup ls s3://backups/prod`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			repo, err := a.openTarget(ctx, args[0], f, false)
			if err != nil {
				return err
			}
			defer repo.Close()
			if at != "" {
				return a.backupSessions(ctx, repo.Repo, at)
			}
			return a.backupRuns(ctx, repo.Repo)
		}),
	}
	cmd.Flags().StringVar(&at, "at", "", "list the sessions of the backup `RUN`, or of the latest one")
	f.add(cmd)
	return cmd
}

// latestRun is the value of --at for the latest backup.
const latestRun = "latest"

// pickRun returns the backup that at names.
func pickRun(ctx context.Context, repo *backup.Repo, at string) (*backup.Run, error) {
	if at == latestRun {
		at = ""
	}
	run, err := repo.Pick(ctx, at)
	if errors.Is(err, core.ErrNotFound) {
		return nil, cli.Hintf(err, "list the backups with: sessctl backup ls TARGET")
	}
	return run, err
}

// runRow is a backup in a list.
type runRow struct {
	Run      string `json:"run"`
	Log      string `json:"log"`
	Began    string `json:"began"`
	Ended    string `json:"ended"`
	Host     string `json:"host,omitempty"`
	By       string `json:"by,omitempty"`
	Sessions int    `json:"sessions"`
	Problems int    `json:"problems"`
}

func (a app) backupRuns(ctx context.Context, repo *backup.Repo) error {
	names, err := repo.Runs(ctx)
	if err != nil {
		return err
	}
	rows := []runRow{}
	g := a.NewGrid()
	g.Row("RUN", "LOG", "BEGAN", "SESSIONS", "PROBLEMS", "HOST")
	for _, n := range names {
		run, err := repo.Run(ctx, n)
		if err != nil {
			return err
		}
		const layout = "2006-01-02T15:04:05Z"
		rows = append(rows, runRow{
			Run: run.ID.String(), Log: run.Log, Began: run.Began().UTC().Format(layout), Ended: run.Ended.UTC().Format(layout),
			Host: run.Host, By: run.By, Sessions: len(run.Sessions), Problems: len(run.Problems),
		})
		g.Row(run.ID.String(), run.Log, a.Time(run.Began()), fmt.Sprint(len(run.Sessions)), fmt.Sprint(len(run.Problems)), run.Host)
	}
	return a.Print(rows, func() error {
		if len(rows) == 0 {
			a.Notef("no backups; create one with: sessctl backup --to TARGET")
			return nil
		}
		return g.Flush()
	})
}

func (a app) backupSessions(ctx context.Context, repo *backup.Repo, at string) error {
	run, err := pickRun(ctx, repo, at)
	if err != nil {
		return err
	}
	return a.Print(cli.NotNil(run.Sessions), func() error {
		g := a.NewGrid()
		g.Row("ID", "AGENT", "MODIFIED", "ENTRIES", "STATE", "TITLE")
		for _, s := range run.Sessions {
			state := ""
			switch {
			case s.Erased:
				state = "erased"
			case s.Deleted:
				state = "deleted"
			}
			g.Row(string(s.ID), s.Dialect, a.TimeText(s.Modified), fmt.Sprint(s.Entries), state, cmp.Or(s.Name, s.CWD))
		}
		return g.Flush()
	})
}

func backupVerifyCmd(a app) *cobra.Command {
	var at string
	var all bool
	var f targetFlags
	cmd := &cobra.Command{
		Use:   "verify TARGET",
		Short: "Check that a backup is complete and intact",
		Long: `Reads all objects of the latest backup in TARGET and verifies them: digests, the
chain of records, and snapshots against their records. --at selects another
backup, --all all of them. It contacts no node. If there are problems, each names
its object, and the exit code is 8. To write damaged objects again, as far as the
log still has their data, run: sessctl backup --full

` + targetHelp + `

With -o json: one object per line for each backup: run, sessions, objects, bytes,
problems (each with session and detail).`,
		Example: `sessctl backup verify /backup/prod
sessctl backup verify --all s3://backups/prod`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			repo, err := a.openTarget(ctx, args[0], f, false)
			if err != nil {
				return err
			}
			defer repo.Close()
			return a.backupVerify(ctx, repo.Repo, at, all)
		}),
	}
	cmd.Flags().StringVar(&at, "at", "", "check the backup `RUN`")
	cmd.Flags().BoolVar(&all, "all", false, "check all backups")
	cmd.MarkFlagsMutuallyExclusive("at", "all")
	f.add(cmd)
	return cmd
}

func (a app) backupVerify(ctx context.Context, repo *backup.Repo, at string, all bool) error {
	picks := []string{at}
	if all {
		names, err := repo.Runs(ctx)
		if err != nil {
			return err
		}
		picks = nil
		for _, n := range names {
			picks = append(picks, n.ID.String())
		}
	}
	problems := 0
	for _, pick := range picks {
		run, err := pickRun(ctx, repo, pick)
		if err != nil {
			return err
		}
		checked, err := repo.Verify(ctx, run)
		if err != nil {
			return err
		}
		problems += len(checked.Problems)
		err = a.Print(checked, func() error {
			health := "all is well"
			if n := len(checked.Problems); n > 0 {
				health = cli.Count(n, "problem", "problems")
			}
			err := a.Printf("%s  %s: %s, %s, %s", checked.Run, health, cli.Count(checked.Sessions, "session", "sessions"),
				cli.Count(checked.Objects, "object", "objects"), cli.Bytes(checked.Bytes))
			return errors.Join(err, a.printBackupProblems(checked.Problems))
		})
		if err != nil {
			return err
		}
	}
	if problems > 0 {
		return cli.Hintf(fmt.Errorf("%s%w", cli.Count(problems, "problem", "problems"), hint.Silent(core.ErrCorrupt)),
			"write the damaged objects again, if the log still has their data: sessctl backup --full --to TARGET")
	}
	return nil
}
