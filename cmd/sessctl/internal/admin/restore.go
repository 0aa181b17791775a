package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/backup"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/hint"
)

// restoreFlags select what to restore, and from where.
type restoreFlags struct {
	from   string
	at     string
	all    bool
	cwd    string
	agent  string
	name   string
	dry    bool
	erased bool
	target targetFlags
}

func restoreCmd(a app) *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore --from TARGET [SESSION...]",
		Short: "Restore sessions from a backup",
		Long: `Restores sessions of a backup to the node's log: those that are named (an id, or a
prefix), those that the filters select, or --all. They keep their records and
chains, so the log must have the name of the one in the backup. The log may be new
and empty, or in use.

A session that the log lacks is restored completely. A session that exists is
compared first. With the same history, nothing is stored. If the log lacks the
end, it is appended. If the log has more records, they stay. If the histories
diverge, restore refuses and names both positions. Blobs and snapshots that the
node lost are restored too. restore may be repeated: existing data is not stored
twice.

A session that the log has erased is never restored. One that was erased after the
selected backup, as later backups show, is only restored with --bring-back-erased.

` + targetHelp + `

With -o json: one object per line for each session: session, standing (of the log
to the backup, before: absent, same, behind, ahead), log and past (cursors), lacks
and stored (records), blobs, snapshot, missing.`,
		Example: `sessctl restore --from /backup/prod --dry-run --all
sessctl restore --from s3://backups/prod 019a`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			filters := f.cwd != "" || f.agent != "" || f.name != ""
			switch {
			case f.from == "":
				return cli.Usagef("--from TARGET is required")
			case f.all && (filters || len(args) > 0):
				return cli.Usagef("--all excludes sessions and filters")
			case len(args) > 0 && filters:
				return cli.Usagef("sessions and filters exclude each other")
			case !f.all && !filters && len(args) == 0:
				return cli.Usagef("sessions, filters or --all are required")
			}
			var err error
			if f.cwd, err = cli.Directory(f.cwd); err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd, cli.Forever)
			defer cancel()
			return a.restore(ctx, cmd, args, f)
		},
	}
	cmd.Flags().StringVar(&f.from, "from", "", "read from `TARGET`")
	cmd.Flags().StringVar(&f.at, "at", "", "use the backup `RUN`, not the latest")
	cmd.Flags().BoolVar(&f.all, "all", false, "restore every session")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "restore sessions of the directory `DIR`")
	cmd.Flags().StringVar(&f.agent, "agent", "", "restore sessions of the agent `NAME`")
	cmd.Flags().StringVar(&f.name, "name", "", "restore sessions with `TEXT` in the name, in any case")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "show what would be done, but store nothing")
	cmd.Flags().BoolVar(&f.erased, "bring-back-erased", false, "also restore sessions that were erased after the backup")
	f.target.add(cmd)
	return cmd
}

func (a app) restore(ctx context.Context, cmd *cobra.Command, args []string, f restoreFlags) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	repo, err := a.openTarget(ctx, f.from, f.target, false)
	if err != nil {
		return err
	}
	defer repo.Close()
	run, err := pickRun(ctx, repo.Repo, f.at)
	if err != nil {
		return err
	}
	sessions, err := f.choose(run, args)
	if err != nil {
		return err
	}
	erased, err := repo.ErasedSince(ctx, run)
	if err != nil {
		return err
	}
	a.warnOfOldWriters(ctx, node, run)
	r := backup.Restorer{Node: node, Repo: repo.Repo, Run: run, Dry: f.dry}
	bar := a.NewProgress("restoring")
	defer bar.End()
	failed := 0
	for i, s := range sessions {
		bar.Step(i, len(sessions))
		err := a.restoreOne(ctx, &r, s, erased[s.ID] && !f.erased)
		if ctx.Err() != nil || err != nil && cli.IsUnanswered(err) {
			return cli.Hintf(err, "repeat the command; data that exists is not stored again")
		}
		if err != nil {
			failed = worse(failed, a.Show(cmd, err))
		}
	}
	if failed != 0 {
		return cli.Reported{Exit: failed}
	}
	return nil
}

// worse returns the more severe exit code: damage first.
func worse(x, y int) int {
	if x == cli.ExitDamaged || y == 0 {
		return x
	}
	return y
}

