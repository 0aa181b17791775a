package read

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func tailCmd(a app) *cobra.Command {
	var f tailFlags
	cmd := &cobra.Command{
		Use:   "tail SESSION... | --all",
		Short: "Show the records of sessions, and follow them",
		Long: `Shows the stored entries in order: one line for each, with the cursor of its
record, the head, the type and the text. With -f it continues with new entries,
until it is interrupted or --timeout passes; both are a success. --after continues
after a cursor.

Several sessions are shown one after the other, each line with its session, and
with -f followed concurrently: each in its order, 100 at most. --all -f follows all
sessions, including new ones, or those that the flags of ls select. A session
whose records were truncated before they could be shown is named.

With -o json: one object per line for each record: seq, cursor, kind, head,
writer, epoch, time, and entries, or body for kinds without entries; for several
sessions also session.`,
		Example: `sessctl tail 019a
sessctl tail -f --all --cwd "$PWD"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.all != (len(args) == 0) {
				return cli.Usagef("either sessions or --all are required")
			}
			if f.all && !f.follow {
				return cli.Usagef("--all requires -f")
			}
			if len(args) != 1 && f.after != "" {
				return cli.Usagef("--after requires exactly one session")
			}
			o, err := f.Options(a.Now())
			if err != nil {
				return err
			}
			if !f.all && !reflect.ValueOf(o).IsZero() {
				return cli.Usagef("flags that select sessions require --all")
			}
			after, err := core.ParseCursor(f.after)
			if err != nil {
				return fmt.Errorf("--after: %w", err)
			}
			limit := cli.Short
			if f.follow {
				limit = cli.Forever
			}
			ctx, cancel := a.Within(cmd, limit)
			defer cancel()
			if len(args) == 1 {
				return a.tail(ctx, args[0], after, f.follow)
			}
			return a.tailMany(ctx, args, o, f.follow)
		},
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "continue with new entries")
	cmd.Flags().StringVar(&f.after, "after", "", "begin after this `CURSOR` (default at the first record)")
	cmd.Flags().BoolVar(&f.all, "all", false, "with -f: follow all sessions, or those that the flags select")
	f.Add(cmd)
	return cmd
}

type tailFlags struct {
	cli.FilterFlags
	follow, all bool
	after       string
}

func (a app) tail(ctx context.Context, arg string, after core.Cursor, follow bool) error {
	node, id, err := a.InLog(ctx, arg)
	if err != nil {
		return err
	}
	err = node.Follow(ctx, string(id), after, follow, a.showEvent)
	if follow {
		return endOfTail(err)
	}
	return err
}

// endOfTail returns nil for an interruption or a timeout, else err.
func endOfTail(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func (a app) showEvent(ev api.Event) error {
	if a.Format == cli.JSON {
		return a.PrintJSON(ev)
	}
	return a.printEvent(ev)
}

// printEvent prints a line for each entry of a record, or one for the record.
// Lines arrive one by one, so they are not aligned.
func (a app) printEvent(ev api.Event) error {
	if len(ev.Entries) == 0 {
		return a.printEventLine(ev, string(ev.Kind), eventText(ev))
	}
	for _, line := range ev.Entries {
		kind := readBrief(line).Type
		switch ev.Kind {
		case core.KindAmend:
			kind += " (amended)"
		case core.KindRedact:
			kind += " (redacted)"
		}
		if err := a.printEventLine(ev, kind, preview(line)); err != nil {
			return err
		}
	}
	return nil
}

func (a app) printEventLine(ev api.Event, kind, text string) error {
	line := cli.Join("  ", string(ev.Session), ev.Cursor.String(), cli.Plain(ev.Head), cli.Plain(kind), cli.Plain(text))
	return a.Printf("%s", a.Stdout.Fit(line, 0))
}

// eventText returns the actor of a record with the reason. For a head it returns
// the position, and the note about an agent's file if there is one.
func eventText(ev api.Event) string {
	var body struct {
		Agent string    `json:"agent"`
		By    string    `json:"by"`
		Host  string    `json:"host"`
		Why   string    `json:"why"`
		Leaf  core.Leaf `json:"leaf"`
		Note  *struct {
			Why string `json:"why"`
		} `json:"note"`
	}
	_ = json.Unmarshal(ev.Body, &body) // missing members are not shown
	if ev.Kind == core.KindHead && body.Note != nil {
		return "at " + cli.LeafText(body.Leaf) + ": " + body.Note.Why
	}
	if ev.Kind == core.KindHead {
		return "at " + cli.LeafText(body.Leaf)
	}
	who := body.Agent
	if who == "" {
		who = body.By
	}
	return cli.Join(": ", cli.Join(" on ", who, body.Host), body.Why)
}
