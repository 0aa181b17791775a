package admin

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/hint"
)

func statusCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the health of a node",
		Long: `Shows the state of the node: first a verdict, or all that is not well, and last the
streams of the log. The exit code is 7 if the node is not healthy.

With -o json: one object with node, version, log, healthy, summary, reasons (what
is not well, the worst first), uptimeSeconds, sessions, shards (stream, leader, replicas, messages, bytes,
limit, full, sessions, lag), cache (sessions, bytes, limit), blobs, blobCache
(memory and disk, each with objects, bytes, limit, hits, misses, and on disk
damaged and failed), blobPuts (written, writtenBytes, there, thereBytes), bounds
(by what it bounds: used, limit, refused) and losses: how many records that the
log had lost this node stored again since it started (rewritten), how many lines it
moved to separate heads because the session diverged (rescued), how often a record
was missing in the local replica and read from another (backfilled), and how many lines
of sessions in the trash only this node still remembers (pending).`,
		Example: `sessctl status
sessctl status -o json`,
		Args: cobra.NoArgs,
		RunE: a.Run(cli.Short, func(ctx context.Context, _ []string) error {
			return a.status(ctx)
		}),
	}
}

func (a app) status(ctx context.Context) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	s, err := node.Status(ctx)
	if err != nil {
		return err
	}
	s.Shards = cli.NotNil(s.Shards)
	if err := a.Print(s, func() error { return a.printStatus(s) }); err != nil {
		return err
	}
	if !s.Healthy {
		return cli.Hintf(fmt.Errorf("the node is not healthy: %s%w", s.Summary, hint.Silent(core.ErrUnavailable)), "read the node's log")
	}
	return nil
}

// mostShards is the limit of shards in a table.
const mostShards = 12

// shardsFor returns how many lines for shards fit below the used ones.
func (a app) shardsFor(used int) int {
	switch {
	case a.Wide:
		return math.MaxInt
	case a.Stdout.Height == 0:
		return mostShards
	}
	return min(max(a.Stdout.Height-used-3, 1), mostShards) // the heading, the rest, and the prompt
}

// health returns the color of a node's state.
func health(s api.Status) cli.Color {
	switch {
	case !s.Healthy:
		return cli.Red
	case s.Summary != allIsWell:
		return cli.Yellow
	}
	return cli.Green
}

// allIsWell is the summary of a node without problems.
const allIsWell = "all is well"

func (a app) printStatus(s api.Status) error {
	g := a.NewGrid()
	g.Row("node", cli.Join(", ", s.Node, "version "+s.Version, "up "+(time.Duration(s.Uptime)*time.Second).String()))
	g.Row("log", fmt.Sprintf("%s, %s", s.Log, cli.Count(s.Sessions, "session", "sessions")))
	g.Row("cache", fmt.Sprintf("%s, %s of %s", cli.Count(s.Cache.Sessions, "session", "sessions"), cli.Bytes(s.Cache.Bytes), cli.Bytes(s.Cache.Limit)))
	g.Row("blobs", s.Blobs)
	for _, c := range []struct {
		where string
		figs  api.CacheStats
	}{{"memory", s.BlobCache.Memory}, {"disk", s.BlobCache.Disk}} {
		if c.figs.Hits+c.figs.Misses > 0 {
			g.Row(c.where, cacheText(c.figs))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Bounds)) {
		if b := s.Bounds[name]; b.Refused > 0 {
			g.Row("refused", fmt.Sprintf("%s of %s, since the node started; now %d of %d", cli.Count(int(b.Refused), "time", "times"), name, b.Used, b.Limit))
		}
	}
	if l := s.Losses; l != (report.Losses{}) {
		g.Row("lost", fmt.Sprintf("%d records stored again, %d lines moved to separate heads, %d records read from other replicas", l.Rewritten, l.Rescued, l.Backfilled))
		if l.Pending > 0 {
			g.Row("pending", fmt.Sprintf("%s that sessions in the trash lack; restore them while this node runs (its log names them)", cli.Count(int(l.Pending), "line", "lines")))
		}
	}
	reasons := s.Reasons
	if len(reasons) == 0 {
		reasons = []string{s.Summary} // of an older node, or well
	}
	label := "state"
	for _, why := range reasons {
		width := max(g.FirstWidth(), len("state"))
		why = a.Stdout.Paint(health(s), a.Stdout.Fit(cli.Plain(why), width+cli.Gap))
		if err := a.Printf("%-*s  %s", width, label, why); err != nil {
			return err
		}
		label = ""
	}
	if err := g.Flush(); err != nil {
		return err
	}
	return a.printShards(s.Shards, a.shardsFor(g.Len()+len(reasons)+1))
}

func (a app) printShards(shards []api.ShardStatus, most int) error {
	if len(shards) == 0 {
		return nil
	}
	if err := a.Printf(""); err != nil {
		return err
	}
	g := a.NewGrid()
	cells := []string{"STREAM", "LEADER", "REPLICAS", "MESSAGES", "SIZE", "FULL", "SESSIONS", "LAG"}
	if a.Wide {
		cells = append(cells, "LIMIT", "GARBAGE", "MINE")
	}
	g.Row(cells...)
	for i, sh := range shards {
		if i >= most && len(shards) > most+1 {
			g.Row(fmt.Sprintf("and %d more, see: -o wide", len(shards)-i))
			break
		}
		cells = []string{sh.Stream, cli.OrDash(sh.Leader), strconv.Itoa(sh.Replicas), cli.Uint(sh.Messages), cli.Bytes(int64(sh.Bytes)), fmt.Sprintf("%.0f%%", 100*sh.Full), cli.Uint(sh.Sessions), cli.Uint(sh.Lag)}
		if a.Wide {
			cells = append(cells, limitText(sh.Limit), cli.Bytes(sh.Work.Garbage), map[bool]string{true: "yes", false: "no"}[sh.Work.Mine])
		}
		g.Row(cells...)
	}
	return g.Flush()
}

func limitText(n int64) string {
	if n == 0 {
		return "none"
	}
	return cli.Bytes(n)
}

// cacheText returns the statistics of a cache of blobs.
func cacheText(c api.CacheStats) string {
	text := fmt.Sprintf("%d of %s, %s of %s", c.Hits, cli.Count(int(c.Hits+c.Misses), "read", "reads"), cli.Bytes(c.Bytes), cli.Bytes(c.Limit))
	if c.Damaged > 0 {
		text += fmt.Sprintf(", %d damaged", c.Damaged)
	}
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d not written", c.Failed)
	}
	return text
}
