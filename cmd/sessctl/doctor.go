package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func doctorCmd(a *app) *cobra.Command {
	var fix bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at everything, and say what is wrong and what mends it",
		Long: `Has the node look at everything that it can see: itself, what an
acknowledgement is worth, the streams and their copies, whether the listing
follows the log, what the log had lost, the disk, the clock, the object store,
rows and snapshots. Each finding has a level: danger (what was acknowledged may
be lost, or work is refused), warning (something does not work as it should, or
soon will not), note (it could be cheaper or safer). Exits with 8 if there is a
danger or a warning.

It changes nothing, but with --fix it mends what can be made again from the log:
rows, and snapshots whose records are there. It reads no session whole: sessctl
verify --all does.

With -o json: one object with log, node, checks (name, seen) and findings
(check, level, what, detail, next, mended), the worst first.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			return a.doctor(ctx, fix)
		},
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "mend what is safe to mend")
	return cmd
}

func (a *app) doctor(ctx context.Context, fix bool) error {
	node, err := a.client()
	if err != nil {
		return err
	}
	r, err := node.Doctor(ctx, fix)
	if err != nil {
		return err
	}
	r.Checks, r.Findings = notNil(r.Checks), notNil(r.Findings)
	if err := a.print(r, func() error { return a.printExamination(r) }); err != nil {
		return err
	}
	if worst := r.Worst(); worst == api.Danger || worst == api.Warning {
		return fmt.Errorf("%s%w", verdict(r), silent{core.ErrCorrupt})
	}
	return nil
}

func (a *app) printExamination(r api.Examination) error {
	err := a.printf("%s", verdict(r))
	for _, f := range r.Findings {
		state := string(f.Level)
		if f.Mended {
			state = "mended"
		}
		err = errors.Join(err, a.printf("%-8s %s", state, a.stdout.folded(plain(join(": ", f.Check, f.What, f.Detail)), findingsAt)))
		if f.Next != "" && !f.Mended {
			err = errors.Join(err, a.printf("         %s", a.stdout.folded(plain("next: "+f.Next), findingsAt)))
		}
	}
	g := a.newGrid()
	for _, c := range r.Checks {
		g.add("  "+c.Name, c.Seen)
	}
	return errors.Join(err, a.printf("looked at"), g.flush())
}

// findingsAt is the column where what was found begins, behind how bad it is.
const findingsAt = 9

// verdict says in one line how it stands.
func verdict(r api.Examination) string {
	count := map[string]int{}
	for _, f := range r.Findings {
		if !f.Mended {
			count[string(f.Level)]++
		}
	}
	var parts []string
	for _, level := range []string{string(api.Danger), string(api.Warning), string(api.Note)} {
		if n := count[level]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d × %s", n, level))
		}
	}
	if len(parts) == 0 {
		return "all is well"
	}
	return strings.Join(parts, ", ")
}
