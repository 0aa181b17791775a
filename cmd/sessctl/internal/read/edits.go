package read

import (
	"context"
	"strings"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core/edits"
)

// edits prints what the agent's tools change in files, on a path.
func (a app) edits(ctx context.Context, arg string, v cli.ViewFlags) error {
	d, path, err := a.pathOf(ctx, arg, v)
	if err != nil {
		return err
	}
	all := edits.Of(d, path)
	if a.Format == cli.JSON {
		for i := range all {
			if err := a.Print(all[i], nil); err != nil {
				return err
			}
		}
		return nil
	}
	var files []string
	of := map[string][]edits.FileEdit{}
	for _, c := range all {
		if of[c.Path] == nil {
			files = append(files, c.Path)
		}
		of[c.Path] = append(of[c.Path], c)
	}
	for _, path := range files {
		if err := a.Printf("%s", a.Stdout.Paint(cli.Bold, cli.Plain(path))); err != nil {
			return err
		}
		for _, c := range of[path] {
			if err := a.printEdit(&c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a app) printEdit(c *edits.FileEdit) error {
	state := ""
	switch {
	case c.Failed:
		state = ", failed"
	case c.Open:
		state = ", no result"
	case c.Whole:
		state = ", whole file"
	}
	if err := a.Printf("@@ %s in %s%s", cli.Plain(c.Tool), cli.Plain(cli.OrNone(c.Entry)), state); err != nil {
		return err
	}
	for _, side := range []struct {
		sign, text string
		color      cli.Color
	}{{"-", c.Old, cli.Red}, {"+", c.New, cli.Green}, {"", c.Patch, cli.Dim}} {
		if side.text == "" {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(side.text, "\n"), "\n") {
			if err := a.Printf("%s", a.Stdout.Paint(side.color, side.sign+cli.PlainLines(line))); err != nil {
				return err
			}
		}
	}
	return nil
}
