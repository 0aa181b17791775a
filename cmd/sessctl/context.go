package main

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"github.com/spf13/cobra"
)

func contextCmd(a *app) *cobra.Command {
	var v viewFlags
	var p profileFlag
	cmd := &cobra.Command{
		Use:   "context SESSION",
		Short: "Show what the session's agent would send to its model",
		Long: `Shows the context that the session's agent builds, by the agent's own rules,
where a head stands or at an entry; or with --profile the one that another
agent, or another version of it, would build.

With -o json: exactly the object that the agent's own context builder returns
(pi: messages, thinkingLevel, model).`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(v.check(), p.check()); err != nil {
				return err
			}
			ctx, cancel := a.within(cmd, short)
			defer cancel()
			return a.context(ctx, args[0], v, p)
		},
	}
	v.add(cmd)
	p.add(cmd)
	return cmd
}

func (a *app) context(ctx context.Context, arg string, v viewFlags, p profileFlag) error {
	src, err := a.find(ctx, arg)
	if err != nil {
		return err
	}
	raw, err := a.contextOf(ctx, src, v, p)
	if err != nil {
		return err
	}
	if a.format == asJSON {
		return a.printRaw(append(raw[:len(raw):len(raw)], '\n'))
	}
	return a.printContext(raw)
}

func (a *app) contextOf(ctx context.Context, src source, v viewFlags, p profileFlag) (json.RawMessage, error) {
	if src.file == nil {
		at := v.api()
		at.Profile = p.name
		return src.node.Context(ctx, src.id, at)
	}
	f, leaf, err := src.file.by(p, v)
	if err != nil {
		return nil, err
	}
	a.noteSkipped(f)
	return f.dialect.Context(f.Entries, leaf)
}

// printContext prints the context in a line for each message. Whatever else
// an agent's object has is for programs.
func (a *app) printContext(raw json.RawMessage) error {
	var c struct {
		Messages      []json.RawMessage `json:"messages"`
		ThinkingLevel string            `json:"thinkingLevel"`
		Model         json.RawMessage   `json:"model"`
	}
	_ = json.Unmarshal(raw, &c)
	g := a.newGrid()
	for i, line := range c.Messages {
		m := readBrief(line)
		g.add(strconv.Itoa(i+1), roleOf(m), m.words())
	}
	if err := g.flush(); err != nil {
		return err
	}
	about := count(len(c.Messages), "message", "messages")
	if model := readBrief(c.Model); model.Provider+model.ModelID != "" {
		about += ", model " + join("/", model.Provider, model.ModelID)
	}
	if c.ThinkingLevel != "" {
		about += ", thinking " + c.ThinkingLevel
	}
	return a.printf("%s", plain(about))
}
