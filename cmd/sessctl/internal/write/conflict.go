package write

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/atomicfile"
	"github.com/sesslog/sesslog/session"
)

// conflictFlags select what to do if another writer was first.
type conflictFlags struct {
	how    string
	branch string
}

func (f *conflictFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.how, "on-conflict", "fail", "if another writer was first, take this `ACTION`: fail, rebase (append after what it wrote) or branch (append to a separate head)")
	cmd.Flags().StringVar(&f.branch, "head-name", "", "call the head of a branch `NAME` (default a generated name)")
}

// options adds the flags to o.
func (f *conflictFlags) options(o *client.AppendOptions) error {
	how, err := api.ParseOnConflict(f.how)
	if err != nil {
		return fmt.Errorf("--on-conflict: %w", err)
	}
	if f.branch != "" {
		if how != session.Branch {
			return cli.Usagef("--head-name requires --on-conflict branch")
		}
		if err := core.CheckHead(f.branch); err != nil {
			return fmt.Errorf("--head-name: %w", err)
		}
	}
	o.OnConflict, o.Branch = how, f.branch
	return nil
}

func (f *conflictFlags) check() error { return f.options(new(client.AppendOptions)) }

// giveBack returns lines that could not be stored to the user: in a new file at
// path, or on standard output if path is empty. Lines that break a rule are not
// returned, because a retry would fail as well.
func (a app) giveBack(err error, lines []byte, path string) error {
	if err == nil || !worthKeeping(err) {
		return err
	}
	outcome := "nothing was stored"
	if errors.Is(err, core.ErrUncertain) {
		outcome = "it is unknown whether the lines were stored"
	}
	if path != "" {
		werr := atomicfile.Write(path, false, func(w io.Writer) error {
			_, err := w.Write(lines)
			return err
		})
		if werr == nil {
			a.Notef("%s; the lines are in %s", outcome, path)
			return err
		}
		a.Notef("%v", werr)
	}
	a.Notef("%s; the lines are on standard output", outcome)
	if _, werr := a.Stdout.Write(lines); werr != nil {
		return errors.Join(err, werr)
	}
	return err
}

func worthKeeping(err error) bool {
	for _, e := range []error{core.ErrInvalid, core.ErrTooLarge, core.ErrNotFound, os.ErrNotExist} {
		if errors.Is(err, e) {
			return false
		}
	}
	return true
}
