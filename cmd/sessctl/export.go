package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
	"github.com/sesslog/sesslog/internal/atomicfile"
)

func exportCmd(a *app) *cobra.Command {
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

With --out the file is written atomically. With -o json and --out: one object
with path and bytes, and with --as also lost: what could not be converted, each
with what and count. Without --out the session itself is printed, whatever -o
says.`,
		Example: `sessctl export 019a --out session.jsonl
sessctl export 019a --as omp --out for-omp.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			if err := f.check(); err != nil {
				return err
			}
			if f.as != "" {
				return a.exportAs(ctx, args[0], f)
			}
			return a.export(ctx, args[0], f)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.original, "original", false, "write the file as it was imported")
	cmd.Flags().StringVar(&f.as, "as", "", "convert it to the file format of the agent `NAME`")
	f.view.add(cmd)
	a.demand.add(cmd)
	return cmd
}

type exportFlags struct {
	outFlags
	original bool
	as       string
	view     viewFlags
}

func (f *exportFlags) check() error {
	switch {
	case f.as != "" && f.original:
		return usagef("--as and --original exclude each other")
	case f.as == "" && f.view.given():
		return usagef("--leaf and --head are for --as: without it all of the session is written")
	}
	return f.view.check()
}

// outFlags say where bytes go.
type outFlags struct {
	out   string
	force bool
}

func (o *outFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.out, "out", "", "write to `FILE` instead of standard output")
	cmd.Flags().BoolVar(&o.force, "force", false, "replace an existing file")
}

func (a *app) export(ctx context.Context, arg string, f exportFlags) error {
	src, err := a.find(ctx, arg)
	if err != nil {
		return err
	}
	if src.file == nil {
		body, err := src.node.Export(ctx, src.id, f.original)
		if err != nil {
			return err
		}
		defer body.Close()
		return a.deliver(f.outFlags, true, func(w io.Writer) error {
			_, err := io.Copy(w, answer{body})
			return err
		})
	}
	data := src.file.data
	if !f.original {
		data = core.Lines(src.file.dialect.Layout(src.file.Header, src.file.Entries))
		a.noteSkipped(src.file)
	}
	return a.deliver(f.outFlags, true, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// A delivery says what was written where.
type delivery struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	// Lost is what a conversion could not carry over; nil where there was none.
	Lost []convert.Loss `json:"lost,omitempty"`
}

// deliver writes what write writes to where o says. Lines of JSON are made
// harmless for a terminal; other bytes are kept from it.
func (a *app) deliver(o outFlags, lines bool, write func(io.Writer) error) error {
	return a.deliverLosing(o, lines, nil, write)
}

// deliverLosing is deliver for what could not be carried over whole.
func (a *app) deliverLosing(o outFlags, lines bool, lost []convert.Loss, write func(io.Writer) error) error {
	if o.out == "" || o.out == "-" {
		switch {
		case a.stdout.tty && lines:
			return write(escaping{a.stdout})
		case a.stdout.tty:
			return usagef("these bytes are not for a terminal, name a file: --out FILE")
		}
		return write(a.stdout)
	}
	n := counter{}
	err := atomicfile.Write(o.out, o.force, func(w io.Writer) error {
		n.Writer = w
		return write(&n)
	})
	if err != nil {
		return outError(o, err)
	}
	d := delivery{o.out, n.n, lost}
	if abs, err := filepath.Abs(o.out); err == nil {
		d.Path = abs
	}
	return a.print(d, func() error {
		return a.printf("%s  %s", plain(d.Path), bytesText(d.Bytes))
	})
}

// outError is why the file that o names could not be written.
func outError(o outFlags, err error) error {
	switch {
	case errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrCorrupt):
		return fmt.Errorf("%w; %s is as it was", err, o.out)
	case errors.Is(err, fs.ErrExist) && !o.force:
		return hintf(err, "replace it with --force, or name another file")
	}
	return noFile(o.out, err)
}

// escaping writes lines to a terminal. A character that is cut in two by the
// caller's buffer is shown as one that is not known.
type escaping struct{ io.Writer }

func (e escaping) Write(p []byte) (int, error) {
	if _, err := e.Writer.Write(escapeJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}
