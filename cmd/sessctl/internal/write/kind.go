package write

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/optional"
)

// kindFlags describe an entry independent of the agent.
type kindFlags struct {
	kind     string
	role     string
	text     string
	provider string
	model    string
	forRole  string
	target   string
	tokens   int64
	name     string
	details  string
	hidden   bool
}

func (k *kindFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&k.kind, "kind", "", "append one entry of this `KIND` instead: "+kindNames())
	f.StringVar(&k.role, "role", "user", "the `ROLE` of a message: system, user or assistant")
	f.StringVar(&k.text, "text", "", "the `TEXT` of a message or note, the summary, the level, the label, the name, the mode or the channel")
	f.StringVar(&k.provider, "provider", "", "the `NAME` of the provider, for a model or an assistant's message")
	f.StringVar(&k.model, "model", "", "the `NAME` of the model, for a model or an assistant's message")
	f.StringVar(&k.forRole, "for", "", "the agent's `ROLE` that uses the model (default the agent's own default)")
	f.StringVar(&k.target, "target", "", "the `ENTRY` of a label, the first one that a compaction keeps, or the one that a leaf points to (or null)")
	f.Int64Var(&k.tokens, "tokens", 0, "the size of the context before a compaction, `N` tokens")
	f.StringVar(&k.name, "type", "", "the extension's `NAME`, for a custom entry or a note")
	f.StringVar(&k.details, "details", "", "data of the agent or its extension, one `JSON` value")
	f.BoolVar(&k.hidden, "hidden", false, "hide a note from users")
}

// alone rejects flags of an entry without --kind.
func (k *kindFlags) alone(cmd *cobra.Command) error {
	for _, name := range []string{"role", "text", "provider", "model", "for", "target", "tokens", "type", "details", "hidden"} {
		if k.kind == "" && cmd.Flags().Changed(name) {
			return cli.Usagef("--%s requires --kind", name)
		}
	}
	return nil
}

// kinds are the kinds of entries that flags can describe.
var kinds = []item.Kind{
	item.Message, item.Model, item.Level, item.Compaction, item.Label, item.Name,
	item.Custom, item.Note, item.Leaf, item.Mode, item.Channel,
}

func kindNames() string {
	var names []string
	for _, k := range kinds {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// item returns the item that the flags describe.
func (k *kindFlags) item() (item.Item, error) {
	it := item.Item{
		Kind: item.Kind(k.kind), Text: k.text, Target: k.target, Tokens: k.tokens,
		Provider: k.provider, Model: k.model, For: k.forRole, Type: k.name, Hidden: k.hidden,
	}
	if k.details != "" {
		if !json.Valid([]byte(k.details)) {
			return it, cli.Usagef("--details is not JSON: %s", k.details)
		}
		it.Details = json.RawMessage(k.details)
	}
	if k.tokens < 0 {
		return it, cli.Usagef("--tokens %d is below 0", k.tokens)
	}
	block := []item.Block{{Kind: item.BlockText, Text: k.text}}
	switch it.Kind {
	case item.Message:
		it.Role, it.Blocks, it.Text = item.Role(k.role), block, ""
		if it.Role == item.RoleAssistant {
			it.Stop = item.StopEnd
		}
		switch it.Role {
		case item.RoleSystem, item.RoleUser, item.RoleAssistant:
			return it, nil
		}
		return it, cli.Usagef("--role %.128q is not one of system, user, assistant", k.role)
	case item.Note:
		it.Blocks, it.Text = block, ""
	case item.Label:
		if it.Target == "" {
			return it, cli.Usagef("--target is missing: the entry that the label is for")
		}
	case item.Leaf:
		if it.Target == cli.NullLeaf {
			it.Target = ""
		}
	}
	if slices.Contains(kinds, it.Kind) {
		return it, nil
	}
	return it, cli.Usagef("--kind %.128q is not one of %s", k.kind, kindNames())
}

// line returns the item as an entry line of the session's agent.
func (k *kindFlags) line(ctx context.Context, a app, node *client.Client, id core.SessionID) ([]byte, error) {
	it, err := k.item()
	if err != nil {
		return nil, err
	}
	info, err := node.Info(ctx, string(id))
	if err != nil {
		return nil, err
	}
	d, err := dialect.Named(info.Log.Dialect)
	if err != nil {
		return nil, err
	}
	if it.Target != "" {
		// This request fails if the target does not exist. No agent could append after
		// a leaf that points to a missing entry.
		if _, err := node.Children(ctx, string(id), it.Target); err != nil {
			return nil, err
		}
	}
	it.Time = a.Now().UTC().Format("2006-01-02T15:04:05.000Z") // messages have it, too
	return written(d, id, it)
}

// written returns it as a line of d, or as two if the model needs its own.
func written(d core.Dialect, id core.SessionID, it item.Item) ([]byte, error) {
	if err := optional.CheckItem(d, it); err != nil {
		return nil, err
	}
	line, lost := d.Write(it)
	if line == nil && len(lost) == 0 {
		return nil, fmt.Errorf("%s has no entry for a %s: %w", d.Name(), it.Kind, core.ErrInvalid)
	}
	if i := slices.Index(lost, item.LostModel); i >= 0 {
		model, _ := d.Write(item.Item{Kind: item.Model, Provider: it.Provider, Model: it.Model})
		line = append(append(model, '\n'), line...)
		lost = slices.Delete(lost, i, i+1)
	}
	if len(lost) > 0 {
		return nil, cli.Hintf(fmt.Errorf("%s cannot represent this in a %s: %s: %w", d.Name(), it.Kind, strings.Join(lost, ", "), core.ErrInvalid),
			"provide the entry line on standard input: sessctl append %s < lines.jsonl", id)
	}
	return line, nil
}
