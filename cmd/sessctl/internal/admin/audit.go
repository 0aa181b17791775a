package admin

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core/report"
)

func auditCmd(a app) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show what operators did to the log",
		Long: `Lists who moved sessions to the trash, restored, held, redacted or erased them,
with time and reason, the latest last. The list has no content of sessions.

With -o json: a list with an object for each record: n (its number), time, act,
session, by, host, token, request, node, why, outcome (begun, done, refused or
failed), and detail. by and host are what the caller stated; token is the one
that authorized the call.`,
		Example: `sessctl audit
sessctl audit --since 24h`,
		Args: cobra.NoArgs,
		RunE: a.Run(cli.Short, func(ctx context.Context, _ []string) error {
			from, err := a.sinceTime(since)
			if err != nil {
				return err
			}
			return a.audit(ctx, from)
		}),
	}
	cmd.Flags().StringVar(&since, "since", "", "only records since `WHEN`: a time such as 2026-01-02T03:04:05Z, a day, or an age such as 24h or 7d")
	return cmd
}

// sinceTime parses a time, a day, or an age.
func (a app) sinceTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := cli.ParseMoment(s, a.Now())
	if err != nil {
		return t, cli.Usagef("--since %q: %v", s, err)
	}
	return t, nil
}

func (a app) audit(ctx context.Context, since time.Time) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	var rs []report.AuditRecord
	q := api.AuditQuery{Since: since}
	for {
		page, err := node.Audit(ctx, q)
		if err != nil {
			return err
		}
		rs = append(rs, page.Records...)
		if q.After = page.Next; q.After == 0 {
			break
		}
	}
	return a.Print(cli.NotNil(rs), func() error { return a.printAudit(rs) })
}

func (a app) printAudit(rs []report.AuditRecord) error {
	if len(rs) == 0 {
		a.Notef("no acts of operators are recorded")
		return nil
	}
	g := a.NewGrid()
	g.Row("TIME", "ACT", "SESSION", "BY", "TOKEN", "OUTCOME", "WHY", "DETAIL")
	for _, r := range rs {
		who := r.By
		if r.Host != "" {
			who += "@" + r.Host
		}
		g.Row(a.Time(r.Time), r.Act, string(r.Session), who, r.Token, r.Outcome, r.Why, r.Detail)
	}
	return g.Flush()
}
