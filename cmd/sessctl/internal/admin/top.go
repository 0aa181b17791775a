package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/catalog"
)

func topCmd(a app) *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show a node's load and its busiest sessions",
		Long: `Shows every few seconds the state of a node, the nodes of its log if there are
several, the node's write rate, and the sessions with the most writes, until it is
interrupted. If the output is not a terminal, one table is printed, or --times
tables.

A rate is per second, over the time since the previous table.

With -o json: an object each time, with time, state, healthy, appendsPerSecond,
linesPerSecond, refusedPerSecond (appends that were not stored), requestsPerSecond,
followers, waiting, lag, full (of the fullest shard), sessions: id, title, agent,
entries, entriesPerSecond, state, and nodes: name, alive, seen.`,
		Example: `sessctl top
sessctl top --times 10 --every 5s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.every < minTopEvery {
				return cli.Usagef("--every %s is less than %s", f.every, minTopEvery)
			}
			if !cmd.Flags().Changed("times") && !a.Stdout.TTY {
				f.times = 1
			}
			ctx, cancel := a.Within(cmd, cli.Forever)
			defer cancel()
			return a.top(ctx, f)
		},
	}
	cli.DurationVar(cmd.Flags(), &f.every, "every", 2*time.Second, "refresh after this `TIME`")
	cmd.Flags().IntVar(&f.times, "times", 0, "print `N` tables, 0 for until interrupted (default 1 if the output is not a terminal)")
	return cmd
}

type topFlags struct {
	every time.Duration
	times int
}

const (
	minTopEvery = 100 * time.Millisecond
	topSessions = 20 // limit if the height of the screen is unknown
)

// The counters that top shows the rates of.
const (
	appendsStored = `sesslog_append_duration_seconds_count{outcome="stored"}`
	appendsAll    = `sesslog_append_duration_seconds_count`
	linesStored   = `sesslog_append_lines_total`
	requestsAll   = `sesslog_http_requests_total`
)

// A look is the state of a node at a time.
type look struct {
	at     time.Time
	status api.Status
	nodes  []session.Present
	counts map[string]float64
	rows   []catalog.Row
}

// A topReport compares two looks.
type topReport struct {
	Time     time.Time    `json:"time"`
	State    string       `json:"state"`
	Healthy  bool         `json:"healthy"`
	Appends  float64      `json:"appendsPerSecond"`
	Lines    float64      `json:"linesPerSecond"`
	Refused  float64      `json:"refusedPerSecond"`
	Requests float64      `json:"requestsPerSecond"`
	Follow   int64        `json:"followers"`
	Waiting  int64        `json:"waiting"`
	Lag      uint64       `json:"lag"`
	Full     float64      `json:"full"`
	Sessions []topSession `json:"sessions"`
	Nodes    []topNode    `json:"nodes"`
	status   api.Status
}

type topNode struct {
	Name  string    `json:"name"`
	Alive bool      `json:"alive"`
	Seen  time.Time `json:"seen"`
}

type topSession struct {
	ID      core.SessionID `json:"id"`
	Title   string         `json:"title"`
	Agent   string         `json:"agent"`
	Entries int            `json:"entries"`
	Rate    float64        `json:"entriesPerSecond"`
	State   string         `json:"state"`
	short   string         // the shortest unique beginning of ID
}

func (a app) top(ctx context.Context, f topFlags) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	before, err := a.look(ctx, node)
	if err != nil {
		return err
	}
	if a.Stdout.TTY && a.Format == cli.Table { // something to look at before there are rates
		if err := a.printTop(compare(before, before), 0); err != nil {
			return err
		}
	}
	for shown := 0; f.times == 0 || shown < f.times; shown++ {
		if err := retry.Wait(ctx, f.every); err != nil {
			return interrupted(err, shown)
		}
		now, err := a.look(ctx, node)
		if err != nil && ctx.Err() != nil {
			return interrupted(err, shown)
		}
		if err != nil {
			return err
		}
		r := compare(before, now)
		if err := a.Print(r, func() error { return a.printTop(r, shown) }); err != nil {
			return err
		}
		before = now
	}
	return nil
}

// interrupted returns nil for an interruption after the first table, else err.
func interrupted(err error, shown int) error {
	if shown > 0 && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

func (a app) look(ctx context.Context, node *client.Client) (l look, err error) {
	ctx, cancel := context.WithTimeout(ctx, cli.Short)
	defer cancel()
	l.at = a.Now()
	if l.status, err = node.Status(ctx); err != nil {
		return l, err
	}
	if l.counts, err = node.Metrics(ctx, appendsStored, appendsAll, linesStored, requestsAll); err != nil {
		return l, err
	}
	if present, err := node.Presence(ctx); err == nil { // it fails with the brokers, and status says why
		l.nodes = slices.DeleteFunc(present.Present, func(p session.Present) bool { return p.Kind != "node" })
	}
	page, err := node.List(ctx, catalog.Filter{Limit: 200})
	l.rows = page.Sessions
	return l, err
}

// compare returns the changes between two looks.
func compare(before, now look) topReport {
	seconds := max(now.at.Sub(before.at).Seconds(), 0.001)
	rate := func(name string) float64 { // a restarted node counts from 0
		return max(now.counts[name]-before.counts[name], 0) / seconds
	}
	r := topReport{
		Time: now.at.UTC(), State: now.status.Summary, Healthy: now.status.Healthy,
		Appends: rate(appendsStored), Lines: rate(linesStored), Requests: rate(requestsAll),
		Follow: now.status.Bounds["followers"].Used, Waiting: now.status.Bounds["appends"].Used,
		Sessions: []topSession{}, Nodes: []topNode{}, status: now.status,
	}
	for _, p := range now.nodes {
		r.Nodes = append(r.Nodes, topNode{p.Agent, p.Alive, p.Seen})
	}
	r.Refused = max(rate(appendsAll)-r.Appends, 0)
	for _, sh := range now.status.Shards {
		r.Lag, r.Full = max(r.Lag, sh.Lag), max(r.Full, sh.Full)
	}
	had := map[core.SessionID]int{}
	for _, row := range before.rows {
		had[row.ID] = row.Entries
	}
	for _, row := range now.rows {
		s := topSession{ID: row.ID, Title: cmp.Or(row.Name, row.First), Agent: row.Dialect, Entries: row.Entries, State: cli.RowState(row), short: cli.ShortID(row.ShortID, row.ID)}
		if n, ok := had[row.ID]; ok {
			s.Rate = max(float64(row.Entries-n), 0) / seconds
		} else {
			s.Rate = float64(row.Entries) / seconds // new, or not among the latest before
		}
		r.Sessions = append(r.Sessions, s)
	}
	slices.SortStableFunc(r.Sessions, func(x, y topSession) int { // stable: the latest first
		switch {
		case x.Rate > y.Rate:
			return -1
		case x.Rate < y.Rate:
			return 1
		}
		return 0
	})
	r.Sessions = r.Sessions[:min(len(r.Sessions), topSessions)]
	return r
}

// nodesText names the nodes of a log, and those that are silent. It is empty if there
// is one.
func (a app) nodesText(nodes []topNode) string {
	if len(nodes) < 2 {
		return ""
	}
	var names []string
	for _, n := range nodes {
		if !n.Alive {
			n.Name += " (silent since " + a.Time(n.Seen) + ")"
		}
		names = append(names, n.Name)
	}
	return strings.Join(names, ", ")
}

func (a app) printTop(r topReport, shown int) error {
	switch {
	case a.Stdout.TTY:
		if _, err := fmt.Fprint(a.Stdout, "\x1b[H\x1b[2J"); err != nil {
			return err
		}
	case shown > 0:
		if err := a.Printf(""); err != nil {
			return err
		}
	}
	if err := a.Printf("%s  %s", r.Time.Local().Format("15:04:05"), a.Stdout.Paint(health(r.status), a.Stdout.Fit(cli.Plain(r.State), 10))); err != nil {
		return err
	}
	g := a.NewGrid()
	g.RowIf("nodes", a.nodesText(r.Nodes))
	g.Row("node", cli.Join(", ", r.status.Node, r.status.Log, cli.Count(r.status.Sessions, "session", "sessions"), "up "+(time.Duration(r.status.Uptime)*time.Second).String()))
	g.Row("stored", fmt.Sprintf("%.1f appends/s, %.1f lines/s, %.1f refused/s, %d waiting", r.Appends, r.Lines, r.Refused, r.Waiting))
	g.Row("served", fmt.Sprintf("%.1f requests/s, %s", r.Requests, cli.Count(r.Follow, "follower", "followers")))
	g.Row("log", fmt.Sprintf("%.0f%% full, %s behind", 100*r.Full, cli.Count(r.Lag, "record", "records")))
	if err := g.Flush(); err != nil {
		return err
	}
	most := topSessions
	if a.Stdout.Height > 0 && !a.Wide {
		most = max(a.Stdout.Height-8, 1)
	}
	g = a.NewGrid()
	g.Colors(cli.Yellow, cli.Cyan, "", cli.Green, cli.Green, "")
	g.Row("ID", "AGENT", "ENTRIES", "PER SECOND", "STATE", "TITLE")
	for _, s := range r.Sessions[:min(len(r.Sessions), most)] {
		rate := ""
		if s.Rate > 0 {
			rate = fmt.Sprintf("%.1f", s.Rate)
		}
		id := s.short
		if a.Wide {
			id = string(s.ID)
		}
		g.Row(id, s.Agent, strconv.Itoa(s.Entries), rate, s.State, s.Title)
	}
	return g.Flush()
}
