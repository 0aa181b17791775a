package write

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

const (
	// importers is how many files are imported concurrently.
	importers = 4
	// importBytes is the limit of their bytes in memory.
	importBytes = 2 * comparedUpTo
)

// imports imports files concurrently. A failed file does not stop the others; a
// node that does not respond does.
func (a app) imports(ctx context.Context, cmd *cobra.Command, names []string, f importFlags) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	files, err := sessionFiles(names)
	if err != nil {
		return err
	}
	if len(files) == 1 {
		out := a.importFile(ctx, node, files[0], f, a.newProgress(files, true))
		if out.err != nil {
			return out.err
		}
		return a.printResult(out, f.quiet)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	run := &importRun{a: a, cmd: cmd, quiet: f.quiet, bar: a.newProgress(files, f.quiet), stop: stop}
	for out := range a.importAll(ctx, node, files, f, run.bar) {
		if err := run.take(out); err != nil {
			return err
		}
	}
	return run.end()
}

// importAll imports files concurrently, and yields their results in order.
func (a app) importAll(ctx context.Context, node *client.Client, files []foundFile, f importFlags, bar *importProgress) func(func(importResult) bool) {
	results := make([]chan importResult, len(files))
	for i := range results {
		results[i] = make(chan importResult, 1)
	}
	var g errgroup.Group
	g.SetLimit(importers)
	memory := semaphore.NewWeighted(importBytes)
	go func() {
		for i, file := range files {
			g.Go(func() error {
				weight := min(max(file.size, cli.HeaderWithin), importBytes)
				if file.size > comparedUpTo {
					weight = cli.HeaderWithin
				}
				if err := memory.Acquire(ctx, weight); err != nil {
					results[i] <- importResult{file: file, err: err}
					return nil
				}
				defer memory.Release(weight)
				out := a.importFile(ctx, node, file, f, bar)
				bar.done(out)
				results[i] <- out
				return nil
			})
		}
	}()
	return func(yield func(importResult) bool) {
		for _, result := range results {
			if !yield(<-result) {
				return
			}
		}
	}
}

// An importRun collects the results of many files.
type importRun struct {
	a     app
	cmd   *cobra.Command
	quiet bool
	bar   *importProgress
	stop  func() // cancels the other files

	made, grown, there int // files of new sessions, with new entries, and unchanged
	deleted            int // files of sessions in the trash, and of erased ones
	entries, skipped   int
	failed             []importResult
	ended              error // why the remaining files were not imported
}

// take counts and prints a result. It returns only errors of the output.
func (r *importRun) take(out importResult) error {
	switch {
	case r.ended != nil && errors.Is(out.err, context.Canceled):
		return nil // canceled by stop
	case out.err != nil && (cli.IsUnanswered(out.err) || errors.Is(out.err, context.Canceled) || errors.Is(out.err, context.DeadlineExceeded)):
		if r.ended == nil {
			r.ended = out.err
			r.stop()
		}
		return nil
	case errors.Is(out.err, core.ErrDeleted):
		r.deleted++
		if r.a.Format != cli.JSON || r.quiet {
			return nil // there may be hundreds, each time
		}
		return r.a.Print(imported{File: out.file.name, Imported: api.Imported{Session: out.first.session, Skipped: []core.BadLine{}}, Deleted: true}, nil)
	case out.err != nil:
		r.failed = append(r.failed, out)
		if r.a.Format == cli.JSON {
			r.a.Show(r.cmd, out.err)
		}
		return nil
	}
	r.entries += out.done.Entries
	r.skipped += len(out.done.Skipped)
	switch {
	case out.done.Created:
		r.made++
	case out.done.Entries > 0:
		r.grown++
	default:
		r.there++
		if r.a.Format == cli.Table && (out.there || len(out.missing)+len(out.done.Skipped) == 0) {
			return nil // there may be thousands
		}
	}
	r.bar.end()
	return r.a.printResult(out, r.quiet)
}

// end prints the summary.
func (r *importRun) end() error {
	r.bar.end()
	if !r.quiet {
		r.a.Notef("%s", r.summary())
		if r.deleted > 0 {
			r.a.Notef("list the trash with: sessctl ls --deleted, and restore a session with: sessctl rm --undo SESSION")
		}
	}
	if r.a.Format == cli.Table {
		for _, out := range r.failed {
			r.a.Show(r.cmd, out.err)
		}
	}
	if r.ended != nil {
		return r.ended
	}
	if len(r.failed) > 0 {
		base, _ := r.a.Base()
		return cli.Reported{Exit: cli.Describe(r.failed[0].err, base).Exit}
	}
	return nil
}

func (r *importRun) summary() string {
	parts := []string{
		cli.CountIf(r.made, "new session", "new sessions"), cli.CountIf(r.grown, "continued session", "continued sessions"),
		cli.CountIf(r.entries, "new entry", "new entries"), cli.CountIf(r.there, "unchanged", "unchanged"),
		cli.CountIf(r.skipped, "line skipped", "lines skipped"), cli.CountIf(r.deleted, "of a session in the trash or erased", "of sessions in the trash or erased"),
		cli.CountIf(len(r.failed), "failed", "failed"),
	}
	done := r.made + r.grown + r.there + r.deleted + len(r.failed)
	what := cli.Join(": ", cli.Count(done, "file", "files"), cli.Join(", ", parts...))
	if r.ended != nil {
		what += "; " + strings.TrimPrefix(cli.Count(r.bar.files-done, "was", "were")+" not imported", " ")
	}
	return what
}

// printResult prints the result of an imported file.
func (a app) printResult(out importResult, quiet bool) error {
	if quiet {
		return nil
	}
	a.Host().NoteImages(out.missing, out.store)
	if out.secrets > 0 {
		a.Notef("%s: %s; list them with: sessctl secrets %s", out.file.name, cli.Count(out.secrets, "place looks like a secret", "places look like secrets"), out.done.Session)
	}
	return a.Print(imported{File: out.file.name, Imported: out.done}, func() error { return a.printImported(out.file.name, out.done, out.first) })
}

// counting calls sent with the bytes of each read. It can seek if r can.
func counting(r io.Reader, sent func(int64)) io.Reader {
	c := &watched{r, sent}
	if s, ok := r.(io.Seeker); ok {
		return struct {
			io.Reader
			io.Seeker
		}{c, s}
	}
	return c
}

type watched struct {
	io.Reader
	sent func(int64)
}

func (c *watched) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.sent(int64(n))
	return n, err
}
