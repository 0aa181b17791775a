package write

import (
	"cmp"
	"context"
	"errors"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/core/newid"
	"github.com/sesslog/sesslog/session/catalog"
)

func newCmd(a app) *cobra.Command {
	var c api.Create
	var parents []string
	var kind string
	var goOn bool
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Create an empty session",
		Long: `Creates a session without entries and prints its id. With --continue it prints the
id of the session that was changed last in the directory, as an agent does that
continues its last session, and creates one only if there is none. Any entry is a
change, such as a message, a label, a name or another model.

With --kind the new session is a descendant of the sessions that --parent names,
which must be in the log, and sessctl lineage shows it. The kind is subagent for a
session that another session's agent starts, compress for one that begins with a
summary of others (append it with sessctl append), or any other kind of lineage.
Without --kind, --parent is only a field of the header. Without --parent, --kind is
the agent's own word: OpenRath has sessions of kind user, system and empty.

With -o json: one object with id and cursor.`,
		Example: `sessctl new
sessctl new --continue`,
		Args: cobra.NoArgs,
		RunE: a.Run(cli.Short, func(ctx context.Context, _ []string) error {
			if goOn && (c.ID != "" || len(parents) > 0) {
				return cli.Usagef("--continue excludes --id and --parent")
			}
			return a.create(ctx, c, parents, kind, goOn)
		}),
	}
	cmd.Flags().StringVar(&c.ID, "id", "", "call the session `ID` (default a generated one)")
	cmd.Flags().StringVar(&c.Dialect, "dialect", "", "the `NAME` of the session's agent (default the node's setting)")
	cmd.Flags().StringVar(&c.CWD, "cwd", "", "the working `DIR` of the agent (default the current directory)")
	cmd.Flags().StringArrayVar(&parents, "parent", nil, "the parent `SESSION`; may be repeated, in order")
	cmd.Flags().StringVar(&kind, "kind", "", "the `KIND` of relation to its parents, such as subagent, or the agent's own kind")
	cmd.Flags().BoolVar(&goOn, "continue", false, "return the session of that directory and agent that was changed last, if there is one")
	a.DryRunFlag(cmd)
	return cmd
}

func (a app) create(ctx context.Context, c api.Create, parents []string, kind string, goOn bool) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	switch {
	case kind != "" && len(parents) == 0:
		if _, ok := lineage.ParseKind(kind); ok {
			return cli.Usagef("--kind requires --parent")
		}
		c.Kind = kind
	case kind == "" && len(parents) > 1:
		return cli.Usagef("several --parent require --kind")
	case kind == "" && len(parents) == 1:
		c.Parent = parents[0]
	case kind != "":
		for _, p := range parents {
			_, id, err := a.InLog(ctx, p)
			if err != nil {
				return err
			}
			c.Parents = append(c.Parents, api.ParentRef{Session: string(id), Kind: kind})
		}
	}
	if c.CWD, err = cli.Directory(cmp.Or(c.CWD, ".")); err != nil {
		return err
	}
	if goOn {
		last, err := latest(ctx, node, c)
		if err == nil {
			return a.Print(last, func() error { return a.Printf("%s", last.ID) })
		}
		if !errors.Is(err, core.ErrNotFound) {
			return err
		}
	}
	if c.ID == "" { // chosen here, so that a retry creates no second session
		c.ID = string(newid.Session(ulid.Make()))
	}
	c.Key = ulid.Make().String()
	c.By, _ = a.Caller()
	made, err := cli.Retry(ctx, func() (api.Created, error) { return node.Create(ctx, c) })
	if err != nil {
		return lostAnswer(err, c.ID)
	}
	return a.Print(made, func() error { return a.Printf("%s", made.ID) })
}

// latest returns the most recently changed session of c's directory and dialect.
func latest(ctx context.Context, node *client.Client, c api.Create) (api.Created, error) {
	o := catalog.Filter{CWD: c.CWD, Dialect: c.Dialect, Sort: catalog.SortChanged, Limit: 1}
	if o.Dialect == "" {
		o.Dialect = "pi"
	}
	list, err := node.List(ctx, o)
	if err != nil {
		return api.Created{}, err
	}
	if len(list.Sessions) == 0 {
		return api.Created{}, core.ErrNotFound
	}
	info, err := node.Info(ctx, string(list.Sessions[0].ID))
	return api.Created{ID: info.Log.Session, Cursor: info.Log.Cursor}, err
}

// lostAnswer adds a hint to an unknown outcome of the creation of session id.
func lostAnswer(err error, id string) error {
	if cli.Describe(err, "").Code != "uncertain" {
		return err
	}
	return cli.Hintf(err, "check whether it was created: sessctl info %s", id)
}
