package read

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/session/catalog"
)

func searchCmd(a app) *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:   "search QUERY...",
		Short: "Search the text of sessions",
		Long: `Lists the entries of all sessions, on all hosts, that contain every word of QUERY,
newest first: prompts, answers, tool results, summaries, notes, labels and names.
"Words in quotes" are a phrase; begin* matches a prefix. Case, accents and
punctuation are ignored, and QUERY has no other operators. Flags select the
sessions.

A long entry is indexed up to a limit, a long session in its newest part;
docs/OPERATIONS.md has the limits.

With -o json: a list with an object for each entry: session, entry (if it has an
id), kind (user, assistant, tool, system, summary, note, label or name), time,
snippet (the words around the first match), name (of the session), cwd and
dialect.`,
		Example: `sessctl search flaky test
sessctl search '"exactly this"' --since 7d`,
		Args: cobra.MinimumNArgs(1),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			f.text = strings.Join(args, " ")
			if f.limit < 0 {
				return cli.Usagef("--limit %d is below 0", f.limit)
			}
			return a.search(ctx, f)
		}),
	}
	f.filter.Add(cmd)
	cmd.Flags().StringVar(&f.session, "session", "", "only entries of this `SESSION`")
	cmd.Flags().StringVar(&f.from, "from", "", "only entries of `TIME` or later, in the format of --since")
	cmd.Flags().StringVar(&f.to, "to", "", "only entries of `TIME` or before")
	cmd.Flags().IntVarP(&f.limit, "limit", "n", 50, "list at most `N` entries, 0 for all")
	return cmd
}

type searchFlags struct {
	filter  cli.FilterFlags
	text    string
	session string
	from    string
	to      string
	limit   int
}

func (a app) search(ctx context.Context, f searchFlags) error {
	o, err := f.filter.Options(a.Now())
	if err != nil {
		return err
	}
	q := catalog.SearchQuery{Text: f.text, Sessions: o}
	moment := func(s string) (time.Time, error) { return cli.ParseMoment(s, a.Now()) }
	for _, end := range []struct {
		name, value string
		to          **time.Time
	}{{"from", f.from, &q.Time.From}, {"to", f.to, &q.Time.To}} {
		if err := cli.FlagValue(end.name, end.value, end.to, moment); err != nil {
			return cli.Usagef("%v", err)
		}
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
	hits, more, err := cli.Pages(f.limit, "", func(n int, before string) ([]catalog.Hit, string, error) {
		q.Limit, q.Before = n, before
		page, err := node.Search(ctx, q)
		return page.Hits, page.Next, err
	})
	if err != nil {
		return err
	}
	if a.Format == cli.JSON {
		return a.PrintJSON(cli.NotNil(hits))
	}
	if err := a.printHits(hits); err != nil {
		return err
	}
	if more {
		a.Notef("there are more, list all with: --limit 0")
	}
	return nil
}

func (a app) printHits(hits []catalog.Hit) error {
	if len(hits) == 0 {
		a.Notef("nothing found")
		return nil
	}
	var groups finds
	for _, h := range hits {
		groups.add(find{
			session: h.Session, short: h.ShortID, dialect: h.Dialect, cwd: h.CWD, name: h.Name, time: h.Time,
			label: cli.Join(" ", cli.Cut(cli.Plain(cli.OrDash(h.Entry)), entryColumns), cli.Plain(h.Kind)), text: h.Snippet, matches: h.Matches,
		})
	}
	return a.printFinds(groups)
}
