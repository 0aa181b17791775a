package cli

import (
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

// OutFlags select the destination of data.
type OutFlags struct {
	Out   string
	force bool
}

// Add adds the flags to cmd.
func (o *OutFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.Out, "out", "", "write to `FILE` instead of standard output")
	cmd.Flags().BoolVar(&o.force, "force", false, "replace an existing file")
}

// Force reports whether existing files may be replaced.
func (o *OutFlags) Force() bool { return o.force }

// A delivery is the result of a write to a file.
type delivery struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	// Lost is the data that a conversion lost.
	Lost []convert.Loss `json:"lost,omitempty"`
}

// Deliver calls write with the destination of o. On a terminal, JSON lines are
// escaped, and other data is an error.
func (a *App) Deliver(o OutFlags, lines bool, write func(io.Writer) error) error {
	return a.DeliverLosing(o, lines, nil, write)
}

// DeliverLosing is like Deliver, and reports the data that a conversion lost.
func (a *App) DeliverLosing(o OutFlags, lines bool, lost []convert.Loss, write func(io.Writer) error) error {
	if o.Out == "" || o.Out == "-" {
		switch {
		case a.Stdout.TTY && lines:
			return write(escaping{a.Stdout})
		case a.Stdout.TTY:
			return Usagef("binary data is not written to a terminal; name a file: --out FILE")
		}
		return write(a.Stdout)
	}
	n := counter{}
	err := atomicfile.Write(o.Out, o.force, func(w io.Writer) error {
		n.Writer = w
		return write(&n)
	})
	if err != nil {
		return OutError(o, err)
	}
	d := delivery{o.Out, n.n, lost}
	if abs, err := filepath.Abs(o.Out); err == nil {
		d.Path = abs
	}
	return a.Print(d, func() error {
		return a.Printf("%s  %s", Plain(d.Path), Bytes(d.Bytes))
	})
}

// OutError explains why the file of o could not be written.
func OutError(o OutFlags, err error) error {
	switch {
	case errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrCorrupt):
		return fmt.Errorf("%w; %s is unchanged", err, o.Out)
	case errors.Is(err, fs.ErrExist) && !o.force:
		return Hintf(err, "replace it with --force, or name another file")
	}
	return FileError(o.Out, err)
}

// escaping writes JSON lines to a terminal. A character that is split between two
// writes is shown as unknown.
type escaping struct{ io.Writer }

func (e escaping) Write(p []byte) (int, error) {
	if _, err := e.Writer.Write(EscapeJSON(p)); err != nil {
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
