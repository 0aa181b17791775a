package admin

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

func eraseCmd(a app) *cobra.Command {
	var f eraseFlags
	cmd := &cobra.Command{
		Use:   "erase SESSION",
		Short: "Erase a session permanently",
		Long: `Shows what a session in the trash consists of, and asks whether to erase it;
--yes does so without a question. Records, snapshots, and the nodes' data for
listings and searches are erased. The log records who erased the session, when and
why. The id is never used again. A session that was not in the trash for as long
as the node's setting trash.window is refused, unless --now is given. A session on
hold is always refused. A session that cannot be read may be recoverable (sessctl
verify --repair, sessctl restore); --damaged erases it nevertheless. If the brokers
sync late (the node's setting nats.sync), erase waits for twice that interval and
says so.

The receipt lists what was removed, and what remains until when: unused blobs
until the next blob collection, backups until they are pruned. Sessions that were
made from this one are listed, not erased. To complete an interrupted erasure,
repeat the command.

With -o json: one object with session, cursor, sha256 and bytes of the session,
entries, records, snapshots, blobs, forks, and deleted, held and erased if it is,
due, damaged (why it cannot be read), wait (nanoseconds, if the brokers sync
late); with --yes also log, removed (records, snapshots, rows) and remains.`,
		Example: `sessctl erase 019a
sessctl erase 019a --yes --why "request 4711"`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			if f.Yes && strings.TrimSpace(f.why) == "" {
				return cli.Usagef("--why is missing: the reason, which the log stores")
			}
			return a.erase(ctx, args[0], f)
		}),
	}
	cli.WhyFlag(cmd, &f.why)
	f.Add(a.App, cmd)
	cmd.Flags().BoolVar(&f.damaged, "damaged", false, "also erase a session that cannot be read, in the trash or not")
	cmd.Flags().BoolVar(&f.now, "now", false, "also erase a session that is not in the trash, or not for long enough")
	return cmd
}

type eraseFlags struct {
	cli.Confirmation
	why string
	now bool

	damaged bool
}

func (a app) erase(ctx context.Context, arg string, f eraseFlags) error {
	node, id, err := a.anySession(ctx, arg)
	if err != nil {
		return err
	}
	if !f.Yes {
		found, err := node.Erasable(ctx, string(id))
		if err != nil {
			return err
		}
		if err := a.Print(found, func() error { return a.printErasable(found) }); err != nil {
			return err
		}
		if found.Damaged != "" && !f.damaged {
			a.Notef("it may be recoverable (sessctl verify --repair, sessctl restore); to erase it nevertheless: --damaged --yes --why TEXT")
			return nil
		}
		a.noteWait(found.Wait)
		if f.Yes, f.why, err = a.confirmPermanent(ctx, "Erase it permanently?", f.why, "to erase it permanently: --yes --why TEXT"); err != nil || !f.Yes {
			return err
		}
	}
	// The wait is printed before it starts. Errors are those of the erasure.
	if found, err := node.Erasable(ctx, string(id)); err == nil {
		a.noteWait(found.Wait)
	}
	out, err := node.Erase(ctx, string(id), api.EraseRequest{Notice: a.Notice(f.why), Now: f.now, Damaged: f.damaged})
	if err != nil {
		return err
	}
	return a.Print(out, func() error {
		if err := a.printErasable(out.Found); err != nil {
			return err
		}
		if err := a.Printf("removed  %s, %s", cli.Count(out.Removed.Records, "record", "records"), cli.Count(out.Removed.Snapshots, "snapshot", "snapshots")); err != nil {
			return err
		}
		return a.printRemains(out.Remains)
	})
}

// confirmPermanent asks whether to remove something permanently, and why.
func (a app) confirmPermanent(ctx context.Context, question, why, how string) (bool, string, error) {
	yes, err := a.Confirm(ctx, question, how)
	if err != nil || !yes || why != "" {
		return yes, why, err
	}
	if why, err = a.Ask(ctx, "Why? The log stores the reason:"); err == nil && why == "" {
		err = cli.Usagef("--why is missing: the reason, which the log stores")
	}
	return true, why, err
}

// anySession returns the session that arg names, in the trash or not.
func (a app) anySession(ctx context.Context, arg string) (*client.Client, core.SessionID, error) {
	node, id, err := a.InLog(ctx, arg)
	if err == nil {
		return node, id, nil
	}
	if node, id, trashErr := a.InLogOrTrash(ctx, arg, true); trashErr == nil {
		return node, id, nil
	}
	return nil, "", err
}

func (a app) printErasable(f report.Found) error {
	g := a.NewGrid()
	g.Row("session", string(f.Session))
	g.RowIf("dialect", f.Dialect)
	g.RowIf("damaged", f.Damaged)
	if !f.SHA256.IsZero() {
		g.Row("holds", fmt.Sprintf("%s, %s, %s", cli.Count(f.Entries, "entry", "entries"), cli.Bytes(f.Bytes), f.SHA256))
		g.Row("blobs", fmt.Sprint(f.Blobs))
	}
	g.Row("records", fmt.Sprint(f.Records))
	for _, key := range f.Snapshots {
		g.Row("snapshot", key)
	}
	for _, fork := range f.Forks {
		g.Row("stays", "session "+fork+", which came from it")
	}
	a.AddNotice(g, "deleted", f.Deleted)
	if !f.Due.IsZero() {
		g.Row("due", a.Time(f.Due))
	}
	a.AddNotice(g, "held", f.Held)
	a.AddNotice(g, "erased", f.Erased)
	return g.Flush()
}

func (a app) printRemains(remains []string) error {
	for _, what := range remains {
		if err := a.Printf("remains  %s", a.Stdout.Wrap(cli.Plain(what), len("remains  "))); err != nil {
			return err
		}
	}
	return nil
}