// errErasedSince is the reason that a session is not restored.
var errErasedSince = errors.New("it was erased after this backup was made")

func (a app) restoreOne(ctx context.Context, r *backup.Restorer, s *backup.Session, erased bool) error {
	if erased {
		return cli.Hintf(fmt.Errorf("session %s: %w%w", s.ID, errErasedSince, hint.Silent(core.ErrDeleted)), "restore it nevertheless with: --bring-back-erased")
	}
	done, err := r.Restore(ctx, s)
	if err != nil {
		return err
	}
	return a.Print(done, func() error {
		line := string(done.Session) + "  " + outcomeOf(done, r.Dry)
		if n := len(done.Missing); n > 0 {
			line += "; " + cli.Count(n, "blob is", "blobs are") + " in neither"
		}
		return a.Printf("%s", line)
	})
}

// outcomeOf returns the result of a session as text.
func outcomeOf(r *backup.Restored, dry bool) string {
	text := ""
	switch r.Relation {
	case report.Absent:
		text = "restored"
	case report.Behind:
		text = "its missing end was put back, " + cli.Count(r.MissingRecords, "record", "records")
	case report.Ahead:
		return fmt.Sprintf("left alone: the log is ahead, at %s, the backup at %s", r.Log, r.History)
	default:
		text = "the same as in the log"
	}
	if r.Blobs > 0 {
		text += ", " + cli.Count(r.Blobs, "blob", "blobs")
	}
	if r.Snapshot {
		text += ", its snapshot"
	}
	if dry {
		text += " (dry run: nothing was stored)"
	}
	return text
}

// warnOfOldWriters prints the shards that end before their position in the backup.
// A writer of the old log that still runs could mistake a record of this log for
// its own.
func (a app) warnOfOldWriters(ctx context.Context, node *client.Client, run *backup.Run) {
	for shard, shards := 0, 1; shard < shards; shard++ {
		e, err := node.Ends(ctx, shard)
		if err != nil {
			return // the restore returns the error
		}
		shards = e.Shards
		if e.At < reached(run, shard, shards) {
			a.Notef("shard %d ends before its position in the backup; ensure that no node still writes to the old log", shard)
		}
	}
}

// reached returns the position of a shard in the backup, or the highest one if the
// number of shards differs.
func reached(run *backup.Run, shard, shards int) core.Pos {
	if len(run.Shards) == shards {
		return run.Shards[shard].At
	}
	var most core.Pos
	for _, s := range run.Shards {
		most = max(most, s.At)
	}
	return most
}

// choose returns the sessions of run that args and filters name.
func (f *restoreFlags) choose(run *backup.Run, args []string) ([]*backup.Session, error) {
	var chosen []*backup.Session
	for _, arg := range args {
		s, err := findSession(run, arg)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, s)
	}
	if len(args) > 0 {
		return chosen, nil
	}
	for i := range run.Sessions {
		if s := &run.Sessions[i]; f.match(s) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 && !f.all {
		return nil, cli.Hintf(fmt.Errorf("backup %s has no such session: %w", run.ID, core.ErrNotFound), "list its sessions with: sessctl backup ls TARGET --at %s", run.ID)
	}
	return chosen, nil
}

func (f *restoreFlags) match(s *backup.Session) bool {
	return (f.cwd == "" || s.CWD == f.cwd) && (f.agent == "" || s.Dialect == f.agent) &&
		(f.name == "" || strings.Contains(strings.ToLower(s.Name), strings.ToLower(f.name)))
}

// findSession returns the session of run that arg names by id or its beginning.
func findSession(run *backup.Run, arg string) (*backup.Session, error) {
	var found []*backup.Session
	for i := range run.Sessions {
		s := &run.Sessions[i]
		if string(s.ID) == arg {
			return s, nil
		}
		if strings.HasPrefix(string(s.ID), arg) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return nil, cli.Hintf(fmt.Errorf("backup %s has no session %q: %w", run.ID, arg, core.ErrNotFound), "list its sessions with: sessctl backup ls TARGET --at %s", run.ID)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%d sessions begin with %q: %w", len(found), arg, core.ErrInvalid)
}
