package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func statusCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show how the node is",
		Long: `Shows the node at a glance; the first line says whether all is well. Exits with
7 if it is not.

With -o json: one object with node, version, log, healthy, summary,
uptimeSeconds, sessions, shards (stream, leader, replicas, messages, bytes,
limit, full, sessions, lag), cache (sessions, bytes, limit), blobs, bounds (by
what it bounds: used, limit, refused) and losses: how many records the log had
lost that this node put back since it began (redone), how many lines it put on
heads of their own because others had gone on (rescued), and how often a record
was not in the copy of the log that was read, but in another (lent).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := a.within(cmd, short)
			defer cancel()
			return a.status(ctx)
		},
	}
}

func (a *app) status(ctx context.Context) error {
	node, err := a.client()
	if err != nil {
		return err
	}
	s, err := node.Status(ctx)
	if err != nil {
		return err
	}
	s.Shards = notNil(s.Shards)
	if err := a.print(s, func() error { return a.printStatus(s) }); err != nil {
		return err
	}
	if !s.Healthy {
		return hintf(fmt.Errorf("the node is not well: %s%w", s.Summary, silent{core.ErrUnavailable}), "see the node's log")
	}
	return nil
}

// mostShards is how many shards fit on a screen.
const mostShards = 12

func (a *app) printStatus(s api.Status) error {
	g := a.newGrid()
	g.add("state", s.Summary)
	g.add("node", join(", ", s.Node, "version "+s.Version, "up "+(time.Duration(s.Uptime)*time.Second).String()))
	g.add("log", fmt.Sprintf("%s, %s", s.Log, count(s.Sessions, "session", "sessions")))
	g.add("cache", fmt.Sprintf("%s, %s of %s", count(s.Cache.Sessions, "session", "sessions"), bytesText(s.Cache.Bytes), bytesText(s.Cache.Limit)))
	g.add("blobs", s.Blobs)
	for _, name := range slices.Sorted(maps.Keys(s.Bounds)) {
		if b := s.Bounds[name]; b.Refused > 0 {
			g.add("refused", fmt.Sprintf("%s of %s, since the node started; now %d of %d", count(int(b.Refused), "time", "times"), name, b.Used, b.Limit))
		}
	}
	if l := s.Losses; l != (api.Losses{}) {
		g.add("lost", fmt.Sprintf("%d records put back, %d lines put on heads of their own, %d times a record was only in other copies", l.Redone, l.Rescued, l.Lent))
	}
	if err := g.flush(); err != nil {
		return err
	}
	if len(s.Shards) == 0 {
		return nil
	}
	g = a.newGrid()
	g.add("STREAM", "LEADER", "REPLICAS", "MESSAGES", "SIZE", "FULL", "SESSIONS", "LAG")
	for i, sh := range s.Shards {
		if i == mostShards && len(s.Shards) > mostShards+1 {
			g.add(fmt.Sprintf("and %d more, see: -o json", len(s.Shards)-i))
			break
		}
		g.add(sh.Stream, sh.Leader, strconv.Itoa(sh.Replicas), uintText(sh.Messages), bytesText(int64(sh.Bytes)), fmt.Sprintf("%.0f%%", 100*sh.Full), uintText(sh.Sessions), uintText(sh.Lag))
	}
	return g.flush()
}

func uintText(n uint64) string { return strconv.FormatUint(n, 10) }
