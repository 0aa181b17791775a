package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/internal/bench"
)

func benchCmd(a *app) *cobra.Command {
	var b benchRun
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure appends and openings on this machine",
		Long: `Starts a server of its own in a temporary directory, which flushes to disk before
every answer as a node's does, and measures on it: appends with 1 and with 64
writers beside raw JetStream publishing, and opening sessions beside reading a
file of the same lines. No node is needed, and none is touched.

Machines are noisy: compare the ratios of one run, and the medians of several.

With -o json: one object with appends (name, writers, appends, perSecond, p50
and p99 in nanoseconds, baseline, ratio) and openings (entries, bytes, file,
log, snap and context in nanoseconds, ratio).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			return a.bench(ctx, b)
		},
	}
	cmd.Flags().DurationVar(&b.time, "time", 2*time.Second, "how long each way of appending runs")
	cmd.Flags().StringVar(&b.dir, "dir", os.TempDir(), "put the temporary directory into `DIR`: its disk is what is measured")
	cmd.Flags().IntSliceVar(&b.sizes, "entries", []int{1_000, 10_000, 50_000}, "how many entries the sessions to open have")
	return cmd
}

type benchRun struct {
	time  time.Duration
	dir   string
	sizes []int
}

// benchmarks is what bench prints.
type benchmarks struct {
	Appends  []bench.Result  `json:"appends"`
	Openings []bench.Opening `json:"openings"`
}

func (a *app) bench(ctx context.Context, b benchRun) error {
	for _, n := range b.sizes {
		if n < 1 || n > 1_000_000 {
			return usagef("--entries: %d is not from 1 to 1000000", n)
		}
	}
	rig, err := bench.NewRig(ctx, b.dir)
	if err != nil {
		return err
	}
	defer rig.Close()
	var out benchmarks
	if out.Appends, err = rig.Appends(ctx, b.time); err != nil {
		return err
	}
	if out.Openings, err = rig.Openings(ctx, b.sizes...); err != nil {
		return err
	}
	return a.print(out, func() error { return a.printBench(out) })
}

func (a *app) printBench(out benchmarks) error {
	g := a.newGrid()
	g.add("APPENDING 1 KIB LINES", "WRITERS", "PER SECOND", "P50", "P99", "TO RAW")
	for _, r := range out.Appends {
		ratio := "1"
		if r.Baseline != "" {
			ratio = fmt.Sprintf("%.2f", r.Ratio)
		}
		g.add(r.Name, strconv.Itoa(r.Writers), fmt.Sprintf("%.0f", r.PerSec), short3(r.P50), short3(r.P99), ratio)
	}
	if err := g.flush(); err != nil {
		return err
	}
	if len(out.Openings) == 0 {
		return nil
	}
	g = a.newGrid()
	g.add("OPENING", "SIZE", "FILE, PARSED", "FROM THE LOG", "FROM A SNAPSHOT", "CONTEXT", "TIMES AS QUICK")
	for _, o := range out.Openings {
		g.add(count(o.Entries, "entry", "entries"), bytesText(int64(o.Bytes)), short3(o.File), short3(o.Log), short3(o.Snap), short3(o.Context),
			fmt.Sprintf("%.1f", o.Ratio))
	}
	return g.flush()
}

// short3 is d with three digits or so.
func short3(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
