package write

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/hint"
)

func appendCmd(a app) *cobra.Command {
	var f appendFlags
	cmd := &cobra.Command{
		Use:   "append SESSION",
		Short: "Append entry lines from standard input, or one entry",
		Long: `Reads entry lines from standard input, one JSON object per line, and appends
them to a head: all of them or none. Blank lines are ignored. If a line lacks
id, parentId or timestamp, the node fills them in. append returns when the lines
are durable.

With --kind it reads no input and appends one entry of that kind, in the format
of the session's agent.

If another writer was first (the head moved since --after, or another writer
holds it), --on-conflict decides. fail stores nothing and shows what was
written. rebase appends the lines after what was written: parents that were
filled in, or that were the head's entry at --after, are replaced; it never
writes to a head that another writer holds. branch appends them to a new head
that starts where this writer last saw the old one: at --after, or at the end of
its claim. Repeating the append finds the same branch.

Lines from standard input that could not be stored are returned unchanged: in
the file that --unsent names, else on standard output. Invalid lines are not
returned.

If the answer is lost, repeat the append with the same --key, on any node: the
lines are stored once.

With -o json: one object with ids (of each line, in order), cursor,
stored (lines that were new), blobs, and head if the lines are on a branch.`,
		Example: `sessctl append 019a <lines.jsonl
sessctl append 019a --kind message --text "Continue."
sessctl append 019a --on-conflict branch --unsent rest.jsonl <lines.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.kindFlags.alone(cmd); err != nil {
				return err
			}
			if err := f.check(); err != nil {
				return err
			}
			return a.append(cmd, args[0], f)
		},
	}
	f.WriterFlags.Add(cmd)
	f.kindFlags.add(cmd)
	f.conflictFlags.add(cmd)
	cmd.Flags().StringVar(&f.unsent, "unsent", "", "write lines that could not be stored to the new `FILE` (default standard output)")
	cmd.Flags().StringVar(&f.key, "key", "", "the `KEY` that identifies this append if it is repeated (default a new one)")
	cmd.Flags().StringVar(&f.after, "after", "", "append only if the head has not moved since this `CURSOR`")
	a.DryRunFlag(cmd)
	return cmd
}

type appendFlags struct {
	cli.WriterFlags
	kindFlags
	conflictFlags
	key    string
	after  string
	unsent string
}

func (f *appendFlags) check() error {
	if _, err := core.ParseCursor(f.after); err != nil {
		return fmt.Errorf("--after: %w", err)
	}
	if f.kind != "" {
		if _, err := f.item(); err != nil {
			return err
		}
	}
	if err := f.conflictFlags.check(); err != nil {
		return err
	}
	return f.WriterFlags.Check()
}

// append reads the lines, then appends them. Reading does not count against
// --timeout.
func (a app) append(cmd *cobra.Command, arg string, f appendFlags) error {
	node, id, err := a.appendTo(cmd, arg)
	if err != nil {
		return a.drain(cmd.Context(), err, f)
	}
	data, err := a.appendInput(cmd, node, id, f)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nothingGiven(arg)
	}
	if f.key == "" {
		f.key = ulid.Make().String()
	}
	done, err := a.send(cmd, node, id, data, f)
	if err != nil && (f.kind == "" || f.unsent != "") {
		err = a.giveBack(err, data, f.unsent)
	}
	if err != nil {
		return err
	}
	return a.printAppended(done)
}

// drain returns the lines of a pipe if no node answers, because the program that
// writes them cannot write them again. It does not read from a terminal.
func (a app) drain(ctx context.Context, err error, f appendFlags) error {
	if f.kind != "" || !cli.IsUnanswered(err) || isTerminal(a.Stdin) {
		return err
	}
	data, rerr := a.ReadBytes(ctx, "-")
	if rerr != nil || len(bytes.TrimSpace(data)) == 0 {
		return err
	}
	return a.giveBack(err, data, f.unsent)
}

func (a app) send(cmd *cobra.Command, node *client.Client, id core.SessionID, data []byte, f appendFlags) (core.Receipt, error) {
	ctx, cancel := a.Within(cmd, cli.Short)
	defer cancel()
	v, err := a.Writer(ctx, node, id, f.WriterFlags)
	if err != nil {
		return core.Receipt{}, err
	}
	o := client.AppendOptions{Head: f.Head, Writer: v.Writer, After: f.after, Key: f.key}
	if err := f.options(&o); err != nil {
		return core.Receipt{}, err
	}
	if f.kind == "" {
		if err := checkTyped(ctx, node, id, data); err != nil {
			return core.Receipt{}, err
		}
	}
	done, err := node.Append(ctx, string(id), data, o)
	if err != nil {
		return done, keyHint(a.ExplainFenced(v, err), f.key)
	}
	return done, nil
}

func nothingGiven(arg string) error {
	return cli.Hintf(fmt.Errorf("standard input is empty%w", hint.Silent(core.ErrInvalid)),
		"provide entry lines: sessctl append %s < lines.jsonl", arg)
}

// appendInput returns what to append: the entry that the flags describe, or standard
// input.
func (a app) appendInput(cmd *cobra.Command, node *client.Client, id core.SessionID, f appendFlags) ([]byte, error) {
	if f.kind == "" {
		return a.ReadBytes(cmd.Context(), "-")
	}
	ctx, cancel := a.Within(cmd, cli.Short)
	defer cancel()
	return f.line(ctx, a, node, id)
}

// appendTo finds the session before input is read.
func (a app) appendTo(cmd *cobra.Command, arg string) (*client.Client, core.SessionID, error) {
	ctx, cancel := a.Within(cmd, cli.Short)
	defer cancel()
	return a.InLog(ctx, arg)
}

func (a app) printAppended(done core.Receipt) error {
	done.IDs = cli.NotNil(done.IDs)
	if done.Head != "" {
		defer a.Notef("continue there with: --head %s", done.Head)
	}
	return a.Print(done, func() error {
		what := cli.Count(done.Stored, "line", "lines") + " stored"
		if left := len(done.IDs) - done.Stored; left > 0 {
			what += fmt.Sprintf(", %d existed", left)
		}
		if done.Head != "" {
			what += ", on the head " + cli.Plain(done.Head)
		}
		if err := a.Printf("%s, at %s", cli.Join(", ", what, cli.BlobsText(done.Blobs)), done.Cursor); err != nil {
			return err
		}
		for _, id := range done.IDs {
			if err := a.Printf("  %s", cli.Plain(id)); err != nil {
				return err
			}
		}
		return nil
	})
}

// keyHint adds a hint how to repeat an append whose outcome is unknown.
func keyHint(err error, key string) error {
	if !cli.IsUnanswered(err) {
		return err
	}
	return cli.Hintf(err, "repeat the append with: --key %s (the lines are stored once)", key)
}

func isTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
