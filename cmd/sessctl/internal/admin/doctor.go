package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/hint"
)

func doctorCmd(a app) *cobra.Command {
	var fix bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Diagnose a node and its log",
		Long: `The node checks all that it can see: itself, the durability of an acknowledgement,
the streams and their replicas, the lag of the listing, losses of the log, the
disk, the clock, the object store, rows and snapshots. Each finding has a level:
danger (acknowledged data may be lost, or work is refused), warning (a function
fails or soon will), note (the setup could be cheaper or safer). The exit code is
8 if there is a danger or a warning.

doctor changes nothing, except that --fix repairs what can be derived from the
log: rows, and snapshots whose records exist. It does not read whole sessions:
for that, use sessctl verify --all.

With -o json: one object with log, node, checks (name, seen) and findings
(check, level, what, detail, next, repaired), the worst first.`,
		Example: `sessctl doctor
sessctl doctor --fix`,
		Args: cobra.NoArgs,
		RunE: a.Run(cli.Forever, func(ctx context.Context, _ []string) error {
			return a.doctor(ctx, fix)
		}),
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "repair what can be repaired safely")
	return cmd
}

func (a app) doctor(ctx context.Context, fix bool) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	r, err := node.Doctor(ctx, fix)
	if err != nil {
		return err
	}
	r.Checks, r.Findings = cli.NotNil(r.Checks), cli.NotNil(r.Findings)
	if err := a.Print(r, func() error { return a.printExamination(r) }); err != nil {
		return err
	}
	if worst := r.Worst(); worst == report.Danger || worst == report.Warning {
		return fmt.Errorf("%s%w", verdict(r), hint.Silent(core.ErrCorrupt))
	}
	return nil
}

func (a app) printExamination(r report.Examination) error {
	err := a.Printf("%s", verdict(r))
	for _, f := range r.Findings {
		state := string(f.Level)
		if f.Repaired {
			state = "repaired"
		}
		err = errors.Join(err, a.Printf("%-8s %s", state, a.Stdout.Wrap(cli.Plain(cli.Join(": ", f.Check, f.What, f.Detail)), findingsAt)))
		if f.Next != "" && !f.Repaired {
			err = errors.Join(err, a.Printf("         %s", a.Stdout.Wrap(cli.Plain("hint: "+f.Next), findingsAt)))
		}
	}
	g := a.NewGrid()
	for _, c := range r.Checks {
		g.Row("  "+c.Name, c.Seen)
	}
	return errors.Join(err, a.Printf("looked at"), g.Flush())
}

// findingsAt is the column of findings, after their level.
const findingsAt = 9

// verdict summarizes the findings in one line.
func verdict(r report.Examination) string {
	count := map[string]int{}
	for _, f := range r.Findings {
		if !f.Repaired {
			count[string(f.Level)]++
		}
	}
	var parts []string
	for _, level := range []string{string(report.Danger), string(report.Warning), string(report.Note)} {
		if n := count[level]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d × %s", n, level))
		}
	}
	if len(parts) == 0 {
		return "all is well"
	}
	return strings.Join(parts, ", ")
}
