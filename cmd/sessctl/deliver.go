package main

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

// outFlags say where bytes go.
type outFlags struct {
	out   string
	force bool
}

func (o *outFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.out, "out", "", "write to `FILE` instead of standard output")
	cmd.Flags().BoolVar(&o.force, "force", false, "replace an existing file")
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
