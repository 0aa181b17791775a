package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

func importCmd(a *app) *cobra.Command {
	f := importFlags{writerFlags: writerFlags{head: core.MainHead}}
	cmd := &cobra.Command{
		Use:   "import FILE|DIR...",
		Short: "Bring session files into the log",
		Long: `Brings session files into the log, each whole or not at all; - is standard
input, a directory stands for the session files in it and below it: those that
end in .jsonl or .jsonl.__partial__, and in .json in a folder called sessions,
as Nova's do. A file that is there already adds only the entries that are new.
A file that contradicts what is there is refused, naming the first line that
does.

Where the session went on otherwise (it has entries on main that the file lacks,
and the file has some that it lacks, or another holds main), --on-conflict
decides. fail stores nothing and says who wrote what. branch puts the file's own
entries on a head of their own, which later imports of the file go on with. What
sessctl label and name add is no going on.

Lines that are no entries are reported with their numbers, and kept: export
--original gives the file back as it was. A file of an older format version is
migrated as its agent does it, and kept too. Images that an agent keeps outside
of its files (omp: ~/.omp/agent/blobs) are brought along. What a header says of
where the session came from, sessctl lineage shows; so it does where omp kept
the file as that of another session's subagent.

With -o json: one object for each file, each on a line of its own: file (as
given), id (the file's own session id), session (its id in the log), entries
(those that were new), head (that they are on, where it is not main), blobs,
skipped (line, error), created (the session was not there before), version (the file's format), seq (the cursor), and original
(the kept file's digest) where there is one.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := f.how.check(); err != nil {
				return err
			}
			if how, _ := api.ParseOnConflict(f.how.how); how == api.Rebase {
				return usagef("--on-conflict is fail or branch here: the lines of a file stay behind each other")
			}
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			return a.imports(ctx, cmd, args, f)
		},
	}
	cmd.Flags().StringVar(&f.dialect, "dialect", "", "whose file it is, a dialect's `NAME` (default: found out from the file)")
	cmd.Flags().StringVar(&f.images, "images", "", "the `DIR` where the agent keeps images that its files refer to (default: where the agent has it)")
	f.addClaim(cmd)
	cmd.Flags().StringVar(&f.how.how, "on-conflict", "fail", "where the session went on otherwise: fail, or branch (put the file's entries on a head of their own)")
	cmd.Flags().StringVar(&f.how.branch, "head-name", "", "call the head of a branch `NAME` (default a name made for it)")
	return cmd
}

type importFlags struct {
	writerFlags
	how     conflictFlags
	dialect string
	images  string
}

// imports imports one file after the other. One that cannot be imported does
// not keep the others out; a node that does not answer does.
func (a *app) imports(ctx context.Context, cmd *cobra.Command, names []string, f importFlags) error {
	node, err := a.client()
	if err != nil {
		return err
	}
	if names, err = sessionFiles(names); err != nil {
		return err
	}
	bar := a.progress("importing")
	defer bar.end()
	failed := 0
	for i, name := range names {
		bar.step(i, len(names))
		err := a.importFile(ctx, node, name, f)
		switch {
		case err == nil:
			continue
		case len(names) == 1, ctx.Err() != nil, unanswered(err):
			return err
		}
		if exit := a.show(cmd, err); failed == 0 {
			failed = exit
		}
	}
	if failed != 0 {
		return reported{failed}
	}
	return nil
}

// imported is what import says of a file.
type imported struct {
	File string `json:"file"`
	api.Imported
}

func (a *app) importFile(ctx context.Context, node *api.Client, name string, f importFlags) error {
	body, size, err := a.openInput(ctx, name)
	if err != nil {
		return err
	}
	defer body.Close()
	// The beginning of the file tells the session, and so the claim.
	start, err := io.ReadAll(io.LimitReader(body, headerWithin))
	if err != nil {
		return fmt.Errorf("%s: %w", title(name), err)
	}
	first := peek(f.dialect, start)
	v, err := a.voice(ctx, node, first.session, f.writerFlags)
	if err != nil {
		return err
	}
	if err := a.bringImages(ctx, node, name, first.dialect, f.images); err != nil {
		return inFile(name, err)
	}
	by, _ := a.whoami()
	rest := io.Reader(body)
	if size >= 0 { // as it was when it was opened: it may be growing
		size = max(size, int64(len(start)))
		rest = io.LimitReader(body, size-int64(len(start)))
	}
	how, _ := api.ParseOnConflict(f.how.how) // it was checked
	o := api.ImportOptions{Dialect: f.dialect, Writer: v.writer, By: by, OnConflict: how, Branch: f.how.branch}
	first.nameParent(name, &o)
	done, err := node.Import(ctx, io.MultiReader(bytes.NewReader(start), rest), size, o)
	if err != nil {
		return inFile(name, contradicted(a.heard(v, err), first))
	}
	done.Skipped = notNil(done.Skipped)
	return a.print(imported{name, done}, func() error { return a.printImported(name, done, first) })
}

// headerWithin is how much of a file is looked at for its header.
const headerWithin = 64 << 10

// A glimpse is what the beginning of a file tells. It is empty where that is
// no session: the node says why.
type glimpse struct {
	session core.SessionID
	dialect string
	version string // that the header has once the file is migrated
}

func peek(name string, start []byte) glimpse {
	if i := bytes.LastIndexByte(start, '\n'); i >= 0 {
		start = start[:i+1]
	}
	f, d, err := dialect.Read(name, start)
	if err != nil {
		return glimpse{}
	}
	var header struct {
		Version json.RawMessage `json:"version"`
	}
	_ = json.Unmarshal(f.Header.Line, &header)
	return glimpse{core.SessionIDFor(d.Name(), f.Header.ID), d.Name(), string(header.Version)}
}

// openInput opens a file, or standard input.
func (a *app) openInput(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(a.input(ctx)), -1, nil
	}
	return openFile(name)
}

// contradicted says where to look when a file is not what the log has.
func contradicted(err error, file glimpse) error {
	id := file.session
	if !errors.Is(err, core.ErrConflict) || id == "" {
		return err
	}
	if e, ok := errors.AsType[*api.Error](err); ok && e.Detail.Head != "" {
		if d, err2 := dialect.Named(file.dialect); err2 == nil && d.Linear() {
			return hintf(err, "see what the log has: sessctl entries %s; sessions of %s have no branches", id, file.dialect)
		}
		return hintf(err, "see where it went with: sessctl heads %s, and keep both with: sessctl import --on-conflict branch", id)
	}
	return hintf(err, "see what the log has: sessctl entries %s", id)
}

// inFile says which file err is about.
func inFile(name string, err error) error {
	if unanswered(err) {
		return hintf(err, "import it again: what is in the log already is left out")
	}
	return fmt.Errorf("%s: %w", title(name), err)
}

func (a *app) printImported(name string, d api.Imported, first glimpse) error {
	what := count(d.Entries, "new entry", "new entries")
	switch {
	case d.Created && d.Entries == 0:
		what = "a new session without entries"
	case d.Entries == 0:
		what, d.Blobs = "nothing new", 0
	}
	if d.Head != "" {
		what += ", on the head " + plain(d.Head)
	}
	what = join(", ", what, blobsText(d.Blobs))
	if len(d.Skipped) > 0 {
		what += ", " + count(len(d.Skipped), "line", "lines") + " skipped"
	}
	if err := a.printf("%s  %s  (%s)", d.Session, what, plain(title(name))); err != nil {
		return err
	}
	for _, bad := range d.Skipped {
		if err := a.printf("  line %d: %s", bad.Line, plain(bad.Error)); err != nil {
			return err
		}
	}
	if d.Kept.IsZero() {
		return nil
	}
	kept := "the file as it was"
	if first.version != "" && first.version != d.Version {
		kept = fmt.Sprintf("migrated from version %s to %s; %s", plain(orNone(d.Version)), plain(first.version), kept)
	}
	return a.printf("  %s: sessctl export --original %s", kept, d.Session)
}

// blobsText is how many blobs there are, empty for none.
func blobsText(n int) string {
	if n == 0 {
		return ""
	}
	return count(n, "blob", "blobs")
}
