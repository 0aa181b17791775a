package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/config"
	"github.com/sesslog/sesslog/internal/bench"
)

// benchCmd returns the command bench, which starts its own servers.
func benchCmd(out io.Writer) *cobra.Command {
	var b benchRun
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure appends and opening sessions on this machine",
		Long: `Starts servers in a new temporary directory, and none of the settings of a node apply. Machines differ: compare the
ratios to the baseline, which is measured in the same run. All values are medians of several runs.`,
		Example: `  sessnode bench append
  sessnode bench http --sync 0s`,
		// Settings are not read, so that a faulty one of the node on this machine does not matter.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
	}
	cmd.PersistentFlags().StringVar(&b.dir, "dir", os.TempDir(), "create the temporary directory in `DIR`, whose disk is measured")
	cmd.PersistentFlags().BoolVar(&b.json, "json", false, "print JSON, with times in nanoseconds")
	cmd.PersistentFlags().IntVar(&b.runs, "runs", 3, "repeat appends and latency so often")
	cmd.PersistentFlags().DurationVar(&b.time, "time", 3*time.Second, "run each workload for this long")
	sync := "group"
	add := func(use, short string, run func(context.Context) error) *cobra.Command {
		c := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) }}
		cmd.AddCommand(c)
		return c
	}
	program := []string{os.Args[0], "bench", "serve"}
	if self, err := os.Executable(); err == nil {
		program[0] = self
	}
	b.out = out
	inProcess := add("append", "Appends in this process, beside JetStream that flushes each message", func(ctx context.Context) error { return b.append(ctx, sync) })
	http := add("http", "Appends over HTTP to a node, beside JetStream that flushes each message", func(ctx context.Context) error {
		return b.onNodes(ctx, (*bench.Nodes).HTTP, func() (*bench.Nodes, error) { return bench.StartNode(ctx, program, b.dir, sync) })
	})
	for _, c := range []*cobra.Command{inProcess, http} {
		c.Flags().StringVar(&sync, "sync", sync, "nats.sync of the log")
	}
	cluster := func(ctx context.Context) func() (*bench.Nodes, error) {
		return func() (*bench.Nodes, error) { return bench.StartCluster(ctx, program, b.dir) }
	}
	add("cluster", "Appends over HTTP to three nodes, beside JetStream with three replicas", func(ctx context.Context) error {
		return b.onNodes(ctx, (*bench.Nodes).HTTP, cluster(ctx))
	})
	add("latency", "From an append at one of three nodes until a follower at another has it", func(ctx context.Context) error {
		return b.onNodes(ctx, (*bench.Nodes).Latency, cluster(ctx))
	})
	cmd.AddCommand(openCmd(&b), benchServeCmd(out))
	return cmd
}

// benchServeCmd returns a hidden command: a node of a benchmark. It does not check its
// settings, because nodes on one machine can share a directory of objects, and stops at
// the end of its input, so that it never outlives the benchmark.
func benchServeCmd(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:    "serve",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg := config.Default("", "sessnode")
			if err := setFlags(&cfg, cmd); err != nil {
				return err
			}
			config.Settle(&cfg)
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			go func() {
				_, _ = io.Copy(io.Discard, cmd.InOrStdin())
				stop()
			}()
			return serve(ctx, cfg, out, logger(cfg.Logging, cmd.ErrOrStderr()))
		},
	}
}

type benchRun struct {
	out  io.Writer
	dir  string
	json bool
	runs int
	time time.Duration
}

// append runs the benchmark without HTTP.
func (b *benchRun) append(ctx context.Context, sync string) error {
	if sync != config.SyncGroup.String() && sync != "0s" {
		return fmt.Errorf("--sync: %q; use group or 0s", sync)
	}
	spareProcessor()
	rig, err := bench.NewRig(ctx, b.dir, sync == config.SyncGroup.String())
	if err != nil {
		return err
	}
	defer rig.Close()
	return b.repeat(func() ([]bench.Result, error) { return rig.Appends(ctx, b.time) })
}

// onNodes runs a benchmark on nodes in processes of their own.
func (b *benchRun) onNodes(ctx context.Context, run func(*bench.Nodes, context.Context, time.Duration) ([]bench.Result, error), start func() (*bench.Nodes, error)) error {
	nodes, err := start()
	if err != nil {
		return err
	}
	defer nodes.Close()
	return b.repeat(func() ([]bench.Result, error) { return run(nodes, ctx, b.time) })
}

// repeat runs a benchmark as often as required, and prints the medians.
func (b *benchRun) repeat(run func() ([]bench.Result, error)) error {
	if b.runs < 1 || b.runs > 1000 {
		return fmt.Errorf("--runs: %d is not from 1 to 1000", b.runs)
	}
	var runs [][]bench.Result
	for range b.runs {
		r, err := run()
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	results := bench.Medians(runs)
	if b.json {
		return json.NewEncoder(b.out).Encode(results)
	}
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LINES OF 1 KIB\tWRITERS\tPER SECOND\tP50\tP99\tCPU EACH\tTO RAW")
	for _, r := range results {
		ratio := "1"
		if r.Baseline != "" {
			ratio = fmt.Sprintf("%.2f", r.Ratio)
		}
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%s\t%s\t%s\t%s\n", r.Name, r.Writers, r.PerSec, short3(r.P50), short3(r.P99), short3(r.CPU), ratio)
	}
	return w.Flush()
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
