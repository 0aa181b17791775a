package read

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
)

func attachCmd(a app) *cobra.Command {
	var f attachFlags
	cmd := &cobra.Command{
		Use:   "attach SESSION",
		Short: "Follow a session live",
		Long: `Shows the last turns of a conversation and then each new entry as it is stored,
until it is interrupted: answers, tool calls as one line, the beginning of prompts
and of tool results, and claims, releases and moves of heads. Entries on heads
other than main name their head; --head shows one head only. Control characters in
a session are made visible, so that a session cannot control the terminal.

attach only reads. If the node fails, it waits and then continues at the same
place, also through another node of --url.

With -o json: one object per line for each entry, and for each record without
entries: cursor (that of its record; for the first turns the cursor at which
the session was read), head, kind (append, amend, redact, claim, release, head
and others), time, and entry, or body for kinds without entries.`,
		Example: `sessctl attach 019a
sessctl attach 019a --last 20`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			if f.last < 0 {
				return cli.Usagef("--last is below 0")
			}
			if f.head != "" {
				if err := core.CheckHead(f.head); err != nil {
					return err
				}
			}
			err := a.attach(ctx, args[0], f)
			if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
				return nil
			}
			return err
		}),
	}
	cmd.Flags().IntVarP(&f.last, "last", "n", 5, "begin with the last `N` turns, each a prompt and its answers")
	cmd.Flags().StringVar(&f.head, "head", "", "show only the head `NAME` (default the last turns of main, then writes to every head)")
	return cmd
}

type attachFlags struct {
	last int
	head string
}

// An attached shows a session to a user.
type attached struct {
	a     app
	d     core.Dialect
	head  string          // the only head to show; empty for all
	seen  map[string]bool // ids of the entries that begin showed
	after core.Cursor     // the cursor after which Follow starts
}

func (a app) attach(ctx context.Context, arg string, f attachFlags) error {
	node, id, err := a.InLog(ctx, arg)
	if err != nil {
		return err
	}
	info, err := node.Info(ctx, string(id))
	if err != nil {
		return err
	}
	d, err := dialect.Named(info.Log.Dialect)
	if err != nil {
		return err
	}
	x := &attached{a: a, d: d, head: f.head, seen: map[string]bool{}, after: info.Log.Cursor}
	// Entries that arrive before the next request are among the turns; x.seen
	// prevents that they are shown twice.
	turns, err := x.turns(ctx, node, id, f)
	if err != nil {
		return err
	}
	if err := x.begin(id, info, turns); err != nil {
		return err
	}
	return node.Follow(ctx, string(id), x.after, true, x.show)
}

// turns returns the entries of the last turns on the path to the head.
func (x *attached) turns(ctx context.Context, node *client.Client, id core.SessionID, f attachFlags) ([]core.Entry, error) {
	if f.last == 0 {
		return nil, nil
	}
	body, err := node.Entries(ctx, string(id), true, client.View{Head: f.head})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return lastTurns(cli.Answer{Reader: body}, x.d, f.last)
}

// lastTurns reads entry lines and returns those of the last n turns.
func lastTurns(lines io.Reader, d core.Dialect, n int) ([]core.Entry, error) {
	var es []core.Entry
	var begins []int // of the turns in es
	for r := bufio.NewReaderSize(lines, 1<<20); ; {
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		if e, bad := d.Entry(trimNewline(line)); bad == nil && len(line) > 0 {
			if isPrompt(d, e) {
				begins = append(begins, len(es))
			}
			es = append(es, e)
		}
		if len(begins) > n {
			drop := begins[len(begins)-n]
			es = append([]core.Entry(nil), es[drop:]...)
			begins = begins[len(begins)-n:]
			for i := range begins {
				begins[i] -= drop
			}
		}
		if err == io.EOF {
			return es, nil
		}
	}
}

func trimNewline(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		return line[:n-1]
	}
	return line
}

func isPrompt(d core.Dialect, e core.Entry) bool {
	for _, it := range d.Read(e) {
		if it.Kind == item.Message && it.Role == item.RoleUser {
			return true
		}
	}
	return false
}

