package admin

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func tokenCmd(a app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create, list, rotate and revoke tokens",
		Long: `A token authorizes requests to the nodes of a log. It has a scope: read (see
sessions), write (also create sessions and write to them) or admin (everything,
including erasing, restoring and creating tokens). A token can be limited to
sessions whose ids begin with a prefix, and it can expire.

The log stores a digest of each secret, not the secret: it is printed only when it
is created. All nodes apply a new or revoked token within a second. Managing
tokens requires a token with scope admin, or the node's own token.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return cli.Usagef("no verb given: create, ls, rotate, revoke or check")
		},
	}
	cmd.AddCommand(tokenCreateCmd(a), tokenLsCmd(a), tokenRotateCmd(a), tokenRevokeCmd(a), tokenCheckCmd(a))
	return cmd
}

type tokenFlags struct {
	scope     string
	prefix    string
	expires   string
	rate      int
	body      int64
	followers int
	why       string
}

func tokenCreateCmd(a app) *cobra.Command {
	var f tokenFlags
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a token and print its secret",
		Long: `Creates a token called NAME, and prints the secret that requests carry. The secret
is not stored: keep it, for example in SESS_TOKEN.

With -o json: one object with token (what requests carry), id, name, scope,
prefix, limits, by, created and expires.`,
		Example: `sessctl token create ann --scope write
sessctl token create ci --scope read --prefix ci- --expires 720h`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			return a.tokenCreate(ctx, args[0], f)
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.scope, "scope", "read", "the `SCOPE`: read, write or admin")
	fl.StringVar(&f.prefix, "prefix", "", "only sessions whose ids begin with `PREFIX`")
	fl.StringVar(&f.expires, "expires", "", "the `TIME` when it expires, such as 2026-12-31T00:00:00Z, a day, or a duration such as 720h (default never)")
	fl.IntVar(&f.rate, "rate", 0, "allow `N` requests per second at a node (default no limit)")
	fl.Int64Var(&f.body, "body", 0, "allow `N` bytes per request (default the node's limit)")
	fl.IntVar(&f.followers, "followers", 0, "allow `N` open event streams at a node (default no limit)")
	cli.WhyFlag(cmd, &f.why)
	return cmd
}

func (a app) tokenCreate(ctx context.Context, name string, f tokenFlags) error {
	scope, err := access.ParseScope(f.scope)
	if err != nil {
		return cli.Usagef("--scope %.64q: use read, write or admin", f.scope)
	}
	expires, err := a.untilTime(f.expires)
	if err != nil {
		return err
	}
	node, err := a.Client()
	if err != nil {
		return err
	}
	made, err := node.CreateToken(ctx, api.TokenRequest{
		Name: name, Scope: scope, Prefix: f.prefix, Expires: expires,
		Limits: access.Limits{Rate: f.rate, Body: f.body, Followers: f.followers},
		Notice: a.Notice(f.why),
	})
	if err != nil {
		return err
	}
	return a.printSecret(ctx, node, made)
}

// untilTime parses a time, a day, or a duration from now.
func (a app) untilTime(s string) (time.Time, error) {
	if d, err := cli.ParseDuration(s); err == nil && d > 0 {
		return a.Now().Add(d).UTC(), nil
	}
	t, err := a.sinceTime(s)
	if err != nil {
		return time.Time{}, cli.Usagef("--expires %q: write 2026-12-31T00:00:00Z, 2026-12-31, or 30d", s)
	}
	return t.UTC(), nil
}

// printSecret prints the secret of a new token.
func (a app) printSecret(ctx context.Context, node *client.Client, made access.Issued) error {
	return a.Print(made, func() error {
		a.Notef("token %s (%s); its secret is not shown again", made.ID, made.Name)
		if me, err := node.Whoami(ctx); err == nil && me.Token == "" {
			a.Notef("this node does not check tokens: set one in its configuration (token, or SESS_TOKEN)")
		}
		return a.Printf("%s", made.Bearer)
	})
}

func tokenLsCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the tokens of the log, without their secrets",
		Long: `Lists the tokens of the log, the oldest first. The last use of a token is recorded
to the hour.

With -o json: a list with an object for each: id, name, scope, prefix, limits
(rate, body, followers), by, created, rotated, expires, former (until when the
previous secret is valid, too) and used.`,
		Example: "sessctl token ls",
		Args:    cobra.NoArgs,
		RunE: a.Run(cli.Short, func(ctx context.Context, _ []string) error {
			node, err := a.Client()
			if err != nil {
				return err
			}
			list, err := node.Tokens(ctx)
			if err != nil {
				return err
			}
			return a.Print(cli.NotNil(list), func() error { return a.printTokens(list) })
		}),
	}
}

func (a app) printTokens(list []access.Token) error {
	if len(list) == 0 {
		a.Notef("the log has no tokens; create one with: sessctl token create NAME")
		return nil
	}
	g := a.NewGrid()
	g.Row("ID", "NAME", "SCOPE", "SESSIONS", "CREATED", "EXPIRES", "USED", "LIMITS")
	for _, t := range list {
		sessions := "all"
		if t.Scope == access.Share {
			sessions = t.Prefix
		} else if t.Prefix != "" {
			sessions = t.Prefix + "*"
		}
		g.Row(t.ID, t.Name, string(t.Scope), sessions, a.Time(t.Created), a.expiry(&t), cmp.Or(a.Time(t.Used), "-"), limitsText(t.Limits))
	}
	return g.Flush()
}

func limitsText(l access.Limits) string {
	var parts []string
	if l.Rate > 0 {
		parts = append(parts, strconv.Itoa(l.Rate)+"/s")
	}
	if l.Body > 0 {
		parts = append(parts, cli.Bytes(l.Body))
	}
	if l.Followers > 0 {
		parts = append(parts, cli.Count(l.Followers, "follower", "followers"))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func tokenRotateCmd(a app) *cobra.Command {
	var keep time.Duration
	cmd := a.tokenVerb(func(ctx context.Context, node *client.Client, t access.Token, n api.Notice) error {
		made, err := node.RotateToken(ctx, t.ID, api.RotateRequest{Keep: keep.String(), Notice: n})
		if err != nil {
			return err
		}
		return a.printSecret(ctx, node, made)
	})
	cmd.Use, cmd.Short = "rotate TOKEN", "Give a token a new secret and print it"
	cmd.Long = `Gives the token with that id or name a new secret. With --keep the previous secret
stays valid for a while, so that clients can change to the new one without refused
requests. No node needs a restart.

With -o json: the object that create prints.`
	cmd.Example = `sessctl token rotate ci --keep 24h`
	cli.DurationVar(cmd.Flags(), &keep, "keep", 0, "keep the previous secret valid for this `TIME`, at most 168h")
	return cmd
}

func tokenRevokeCmd(a app) *cobra.Command {
	cmd := a.tokenVerb(func(ctx context.Context, node *client.Client, t access.Token, n api.Notice) error {
		gone, err := node.RevokeToken(ctx, t.ID, n)
		if err != nil {
			return err
		}
		return a.Print(gone, func() error { return a.Printf("token %s (%s) is revoked", gone.ID, gone.Name) })
	})
	cmd.Use, cmd.Short = "revoke TOKEN", "Revoke a token permanently"
	cmd.Long = `Revokes the token with that id or name, on all nodes of the log, and ends its open
event streams, within a second.

With -o json: one object with the token as it was.`
	cmd.Example = `sessctl token revoke ann --why "left the team"`
	return cmd
}

// tokenVerb returns a verb for one token that requires a reason.
func (a app) tokenVerb(do func(context.Context, *client.Client, access.Token, api.Notice) error) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			node, t, err := a.tokenNamed(ctx, args[0])
			if err != nil {
				return err
			}
			return do(ctx, node, t, a.Notice(why))
		}),
	}
	cli.WhyFlag(cmd, &why)
	return cmd
}

// tokenNamed finds the token with that id or name.
func (a app) tokenNamed(ctx context.Context, arg string) (*client.Client, access.Token, error) {
	node, err := a.Client()
	if err != nil {
		return nil, access.Token{}, err
	}
	list, err := node.Tokens(ctx)
	if err != nil {
		return nil, access.Token{}, err
	}
	var found []access.Token
	for _, t := range list {
		if t.ID == arg {
			return node, t, nil
		}
		if t.Name == arg {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return node, found[0], nil
	case 0:
		return nil, access.Token{}, cli.Hintf(fmt.Errorf("no token with the id or name %.80q: %w", arg, core.ErrNotFound), "list the tokens with: sessctl token ls")
	}
	return nil, access.Token{}, cli.Hintf(fmt.Errorf("%d tokens are called %.80q: %w", len(found), arg, core.ErrInvalid), "name it by its id, see: sessctl token ls")
}

func tokenCheckCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Show what the current token permits",
		Long: `Asks the node for the identity and the rights of the token in SESS_TOKEN or
--token.

With -o json: one object with log, node, token (its name and id; absent if the
node requires no token), scope, prefix and limits.`,
		Example: "sessctl token check",
		Args:    cobra.NoArgs,
		RunE: a.Run(cli.Short, func(ctx context.Context, _ []string) error {
			node, err := a.Client()
			if err != nil {
				return err
			}
			me, err := node.Whoami(ctx)
			if err != nil {
				return err
			}
			return a.Print(me, func() error {
				who := cmp.Or(me.Token, "no token: this node does not check tokens")
				sessions := "all sessions"
				if me.Prefix != "" {
					sessions = "sessions " + me.Prefix + "*"
				}
				return a.Printf("%s\nscope %s, %s of log %s; limits: %s", who, me.Scope, sessions, me.Log, limitsText(me.Limits))
			})
		}),
	}
}
