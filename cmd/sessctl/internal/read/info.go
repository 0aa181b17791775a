package read

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/jsonline"
)

func infoCmd(a app) *cobra.Command {
	var p profileFlag
	cmd := &cobra.Command{
		Use:        "info SESSION",
		SuggestFor: []string{"show", "get"},
		Short:      "Show a session at a glance",
		Long: `Shows the session as its agent sees it: header, entries by type, leaf, name and
labels, and facts that only this agent has. For a session in the log it also shows
heads and holders, origin and cost. With --profile it shows the view of another
agent.

With -o json: one object with header, version, sessionId, cwd, entryCount,
types (a count for each type), leafId (null for none), name (null for none)
and labels (entry id to label); and own, the facts that only the agent has, such
as its model: docs/DIALECTS.md lists them. From the log it also has log: session,
dialect, cursor, heads, epoch, origin, checkpoint, usage, and closed, deleted or
erased if it is. From a file it also has skipped (line, error) if there are lines
that are not entries.`,
		Example: `sessctl info 019a
sessctl info ~/.pi/agent/sessions/proj/2026.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			if err := p.check(); err != nil {
				return err
			}
			return a.info(ctx, args[0], p)
		}),
	}
	p.add(cmd)
	a.Demand.Add(cmd)
	return cmd
}

// fileInfo is the output of info for a file.
type fileInfo struct {
	display.Info
	Skipped []core.BadLine `json:"skipped,omitempty"`
}

func (a app) info(ctx context.Context, arg string, p profileFlag) error {
	src, err := a.Find(ctx, arg)
	if err != nil {
		return err
	}
	if own := src.File; own != nil {
		f, leaf, err := p.read(own, cli.ViewFlags{})
		if err != nil {
			return err
		}
		info, err := f.Rules.Info(f.Header, f.Entries, leaf)
		if err != nil {
			return err
		}
		return a.Print(fileInfo{info, f.Skipped}, func() error {
			g := a.NewGrid()
			addInfo(g, info, string(core.SessionIDFor(own.Dialect, own.Header.ID)), p.say(own.Dialect))
			for _, bad := range f.Skipped {
				g.Row("skipped", fmt.Sprintf("line %d: %s", bad.Line, bad.Error))
			}
			return g.Flush()
		})
	}
	info, err := src.Node.InfoBy(ctx, src.ID, p.name)
	if err != nil {
		return err
	}
	return a.Print(info, func() error {
		g := a.NewGrid()
		addInfo(g, info.Info, string(info.Log.Session), p.say(info.Log.Dialect))
		a.addLog(g, info.Log)
		return g.Flush()
	})
}

func addInfo(g *cli.Grid, info display.Info, session, dialect string) {
	g.Row("session", session)
	if info.SessionID != session {
		g.Row("agent's id", info.SessionID)
	}
	g.RowIf("name", cli.Deref(info.Name))
	if version := string(info.Version); version != "null" {
		dialect += ", version " + version
	}
	g.Row("dialect", dialect)
	g.RowIf("directory", info.CWD)
	g.Row("entries", cli.Join(": ", strconv.Itoa(info.EntryCount), typesText(info.Types)))
	g.Row("leaf", cli.OrNone(cli.Deref(info.LeafID)))
	for _, id := range slices.Sorted(maps.Keys(info.Labels)) {
		g.Row("label", fmt.Sprintf("%q on %s", info.Labels[id], id))
	}
	addOwn(g, info.Own)
}

// addOwn adds a row for each fact that only the session's agent has.
func addOwn(g *cli.Grid, own json.RawMessage) {
	if own == nil {
		return
	}
	_ = jsonline.Members(own, func(name string, v jsontext.Value) {
		words := memberWords
		if name == "models" { // its members are roles, shown as written
			words = func(role string) string { return role }
		}
		g.RowIf(memberWords(name), ownText(v, 0, words))
	})
}

// memberWords returns the name of a member as words, such as "thinking level" for
// thinkingLevel and thinking_level.
func memberWords(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r == '_':
			b.WriteByte(' ')
		case r >= 'A' && r <= 'Z':
			b.WriteByte(' ')
			b.WriteRune(r - 'A' + 'a')
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// ownText returns a value as text, with the names of members as words returns them. It
// is empty for null.
func ownText(v jsontext.Value, depth int, words func(string) string) string {
	var parts []string
	switch v.Kind() {
	case 'n':
		return ""
	case '"':
		s, _ := jsonline.Text(v)
		return s
	case '{':
		if depth > 0 {
			break
		}
		_ = jsonline.Members(v, func(name string, v jsontext.Value) {
			if text := ownText(v, depth+1, words); text != "" {
				parts = append(parts, words(name)+" "+text)
			}
		})
		return strings.Join(parts, ", ")
	case '[':
		if depth > 0 {
			break
		}
		var items []jsontext.Value
		_ = json.Unmarshal(v, &items)
		for _, item := range items {
			parts = append(parts, ownText(item, depth+1, words))
		}
		return strings.Join(parts, ", ")
	}
	return string(v)
}

// typesText lists types with their counts, the most frequent first.
func typesText(types map[string]int) string {
	names := slices.Sorted(maps.Keys(types))
	slices.SortStableFunc(names, func(a, b string) int { return types[b] - types[a] })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, types[name])
	}
	return strings.Join(names, ", ")
}

func (a app) addLog(g *cli.Grid, l api.LogInfo) {
	g.Row("cursor", l.Cursor.String())
	for _, name := range slices.Sorted(maps.Keys(l.Heads)) {
		head := l.Heads[name]
		if head == nil {
			continue
		}
		holder := "no writer"
		if head.Claim != nil {
			holder = a.ClaimText(head.Claim)
		}
		g.Row("head", fmt.Sprintf("%s at %s, held by %s", name, cli.LeafText(head.Leaf), holder))
	}
	for _, from := range l.Origin.Lineages() {
		g.Row(from.Kind, cli.Join(" at ", "of "+string(from.Session), from.Entry))
	}
	if !l.Origin.Original.IsZero() {
		g.Row("original", fmt.Sprintf("version %s, %s, see: sessctl export --original", cli.OrNone(l.Origin.Version), cli.Bytes(l.Origin.OriginalSize)))
	}
	for _, bad := range l.Origin.Skipped {
		g.Row("skipped", fmt.Sprintf("line %d: %s", bad.Line, bad.Error))
	}
	if l.Checkpoint > 0 {
		g.Row("snapshot", fmt.Sprintf("covers the first %s", cli.Count(l.Checkpoint, "record", "records")))
	}
	g.RowIf("usage", usageText(l.Usage))
	a.AddNotice(g, "closed", l.Closed)
	a.AddNotice(g, "deleted", l.Deleted)
	a.AddNotice(g, "erased", l.Erased)
	a.AddNotice(g, "held", l.Held)
}

func usageText(u item.Usage) string {
	if u == (item.Usage{}) {
		return ""
	}
	return cli.Join(", ", display.Cost(u.Cost),
		fmt.Sprintf("%d tokens in, %d out, %d read from cache, %d written to it", u.Input, u.Output, u.CacheRead, u.CacheWrite))
}
