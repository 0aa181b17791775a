package read

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/usage"
)

func usageCmd(a app) *cobra.Command {
	var v cli.ViewFlags
	var prices string
	cmd := &cobra.Command{
		Use:   "usage SESSION",
		Short: "Show the tokens and the cost of a session",
		Long: `Shows what the models of a session used: in all branches, by model, on the path
to each head, and by sub-agent. With --leaf or --head it shows one path. Each answer
counts once. "inherited" is the part that was used in the sessions from which this
one was forked.

The cost is what the agent wrote. For agents that write no cost, an estimate is
made from a list of prices, the node's or that of --prices: a JSON object with
date, currency and models, which maps a model to the prices of a million tokens
(input, output, cacheRead, cacheWrite, cacheWriteHour). Those of --prices replace
the others model by model, or all of them if the currency differs.

With -o json: answers, input, output, cacheRead, cacheWrite, cost, estimate,
withoutCost, unpriced and models; heads and agents (name, and the same); inherited;
subagents (session, name, and the sums) if sub-agents have sessions; prices (the
date of the list) and currency of estimates. From the log it also has session and
cursor.`,
		Example: `sessctl usage 019a
sessctl usage 019a --head review
sessctl usage ~/.pi/agent/sessions/proj/2026.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			if err := v.Check(); err != nil {
				return err
			}
			return a.usage(ctx, args[0], v, prices)
		}),
	}
	v.Add(cmd)
	cmd.Flags().StringVar(&prices, "prices", "", "estimate costs with the prices in `FILE`, in addition to those that sessctl lists")
	_ = cmd.MarkFlagFilename("prices", "json")
	a.Demand.Add(cmd)
	return cmd
}

func (a app) usage(ctx context.Context, arg string, v cli.ViewFlags, pricesFile string) error {
	prices, err := a.prices(ctx, pricesFile)
	if err != nil {
		return err
	}
	src, err := a.Find(ctx, arg)
	if err != nil {
		return err
	}
	if src.File != nil {
		r, err := fileUsage(src.File, v)
		if err != nil {
			return err
		}
		a.NoteSkipped(src.File)
		prices.Estimate(&r)
		return a.Print(r, func() error { return a.printUsage(api.SessionUsage{Report: r}) })
	}
	u, err := src.Node.Usage(ctx, src.ID, v.API())
	if err != nil {
		return err
	}
	if pricesFile != "" {
		prices.Estimate(&u.Report)
	}
	return a.Print(u, func() error { return a.printUsage(u) })
}

// prices returns the listed prices, and those in a file, if one is named.
func (a app) prices(ctx context.Context, file string) (usage.Prices, error) {
	if file == "" {
		return usage.Listed(), nil
	}
	data, err := a.ReadBytes(ctx, file)
	if err != nil {
		return usage.Prices{}, err
	}
	own, err := usage.ReadPrices(data)
	if err != nil {
		return usage.Prices{}, fmt.Errorf("%s: %w", file, err)
	}
	return usage.Listed().With(own), nil
}

func fileUsage(f *cli.SessionFile, v cli.ViewFlags) (usage.Report, error) {
	fold := usage.NewFold(f.Rules, f.Header)
	fold.Add(f.Entries...)
	leaf, err := f.View(v)
	if err != nil {
		return usage.Report{}, err
	}
	path, err := f.Rules.Path(f.Entries, leaf)
	if err != nil {
		return usage.Report{}, err
	}
	if v.Given() {
		return usage.Report{Part: fold.Path(path)}, nil
	}
	return fold.Report([]usage.Head{{Name: core.MainHead, Path: path}}, nil), nil
}

// printUsage prints a row for the whole, for each model, head and sub-agent.
func (a app) printUsage(u api.SessionUsage) error {
	g := usageTable{a.NewGrid(), cmp.Or(u.Currency, "USD") == "USD"}
	estimate := "ESTIMATE"
	if !g.dollars {
		estimate = cli.Join(" ", estimate, u.Currency)
	}
	g.Row("", "REPLIES", "IN", "OUT", "CACHE READ", "CACHE WRITE", "COST", estimate)
	g.sum("all", u.Sum)
	for _, m := range u.Models {
		if m.Sum != (usage.Sum{}) {
			g.sum("model "+cli.OrNone(m.Model), m.Sum)
		}
	}
	for _, h := range u.Heads {
		g.named("head "+h.Name, h, len(u.Heads) > 1)
	}
	for _, s := range u.Agents {
		g.named("agent "+s.Name, s, true)
	}
	for _, s := range u.Subagents {
		g.sum("agent "+string(s.Session), usage.Sum{Usage: s.Usage})
	}
	if u.Inherited.Usage != (item.Usage{}) {
		g.sum("inherited", u.Inherited.Sum)
	}
	g.DropEmpty()
	if err := g.Flush(); err != nil {
		return err
	}
	if u.More > 0 {
		a.Notef("%s more: use --head", cli.Count(u.More, "head", "heads"))
	}
	if u.Unpriced {
		a.Notef("some models are not in the list of prices of %s: add them with --prices", u.Prices)
	}
	return nil
}

// A usageTable has a row for each sum.
type usageTable struct {
	*cli.Grid
	dollars bool // estimates are in dollars, as costs are
}

// named adds the row of a part and, if it has several models or each is asked for,
// those of its models.
func (g usageTable) named(name string, n usage.Named, models bool) {
	g.sum(name, n.Sum)
	if !models {
		return
	}
	for _, m := range n.Models {
		g.sum(name+", "+cli.OrNone(m.Model), m.Sum)
	}
}

func (g usageTable) sum(name string, s usage.Sum) {
	estimate := ""
	if s.WithoutCost != (usage.Tokens{}) {
		estimate = display.Cost(s.Estimate)
		if !g.dollars { // its column names the currency
			estimate = strings.Replace(estimate, "$", "", 1)
		}
		if s.Unpriced {
			estimate = cli.Join("+", estimate, "?")
		}
	}
	answers := ""
	if s.Answers > 0 {
		answers = strconv.FormatInt(s.Answers, 10)
	}
	g.Row(name, answers, strconv.FormatInt(s.Input, 10), strconv.FormatInt(s.Output, 10),
		strconv.FormatInt(s.CacheRead, 10), strconv.FormatInt(s.CacheWrite, 10), display.Cost(s.Cost), estimate)
}
