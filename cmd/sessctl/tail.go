package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func tailCmd(a *app) *cobra.Command {
	var f tailFlags
	cmd := &cobra.Command{
		Use:   "tail SESSION",
		Short: "Show a session's records, and follow it",
		Long: `Shows what was stored, in order: a line for each entry, with the cursor of its
record, the head, the type and what it says. With -f it goes on with what is
stored from now on, until it is interrupted or --timeout is over; both are a
good end. --after goes on behind a cursor that was seen before.

With -o json: an object for each record, each on a line of its own: seq,
cursor, kind, head, writer, epoch, time, and entries, or body for kinds that
have none.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			after, err := core.ParseCursor(f.after)
			if err != nil {
				return fmt.Errorf("--after: %w", err)
			}
			limit := short
			if f.follow {
				limit = forever
			}
			ctx, cancel := a.within(cmd, limit)
			defer cancel()
			return a.tail(ctx, args[0], after, f.follow)
		},
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on with what is stored from now on")
	cmd.Flags().StringVar(&f.after, "after", "", "begin behind this `CURSOR` (default at the first record)")
	return cmd
}

type tailFlags struct {
	follow bool
	after  string
}

func (a *app) tail(ctx context.Context, arg string, after core.Cursor, follow bool) error {
	node, id, err := a.inLog(ctx, arg)
	if err != nil {
		return err
	}
	err = node.Follow(ctx, string(id), after, follow, func(ev api.Event) error {
		if a.format == asJSON {
			return a.printJSON(ev)
		}
		return a.printEvent(ev)
	})
	if follow && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

// printEvent prints a line for each entry of a record, or one for the record.
// They come one by one, so they are not lined up.
func (a *app) printEvent(ev api.Event) error {
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
		if err := a.printEventLine(ev, kind, gist(line)); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printEventLine(ev api.Event, kind, text string) error {
	line := join("  ", ev.Cursor.String(), plain(ev.Head), plain(kind), plain(text))
	return a.printf("%s", a.stdout.fit(line, 0))
}

// eventText says who did it, and of a claim, for whom.
func eventText(ev api.Event) string {
	var body struct {
		Agent string    `json:"agent"`
		By    string    `json:"by"`
		Host  string    `json:"host"`
		Why   string    `json:"why"`
		Leaf  core.Leaf `json:"leaf"`
	}
	_ = json.Unmarshal(ev.Body, &body) // what is not there is not shown
	if ev.Kind == core.KindHead {
		return "at " + leafText(body.Leaf)
	}
	who := body.Agent
	if who == "" {
		who = body.By
	}
	return join(": ", join(" on ", who, body.Host), body.Why)
}
