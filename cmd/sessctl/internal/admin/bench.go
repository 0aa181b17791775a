package admin

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/internal/bench"
)

func benchCmd(a app) *cobra.Command {
	var b benchRun
	cmd := &cobra.Command{
		Use:   "bench [append|open]",
		Short: "Measure appending and opening sessions on this machine",
		Long: `Starts a server in a temporary directory, which syncs to disk before each answer
as a node does, and runs one of the benchmarks, or both:

append: appends with 1 and with 64 writers, compared with publishing to JetStream
directly.

open: opens sessions of growing size, compared with reading a file of the same
lines. Also opens a session that stays at 10,000 entries while its history grows,
with snapshots written and the log truncated: 200 times at each step, compared
with fetching and parsing its snapshot.

It uses no node. Results vary between runs: compare the ratios within a run, and
the medians of several runs.

With -o json: one object with appends (name, writers, appends, perSecond, p50
and p99 in nanoseconds, baseline, ratio) and openings (entries, bytes, file,
log, snap and context in nanoseconds, ratio) and histories (entries, records,
snapshots, inLog in bytes, snapshot and snapshotP99, p50 and p99 in nanoseconds,
ratio: of p99 to snapshot).`,
		Example: `sessctl bench
sessctl bench append --dir /var/lib/sessnode`,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"append", "open"},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := a.Within(cmd, cli.Forever)
			defer cancel()
			if len(args) > 0 {
				b.only = args[0]
			}
			return a.bench(ctx, b)
		},
	}
	cmd.Flags().DurationVar(&b.time, "time", 2*time.Second, "run each append benchmark for this long")
	cmd.Flags().StringVar(&b.dir, "dir", os.TempDir(), "create the temporary directory in `DIR`, whose disk is measured")
	cmd.Flags().BoolVar(&b.group, "group", false, "let appends share flushes, as a node with nats.sync: group does")
	cmd.Flags().IntSliceVar(&b.sizes, "entries", []int{1_000, 10_000, 50_000, 200_000}, "sizes of the sessions to open, in entries")
	cmd.Flags().UintSliceVar(&b.histories, "records", []uint{100, 1_000, 10_000}, "lengths of the history at which the growing session is opened, in records")
	return cmd
}

type benchRun struct {
	only  string // append or open; "" for both
	time  time.Duration
	dir   string
	group bool
	sizes []int

	histories []uint
}

// The growing session: its entries, and how often it is opened.
const (
	historyEntries = 10_000
	historyOpens   = 200
)

// benchmarks is the output of bench.
type benchmarks struct {
	Appends  []bench.Result  `json:"appends"`
	Openings []bench.Opening `json:"openings"`

	Histories []bench.History `json:"histories"`
}

func (a app) bench(ctx context.Context, b benchRun) error {
	for _, n := range b.sizes {
		if n < 1 || n > 1_000_000 {
			return cli.Usagef("--entries: %d is not from 1 to 1000000", n)
		}
	}
	var records []uint64
	for i, n := range b.histories {
		if n < 50 || n > 1_000_000 || i > 0 && n < b.histories[i-1] {
			return cli.Usagef("--records: %d; use numbers from 50 to 1000000, the smallest first", n)
		}
		records = append(records, uint64(n))
	}
	rig, err := bench.NewRig(ctx, b.dir, b.group)
	if err != nil {
		return err
	}
	defer rig.Close()
	var out benchmarks
	if b.only != "open" {
		if out.Appends, err = rig.Appends(ctx, b.time); err != nil {
			return err
		}
	}
	if b.only != "append" {
		if out.Openings, err = rig.Openings(ctx, b.sizes...); err != nil {
			return err
		}
		if out.Histories, err = rig.Histories(ctx, historyEntries, historyOpens, records...); err != nil {
			return err
		}
	}
	return a.Print(out, func() error { return a.printBench(out) })
}

func (a app) printBench(out benchmarks) error {
	if err := a.printAppends(out); err != nil {
		return err
	}
	if err := a.printOpenings(out); err != nil {
		return err
	}
	return a.printHistories(out)
}

func (a app) printAppends(out benchmarks) error {
	if len(out.Appends) == 0 {
		return nil
	}
	g := a.NewGrid()
	g.Row("APPENDING 1 KIB LINES", "WRITERS", "PER SECOND", "P50", "P99", "TO RAW")
	for _, r := range out.Appends {
		ratio := "1"
		if r.Baseline != "" {
			ratio = fmt.Sprintf("%.2f", r.Ratio)
		}
		g.Row(r.Name, strconv.Itoa(r.Writers), fmt.Sprintf("%.0f", r.PerSec), short3(r.P50), short3(r.P99), ratio)
	}
	return g.Flush()
}

func (a app) printHistories(out benchmarks) error {
	if len(out.Histories) == 0 {
		return nil
	}
	g := a.NewGrid()
	g.Row("OPENING 10,000 ENTRIES AFTER", "SNAPSHOTS", "IN THE LOG", "SNAPSHOT, PARSED P50", "P99", "OPEN P50", "P99", "P99 TO SNAPSHOT P50")
	for _, h := range out.Histories {
		g.Row(cli.Count(h.Records, "record", "records"), strconv.Itoa(h.Snapshots), cli.Bytes(int64(h.InLog)),
			short3(h.Snapshot), short3(h.SnapshotP99), short3(h.P50), short3(h.P99), fmt.Sprintf("%.2f", h.Ratio))
	}
	return g.Flush()
}

func (a app) printOpenings(out benchmarks) error {
	if len(out.Openings) == 0 {
		return nil
	}
	g := a.NewGrid()
	g.Row("OPENING", "SIZE", "FILE, PARSED", "FROM THE LOG", "FROM A SNAPSHOT", "CONTEXT", "TIMES AS QUICK")
	for _, o := range out.Openings {
		g.Row(cli.Count(o.Entries, "entry", "entries"), cli.Bytes(int64(o.Bytes)), short3(o.File), short3(o.Log), short3(o.Snap), short3(o.Context),
			fmt.Sprintf("%.1f", o.Ratio))
	}
	return g.Flush()
}

// short3 rounds d to about three digits.
func short3(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
