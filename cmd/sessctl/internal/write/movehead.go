package write

import (
	"context"
	"encoding/json"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func moveHeadCmd(a app) *cobra.Command {
	var f branchFlags
	cmd := &cobra.Command{
		Use:   "move-head SESSION [ENTRY]",
		Short: "Move a head to an entry",
		Long: `Moves a head to an entry, so that the next append continues there. If the head
does not exist, it is created. The entry null is the place before all entries.
Nothing is lost: the entries that the head had before stay in the tree. If the
agent has an entry for that, such as Operator's leaf, it is appended.

With --summary an entry that summarizes the abandoned branch is appended to the
head, in the format of the session's agent.

With -o json: one object with session, head, leaf (null for before all entries)
and cursor.`,
		Example: `sessctl move-head 019a a1b2c3d4
sessctl move-head 019a a1b2c3d4 --head experiment`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			if err := f.check(args[1:]); err != nil {
				return err
			}
			return a.branch(ctx, args[0], f)
		}),
	}
	cmd.Flags().StringVar(&f.at, "at", "", "the `ENTRY` to move to, or null for before all entries; the same as the argument")
	cmd.Flags().StringVar(&f.summary, "summary", "", "the `TEXT` that summarizes the abandoned branch")
	cmd.Flags().StringVar(&f.details, "details", "", "the agent's data for the summary, one `JSON` value")
	f.Add(cmd)
	a.DryRunFlag(cmd)
	return cmd
}

type branchFlags struct {
	cli.WriterFlags
	at      string
	summary string
	details string
}

func (f *branchFlags) check(args []string) error {
	switch {
	case len(args) > 0 && f.at != "":
		return cli.Usagef("--at and ENTRY exclude each other")
	case len(args) > 0:
		f.at = args[0]
	}
	if f.at == "" {
		return cli.Usagef("ENTRY is missing: an entry id, or null")
	}
	if f.details != "" && f.summary == "" {
		return cli.Usagef("--details requires --summary")
	}
	if f.details != "" && !json.Valid([]byte(f.details)) {
		return cli.Usagef("--details is not JSON: %s", f.details)
	}
	return f.WriterFlags.Check()
}

// branch moves a head, with the agent's entry for that if it has one. Retries use
// the same key, so the entry is stored once.
func (a app) branch(ctx context.Context, arg string, f branchFlags) error {
	node, id, err := a.InLog(ctx, arg)
	if err != nil {
		return err
	}
	v, err := a.Writer(ctx, node, id, f.WriterFlags)
	if err != nil {
		return err
	}
	r := api.BranchRequest{At: cli.ParseLeaf(f.at), Summary: f.summary}
	if f.details != "" {
		r.Details = json.RawMessage(f.details)
	}
	o := client.AppendOptions{Head: f.Head, Writer: v.Writer, Key: ulid.Make().String()}
	done, err := cli.Retry(ctx, func() (core.Receipt, error) { return node.Branch(ctx, string(id), r, o) })
	if err != nil {
		return a.ExplainFenced(v, err)
	}
	leaf := r.At
	if f.summary != "" {
		leaf = core.LeafAt(done.IDs[0])
	}
	out := branched{Session: id, Head: f.Head, Cursor: done.Cursor}
	if at, ok := leaf.ID(); ok {
		out.Leaf = &at
	}
	return a.Print(out, func() error { return a.Printf("head %s points to %s", f.Head, cli.Plain(cli.LeafText(leaf))) })
}

// branched is the position of a head.
type branched struct {
	Session core.SessionID `json:"session"`
	Head    string         `json:"head"`
	Leaf    *string        `json:"leaf"`
	Cursor  core.Cursor    `json:"seq"`
}