// begin shows the session and its last turns.
func (x *attached) begin(id core.SessionID, info api.Info, turns []core.Entry) error {
	a := x.a
	head := core.MainHead
	if x.head != "" {
		head = x.head
	}
	if a.Format != cli.JSON {
		name := ""
		if info.Name != nil {
			name = *info.Name
		}
		if err := a.Printf("%s", a.Stdout.Fit(cli.Plain(cli.Join(" · ", string(id), info.Log.Dialect, name, info.CWD)), 0)); err != nil {
			return err
		}
		if info.Log.Deleted != nil {
			if err := x.note("it is in the trash, restore it with: sessctl rm --undo %s", id); err != nil {
				return err
			}
		}
		if h := info.Log.Heads[head]; h != nil && h.Claim != nil {
			if err := x.note("head %s is held by %s", head, a.ClaimText(h.Claim)); err != nil {
				return err
			}
		}
		if n := len(info.Log.Heads); n > 1 && x.head == "" {
			if err := x.note("it has %d heads; list them with: sessctl heads %s", n, id); err != nil {
				return err
			}
		}
	}
	for _, e := range turns {
		if e.ID != "" {
			x.seen[e.ID] = true
		}
		if err := x.entry(shownRecord{Cursor: x.after, Head: head, Kind: core.KindAppend, Entry: e.Line}); err != nil {
			return err
		}
	}
	return nil
}

// A shownRecord is one line of attach -o json.
type shownRecord struct {
	Cursor core.Cursor     `json:"seq"`
	Head   string          `json:"head"`
	Kind   core.Kind       `json:"kind"`
	Time   time.Time       `json:"time,omitzero"` // of its record
	Entry  json.RawMessage `json:"entry,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// show shows a record.
func (x *attached) show(ev api.Event) error {
	if x.head != "" && ev.Head != x.head && aboutHead(ev.Kind) {
		return nil
	}
	s := shownRecord{Cursor: ev.Cursor, Head: ev.Head, Kind: ev.Kind, Time: ev.Time}
	if len(ev.Entries) == 0 || ev.Kind == core.KindRedact {
		s.Body = ev.Body
		if err := x.record(s); err != nil {
			return err
		}
		s.Body = nil
	}
	for _, line := range ev.Entries {
		s.Entry = line
		if ev.Kind == core.KindAppend {
			if e, err := x.d.Entry(line); err == nil && x.seen[e.ID] {
				delete(x.seen, e.ID)
				continue
			}
		}
		if err := x.entry(s); err != nil {
			return err
		}
	}
	return nil
}

// aboutHead reports whether records of that kind are about one head.
func aboutHead(k core.Kind) bool {
	switch k {
	case core.KindAppend, core.KindHead, core.KindClaim, core.KindRelease:
		return true
	}
	return false
}

func (x *attached) entry(s shownRecord) error {
	if x.a.Format == cli.JSON {
		return x.a.PrintJSON(s)
	}
	if s.Kind != core.KindAppend {
		return x.note("%s %s: %s", s.Kind, readBrief(s.Entry).ID, preview(s.Entry))
	}
	e, err := x.d.Entry(s.Entry)
	if err != nil {
		return x.note("%s", preview(s.Entry)) // from a newer node
	}
	for _, it := range x.d.Read(e) {
		if err := x.item(s, it); err != nil {
			return err
		}
	}
	return nil
}

func (x *attached) record(s shownRecord) error {
	if x.a.Format == cli.JSON {
		return x.a.PrintJSON(s)
	}
	who := eventText(api.Event{Kind: s.Kind, Body: s.Body})
	switch s.Kind {
	case core.KindCheckpoint:
		return nil // not part of the conversation
	case core.KindClaim:
		return x.note("head %s is held by %s", s.Head, who)
	case core.KindRelease:
		return x.note("%s", cli.Join(", ", "head "+s.Head+" is free", who))
	case core.KindHead:
		return x.note("head %s moved %s", s.Head, who)
	}
	return x.note("%s", cli.Join(": ", string(s.Kind), who))
}
