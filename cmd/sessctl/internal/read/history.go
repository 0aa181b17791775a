package read

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/session/catalog"
)

func historyCmd(a app) *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:   "history [WORD...]",
		Short: "Search the prompts of users",
		Long: `Lists the prompts that users gave to agents, in all sessions on all hosts, newest
first: those that contain every WORD, or all. The last WORD may be a prefix. Case,
accents and punctuation are ignored.

With -o json: a list with an object for each prompt: session, entry, dialect,
host (where the session was made), cwd, time, prompt, snippet (of a search: the
words around the first match), and cut if the prompt is longer than the 64 KiB
that are kept.`,
		Example: `sessctl history
sessctl history flaky test`,
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			f.words = strings.Join(args, " ")
			if f.limit < 0 {
				return cli.Usagef("--limit %d is below 0", f.limit)
			}
			return a.history(ctx, f)
		}),
	}
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "only prompts from this `DIR`")
	cmd.Flags().StringVar(&f.session, "session", "", "only prompts of this `SESSION`")
	cmd.Flags().IntVarP(&f.limit, "limit", "n", 50, "list at most `N` prompts, 0 for all")
	return cmd
}

type historyFlags struct {
	words   string
	cwd     string
	session string
	limit   int
}

func (a app) history(ctx context.Context, f historyFlags) error {
	q := catalog.PromptQuery{Text: f.words}
	if f.cwd != "" {
		dir, err := agent.RealDir(f.cwd)
		if err != nil {
			return err
		}
		q.CWD = dir
	}
	node, err := a.Client()
	if err != nil {
		return err
	}
	if f.session != "" {
		if node, q.Session, err = a.InLog(ctx, f.session); err != nil {
			return err
		}
	}
	var behind int
	prompts, more, err := cli.Pages(f.limit, "", func(n int, before string) ([]catalog.Prompt, string, error) {
		q.Limit, q.Before = n, before
		page, err := node.Prompts(ctx, q)
		behind = page.Behind
		return page.Prompts, page.Next, err
	})
	if err != nil {
		return err
	}
	if a.Format == cli.JSON {
		return a.PrintJSON(cli.NotNil(prompts))
	}
	if err := a.printPrompts(prompts); err != nil {
		return err
	}
	if behind > 0 {
		a.Notef("the node has not indexed %d sessions yet; retry later", behind)
	}
	if more {
		a.Notef("there are more, list all with: --limit 0")
	}
	return nil
}

func (a app) printPrompts(prompts []catalog.Prompt) error {
	if len(prompts) == 0 {
		a.Notef("no prompts")
		return nil
	}
	var groups finds
	for _, p := range prompts {
		groups.add(find{
			session: p.Session, short: p.ShortID, dialect: p.Dialect, cwd: p.CWD, time: p.Time,
			label: cli.Plain(a.TimeText(p.Time)), text: cmp.Or(p.Snippet, p.Prompt), matches: p.Matches,
		})
	}
	return a.printFinds(groups)
}
