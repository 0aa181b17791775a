package admin

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/web"
)

type shareFlags struct {
	cli.Confirmation
	until   string
	expires string
	list    bool
	revoke  string
	why     string
}

func shareCmd(a app) *cobra.Command {
	var f shareFlags
	cmd := &cobra.Command{
		Use:   "share [SESSION]",
		Short: "Create, list and revoke read-only links to a session",
		Long: `Creates a link with which a browser shows one session, or the path to one entry of it,
without a token. Without --until the link shows the path to main, and follows it. It
shows nothing else of the log, and it ends when it expires or is revoked.

First prints what the link would show, and what in it looks like a secret. If
something does, it asks first, and fails if it cannot ask. The secret of the link is
printed once and not stored. The page must be on (setting web), and the node must
require tokens.

--list lists the links of a session, or of all. --revoke revokes the link with that id on
all nodes within a second, and ends what it follows.

With -o json: one object with link, entries and secrets (entry, rule) and the members of
a token; with --list a list of tokens, whose prefix is the session.`,
		Example: `sessctl share 019a
sessctl share 019a --until e41b --expires 1d
sessctl share --revoke k3jx7w2m4aqz`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			switch {
			case f.revoke != "":
				return a.unshare(ctx, f)
			case f.list:
				return a.listShares(ctx, args)
			case len(args) == 0:
				return cli.Usagef("no session given")
			}
			return a.share(ctx, args[0], f)
		}),
	}
	f.Add(a.App, cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.until, "until", "", "share only the path to `ENTRY`")
	fl.StringVar(&f.expires, "expires", "7d", "the `TIME` when it expires, such as 2026-12-31, 7d or never")
	fl.BoolVar(&f.list, "list", false, "list the links")
	fl.StringVar(&f.revoke, "revoke", "", "revoke the link with this `ID`")
	cli.WhyFlag(cmd, &f.why)
	cmd.MarkFlagsMutuallyExclusive("list", "revoke", "until")
	return cmd
}

// A madeShare is the output for a new link.
type madeShare struct {
	access.Token
	Link string `json:"link"`
	web.Preview
}

func (a app) share(ctx context.Context, arg string, f shareFlags) error {
	var expires time.Time
	if f.expires != "never" {
		var err error
		if expires, err = a.untilTime(f.expires); err != nil {
			return err
		}
	}
	src, err := a.Find(ctx, arg)
	if err != nil {
		return err
	}
	if src.File != nil {
		return cli.Usagef("%s is a file; import it to share it", arg)
	}
	rules, err := a.SecretRules()
	if err != nil {
		return err
	}
	p, err := web.PreviewOf(ctx, src.Node, rules, src.ID, f.until)
	if err != nil {
		return err
	}
	a.noteShare(&p, f)
	if len(p.Secrets) > 0 && !f.Yes {
		if !a.CanAsk() {
			return cli.Hintf(fmt.Errorf("the session has what looks like a secret, and is not shared: %w", core.ErrConflict),
				"to share it nevertheless: --yes")
		}
		if ok, err := a.Confirm(ctx, "Share it nevertheless?", ""); err != nil || !ok {
			return err
		}
	}
	made, err := src.Node.Share(ctx, src.ID, api.ShareRequest{Until: f.until, Expires: expires, Notice: a.Notice(f.why)})
	if err != nil {
		return err
	}
	link := api.ShareLink(src.Node.Base, made)
	return a.Print(madeShare{made.Token, link, p}, func() error {
		a.Notef("revoke it with: sessctl share --revoke %s", made.ID)
		return a.Printf("%s", link)
	})
}

// noteShare says what a link shows.
func (a app) noteShare(p *web.Preview, f shareFlags) {
	what := "and what is added to main"
	if f.until != "" {
		what = "up to " + f.until
	}
	a.Notef("the link shows %s with their tool calls, results and images, %s", cli.Count(p.Entries, "entry", "entries"), cli.Plain(what))
	const most = 10
	for _, s := range p.Secrets[:min(len(p.Secrets), most)] {
		a.Notef("looks like a secret: %s in entry %s", s.Rule, cli.Plain(cli.OrNone(s.Entry)))
	}
	if more := len(p.Secrets) - most; more > 0 {
		a.Notef("and %d more; see sessctl secrets", more)
	}
}

func (a app) listShares(ctx context.Context, args []string) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	id := ""
	if len(args) > 0 {
		src, err := a.Find(ctx, args[0])
		if err != nil {
			return err
		}
		id = src.ID
	}
	list, err := node.Shares(ctx, id)
	if err != nil {
		return err
	}
	return a.Print(cli.NotNil(list), func() error {
		if len(list) == 0 {
			a.Notef("there are no share links")
			return nil
		}
		g := a.NewGrid()
		g.Row("ID", "SESSION", "UNTIL", "CREATED", "BY", "EXPIRES", "USED")
		for _, t := range list {
			g.Row(t.ID, t.Prefix, cli.Plain(cmp.Or(t.Until, "main")), a.Time(t.Created), cli.Plain(cli.OrNone(t.By)), a.expiry(&t), cmp.Or(a.Time(t.Used), "-"))
		}
		return g.Flush()
	})
}

// expiry says when a token expires.
func (a app) expiry(t *access.Token) string {
	if !t.Expires.IsZero() && !a.Now().Before(t.Expires) {
		return "expired"
	}
	return cmp.Or(a.Time(t.Expires), "never")
}

func (a app) unshare(ctx context.Context, f shareFlags) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	t, err := shareNamed(ctx, node, f.revoke)
	if err != nil {
		return err
	}
	gone, err := node.Unshare(ctx, t.Prefix, t.ID, a.Notice(f.why))
	if err != nil {
		return err
	}
	return a.Print(gone, func() error { return a.Printf("share link %s of %s is revoked", gone.ID, gone.Prefix) })
}

// shareNamed finds a link by its id or its URL.
func shareNamed(ctx context.Context, node *client.Client, arg string) (access.Token, error) {
	list, err := node.Shares(ctx, "")
	if err != nil {
		return access.Token{}, err
	}
	_, rest, isLink := strings.Cut(arg, "/shared/")
	if isLink {
		arg, _, _ = strings.Cut(rest, "#")
	}
	for _, t := range list {
		if t.ID == arg {
			return t, nil
		}
	}
	return access.Token{}, cli.Hintf(fmt.Errorf("no share link %.80q: %w", arg, core.ErrNotFound), "list them with: sessctl share --list")
}
