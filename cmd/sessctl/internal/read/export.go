package read

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func exportCmd(a app) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export SESSION",
		Short: "Write a session as its agent's file",
		Long: `Writes the session as a file for its agent: the header, then every entry as the
agent wrote it, byte for byte. With --original it writes the imported file if it
was different: of an older format version, or with lines that are not entries.

With --as it converts the session to another agent's format, under a new id. If
that agent has no trees, only the path to the head is kept (or to --leaf, or of
--head). Data that the format cannot represent is listed.

With --as html it writes a page to read, with the images in it, which opens without
a node and without a network. With --as atif it writes one JSON document in the Agent
Trajectory Interchange Format, for evaluations and training: the path to the head in
steps, without sub-agents, with images as data URLs.

With --home it writes all files of the session, such as the transcripts of
sub-agents, below a copy of the agent's home (Claude Code: ~/.claude), for the
working directory given by --cwd. A file with different content is replaced only
with --force. With -o json: one object per line for each file, with path and bytes.

With --out the file is written atomically. With -o json and --out: one object
with path and bytes, and with --as also lost: what could not be converted, each
with what and count. Without --out the session itself is printed, whatever -o
says.`,
		Example: `sessctl export 019a --out session.jsonl
sessctl export 019a --as omp --out for-omp.jsonl
sessctl export 019a --as html --out session.html
sessctl export 019a --home ~/.claude --cwd ~/work`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if f.as == asHTML {
				return a.exportHTML(ctx, args[0], f)
			}
			if f.as == asATIF {
				return a.exportATIF(ctx, args[0], f)
			}
			if f.as != "" {
				return a.exportAs(ctx, args[0], f)
			}
			if f.home != "" {
				return a.exportHome(ctx, args[0], f)
			}
			return a.export(ctx, args[0], f)
		}),
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&f.home, "home", "", "write all files of the session below `DIR`, as the agent keeps them below its home")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "with --home: the `DIR` in which the agent will continue (default: that of the session)")
	cmd.Flags().BoolVar(&f.original, "original", false, "write the file as it was imported")
	cmd.Flags().StringVar(&f.as, "as", "", "convert it to the file format of the agent `NAME`, to html or to atif")
	f.view.Add(cmd)
	a.Demand.Add(cmd)
	return cmd
}

type exportFlags struct {
	cli.OutFlags
	original bool
	as       string
	home     string
	cwd      string
	view     cli.ViewFlags
}

func (f *exportFlags) check() error {
	switch {
	case f.as != "" && f.original:
		return cli.Usagef("--as and --original exclude each other")
	case f.home == "" && f.cwd != "":
		return cli.Usagef("--cwd requires --home")
	case f.home != "" && (f.as != "" || f.original || f.Out != ""):
		return cli.Usagef("--home excludes --as, --original and --out")
	case f.as == "" && f.view.Given():
		return cli.Usagef("--leaf and --head require --as")
	}
	return f.view.Check()
}

func (a app) export(ctx context.Context, arg string, f exportFlags) error {
	src, err := a.Find(ctx, arg)
	if err != nil {
		return err
	}
	if src.File == nil {
		body, err := src.Node.Export(ctx, src.ID, f.original)
		if err != nil {
			return err
		}
		defer body.Close()
		return a.Deliver(f.OutFlags, true, func(w io.Writer) error {
			_, err := io.Copy(w, cli.Answer{Reader: body})
			return err
		})
	}
	data := src.File.Data
	if !f.original {
		data = core.Lines(src.File.Rules.Layout(src.File.Header, src.File.Entries))
		a.NoteSkipped(src.File)
	}
	return a.Deliver(f.OutFlags, true, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
