package read

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func modelInputCmd(a app) *cobra.Command {
	var v cli.ViewFlags
	var p profileFlag
	cmd := &cobra.Command{
		Use:   "model-input SESSION",
		Short: "Show what the session's agent would send to its model",
		Long: `Shows the context that the session's agent builds, by the rules of that agent,
at a head or at an entry. With --profile it shows the context that another agent,
or another version, would build. --profile operator@request shows what Operator
sends to its model: its context without empty answers, and without failed or
unfinished ones at the end.

With -o json: exactly the object that the agent's own context builder returns
(pi: messages, thinkingLevel, model).`,
		Example: `sessctl model-input 019a
sessctl model-input 019a --profile pi@1.5 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			if err := cmp.Or(v.Check(), p.check()); err != nil {
				return err
			}
			return a.context(ctx, args[0], v, p)
		}),
	}
	v.Add(cmd)
	p.add(cmd)
	a.Demand.Add(cmd)
	return cmd
}

func (a app) context(ctx context.Context, arg string, v cli.ViewFlags, p profileFlag) error {
	src, err := a.Find(ctx, arg)
	if errors.Is(err, core.ErrNotFound) && slices.Contains([]string{"ls", "add", "use", "rm"}, arg) { // as sessctl context, its old name
		return cli.Hintf(err, "to manage clusters: sessctl contexts %s", arg)
	}
	if err != nil {
		return err
	}
	raw, err := a.contextOf(ctx, src, v, p)
	if err != nil {
		return err
	}
	if a.Format == cli.JSON {
		return cmp.Or(a.PrintRaw(raw), a.PrintRaw([]byte("\n")))
	}
	return a.printContext(raw)
}

func (a app) contextOf(ctx context.Context, src cli.Source, v cli.ViewFlags, p profileFlag) (json.RawMessage, error) {
	if src.File == nil {
		at := v.API()
		at.Profile = p.name
		return src.Node.Context(ctx, src.ID, at)
	}
	f, leaf, err := p.read(src.File, v)
	if err != nil {
		return nil, err
	}
	a.NoteSkipped(f)
	return f.Rules.Context(f.Entries, leaf)
}

// printContext prints one line for each message, the model and the thinking level.
func (a app) printContext(raw json.RawMessage) error {
	var c struct {
		Messages      []json.RawMessage `json:"messages"`
		ThinkingLevel string            `json:"thinkingLevel"`
		Model         json.RawMessage   `json:"model"`

		Models   map[string]string `json:"models"` // omp's, by role
		Level    string            `json:"thinking_level"`
		ModelOf  string            `json:"model_id"`
		Provider string            `json:"provider_id"`
		Text     string            `json:"context"` // Nova's, in place of messages
		Input    []json.RawMessage `json:"input"`   // Codex's, in place of messages
		Updates  []json.RawMessage `json:"updates"` // of the dialect acp, in place of messages
	}
	_ = json.Unmarshal(raw, &c)
	if c.Messages == nil {
		c.Messages = c.Input
	}
	if c.Text != "" && c.Messages == nil {
		return a.printLines(c.Text)
	}
	if c.Updates != nil {
		return a.Printf("%s for an editor; to show them: -o json", cli.Count(len(c.Updates), "update", "updates"))
	}
	g := a.NewGrid()
	for i, line := range c.Messages {
		m := readBrief(line)
		g.Row(strconv.Itoa(i+1), roleOf(m), m.words())
	}
	if err := g.Flush(); err != nil {
		return err
	}
	about := cli.Count(len(c.Messages), "message", "messages")
	model := readBrief(c.Model)
	model.Provider, model.ModelID = cmp.Or(model.Provider, c.Provider), cmp.Or(model.ModelID, c.ModelOf)
	if name := cmp.Or(cli.Join("/", model.Provider, model.ModelID), c.Models["default"]); name != "" {
		about += ", model " + name
	}
	if level := cmp.Or(c.ThinkingLevel, c.Level); level != "" {
		about += ", thinking " + level
	}
	return a.Printf("%s", cli.Plain(about))
}

// printLines prints text line by line.
func (a app) printLines(text string) error {
	for line := range strings.Lines(text) {
		if err := a.Printf("%s", cli.Plain(line)); err != nil {
			return err
		}
	}
	return nil
}
