package read

import (
	"bufio"
	"bytes"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/tree"
)

func entriesCmd(a app) *cobra.Command {
	var v cli.ViewFlags
	var path bool
	var custom string
	cmd := &cobra.Command{
		Use:   "entries SESSION",
		Short: "Print the entry lines of a session",
		Long: `Prints the entries as their agent wrote them, one per line, in the order of their
arrival: all of them, or with --path those from the root to a head. --leaf and
--head imply --path.

With -o json: a list of the entries, byte-identical.`,
		Example: `sessctl entries 019a
sessctl entries --path ~/.pi/agent/sessions/proj/2026.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			if err := v.Check(); err != nil {
				return err
			}
			return a.entries(ctx, args[0], path || v.Given(), v, custom)
		}),
	}
	cmd.Flags().BoolVar(&path, "path", false, "print only the entries from the root to the leaf")
	cmd.Flags().StringVar(&custom, "custom", "", "print only the entries that an extension added under `NAME`")
	v.Add(cmd)
	a.Demand.Add(cmd)
	return cmd
}

func (a app) entries(ctx context.Context, arg string, path bool, v cli.ViewFlags, custom string) error {
	src, err := a.Find(ctx, arg)
	if err != nil {
		return err
	}
	out := a.newLineWriter()
	if src.File != nil {
		if err := a.fileEntries(src.File, path, v, custom, out.add); err != nil {
			return err
		}
		return out.end()
	}
	at := v.API()
	at.Custom = custom
	body, err := src.Node.Entries(ctx, src.ID, path, at)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := cli.EachLine(body, out.add); err != nil {
		return err
	}
	return out.end()
}

func (a app) fileEntries(f *cli.SessionFile, path bool, v cli.ViewFlags, custom string, add func([]byte) error) error {
	es := f.Entries
	if path {
		leaf, err := f.View(v)
		if err != nil {
			return err
		}
		if es, err = f.Rules.Path(f.Entries, leaf); err != nil {
			return err
		}
	}
	if custom != "" {
		es = tree.Custom(f.Rules, es, custom)
	}
	a.NoteSkipped(f)
	return addLines(es, add)
}

func addLines(es []core.Entry, add func([]byte) error) error {
	for i := range es {
		if err := add(es[i].Line); err != nil {
			return err
		}
	}
	return nil
}

func (a app) newLineWriter() *lineWriter {
	return &lineWriter{w: bufio.NewWriterSize(a.Stdout, 64<<10), tty: a.Stdout.TTY, list: a.Format == cli.JSON}
}

func (l *lineWriter) add(line []byte) error {
	if l.tty {
		line = cli.EscapeJSON(line)
	}
	if l.list {
		line = bytes.TrimSpace(line)
		_, _ = io.WriteString(l.w, map[bool]string{false: "[", true: ","}[l.some])
	}
	l.some = true
	_, _ = l.w.Write(line) // Flush returns the error
	if !l.list {
		return l.w.WriteByte('\n')
	}
	return nil
}

func (l *lineWriter) end() error {
	if l.list && !l.some {
		_, _ = io.WriteString(l.w, "[")
	}
	if l.list {
		_, _ = io.WriteString(l.w, "]\n")
	}
	return l.w.Flush()
}

// A lineWriter prints entry lines: as they are, or with -o json as one list.
type lineWriter struct {
	w    *bufio.Writer
	tty  bool
	list bool
	some bool
}
