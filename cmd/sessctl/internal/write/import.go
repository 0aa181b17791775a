package write

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/omp"
	"github.com/sesslog/sesslog/core/image"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/internal/hint"
	"github.com/sesslog/sesslog/session"
)

func importCmd(a app) *cobra.Command {
	f := importFlags{WriterFlags: cli.WriterFlags{Head: core.MainHead}}
	cmd := &cobra.Command{
		Use:   "import [FILE|DIR...]",
		Short: "Import session files into the log",
		Long: `Imports session files, each completely or not at all. "-" is standard input. A
directory stands for the session files in it and below it: those that end in
.jsonl or .jsonl.__partial__; rollouts that end in .jsonl.zst (Codex); lists of
events and exports that end in .json (opencode, such as events.json and
export.json); and those that end in .json in a directory called sessions (Nova).
The agent is detected from each file, so that whole homes of several agents can be
imported at once. Without arguments, import takes the sessions of all agents on
this machine, from the places that sessctl watch follows. It names databases, such as
opencode's: sessctl watch --once takes their sessions. If an agent keeps several
files for a session (Claude Code: transcripts of sub-agents and outputs of tools),
all of them are imported with it; export --home writes them again.

A file that was imported before adds only its new entries. A file without new
entries is detected by its digest and not sent, so a repeated import continues an
interrupted one. --again sends it nevertheless, which restores its images if the
store has lost them. A file that contradicts the log is refused; the error names
the first line that differs.

A file of 8 MiB or more is sent in parts. Every node has the parts that another
has received, so after a broken connection, or a restart of sessctl or a node, only
the missing parts are sent. sessctl retries for about two minutes with all nodes of
--url. Unused parts are removed after snapshots.grace.

The file of a session that is in the trash or was erased is not imported. For one
file that is an error; of several, their number is printed.

Several files are sent concurrently. A failed file does not stop the import. An
unreachable node does. The output has a line for each file that added something,
and at the end the counts and the failures with their reasons. The exit code is
that of the first failure. On a terminal a bar shows the progress.

If the session diverged (main has entries that the file lacks and the file has
entries that the log lacks, or another writer holds main), --on-conflict decides.
fail stores nothing and shows what was written. branch puts the file's own
entries on a separate head, which later imports of the file continue. Labels and
names from sessctl label and name do not count as divergence.

Lines that are not entries are reported with their numbers and kept: export
--original returns the file as it was. A file of an older format version is
migrated by the rules of its agent, and kept too. Images that an agent stores
outside its files (omp: ~/.omp/agent/blobs) are imported as well. sessctl lineage
shows the parents that a header names, and for omp those that the file's place
implies.

With -o json: one object per line for each file, also for unchanged ones: file (as
given), id (the file's own session id), session (its id in the log), entries (the
new ones), head (if not main), blobs, skipped (line, error), created (the session
is new), version (the file's format), cursor, and original (the digest
of the kept file) if there is one. Of several files, deleted is true if the
session is in the trash or was erased.`,
		Example: `sessctl import
sessctl import ~/.claude ~/.pi
sessctl import --on-conflict branch session.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.Check(); err != nil {
				return err
			}
			if err := f.how.check(); err != nil {
				return err
			}
			if how, _ := api.ParseOnConflict(f.how.how); how == session.Rebase {
				return cli.Usagef("--on-conflict rebase is not supported for files: use fail or branch")
			}
			if len(args) == 0 {
				var err error
				if args, err = a.agentDirs(); err != nil {
					return err
				}
				a.Notef("importing from %s", strings.Join(args, ", "))
			}
			var err error
			if f.secrets, err = a.Secrets(); err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd, cli.Forever)
			defer cancel()
			return a.imports(ctx, cmd, args, f)
		},
	}
	cmd.Flags().StringVar(&f.dialect, "dialect", "", "the `NAME` of the agent whose file it is (default: detected from the file)")
	cmd.Flags().StringVar(&f.images, "images", "", "the `DIR` with the images that the agent's files refer to (default: the agent's own)")
	cmd.Flags().BoolVar(&f.again, "again", false, "also send unchanged files, which restores lost images")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print only failures")
	f.AddClaim(cmd)
	cmd.Flags().StringVar(&f.how.how, "on-conflict", "fail", "if the session diverged, take this `ACTION`: fail, or branch (put the file's entries on a separate head)")
	cmd.Flags().StringVar(&f.how.branch, "head-name", "", "call the head of a branch `NAME` (default a generated name)")
	a.SecretsFlag(cmd)
	a.DryRunFlag(cmd)
	return cmd
}

// agentDirs returns the directories in which agents have sessions on this machine, and
// names the databases, which are not imported.
func (a app) agentDirs() ([]string, error) {
	roots, err := a.Host().WatchRoots(nil)
	if err != nil {
		return nil, err
	}
	var there []string
	for _, r := range roots {
		info, err := os.Stat(r.Path)
		switch {
		case err != nil:
		case !info.IsDir():
			a.Notef("%s is a database; store its sessions with: sessctl watch --once", r.Path)
		case len(withBundles(r.Path, filesBelow(r.Path))) > 0:
			there = append(there, r.Path)
		}
	}
	if len(there) == 0 {
		return nil, hint.With(errors.New("no agent has sessions on this machine where agents keep them"), "sessctl import DIR")
	}
	return there, nil
}

type importFlags struct {
	cli.WriterFlags
	how     conflictFlags
	dialect string
	images  string
	again   bool
	quiet   bool
	secrets secrets.Policy
}

// imported is the output of import for a file.
type imported struct {
	File string `json:"file"`
	api.Imported
	Deleted bool `json:"deleted,omitempty"` // the session is in the trash, or was erased: nothing was brought
}

// An importResult is what became of a file: it was imported, it was unchanged, or
// err says why it was not.
type importResult struct {
	file    foundFile
	done    api.Imported
	first   glimpse
	there   bool          // the log had all entries, so the file was not sent
	missing []core.Digest // images that the agent's store lacks
	store   string        // the path of the agent's store
	secrets int           // what looks like one, if it is to be reported
	err     error
}

// importFile imports a file. It prints nothing, and counts the bytes it sends in
// bar.
func (a app) importFile(ctx context.Context, node *client.Client, file foundFile, f importFlags, bar *importProgress) (out importResult) {
	out.file = file
	if out.err = file.err; out.err != nil {
		return out
	}
	if file.bundle != nil {
		files, err := a.Read(file.bundle, f.secrets)
		if err != nil {
			out.err = err
			return out
		}
		packed, err := file.bundle.Rules.Pack(file.bundle.Main, files)
		if err != nil {
			out.err = err
			return out
		}
		data := core.Lines(packed.Header.Before(packed.Entries))
		out.err = a.importFrom(ctx, node, bytes.NewReader(data), int64(len(data)), f, &out, bar)
		return out
	}
	body, size, err := a.openInput(ctx, file.name)
	if err != nil {
		out.err = err
		return out
	}
	defer body.Close()
	from := io.Reader(body)
	if size >= 0 { // the size at opening, because the file may be growing
		from = io.LimitReader(body, size)
	}
	if f.secrets.Mode != secrets.Off {
		if from, size, err = a.masked(file.name, from, f.secrets); err != nil {
			out.err = err
			return out
		}
	}
	out.err = a.importFrom(ctx, node, from, size, f, &out, bar)
	return out
}

func (a app) importFrom(ctx context.Context, node *client.Client, body io.Reader, size int64, f importFlags, out *importResult, bar *importProgress) error {
	name := out.file.name
	// The beginning of the file has the session id, which selects the claim. A file
	// that fits into memory is read completely and compared with the log.
	most := int64(cli.HeaderWithin)
	if size >= 0 && (size <= comparedUpTo || f.secrets.Mode != secrets.Off) { // from memory, as it was searched
		most = size
	}
	start, err := io.ReadAll(io.LimitReader(body, most))
	if err != nil {
		return fmt.Errorf("%s: %w", cli.FileTitle(name), err)
	}
	if size >= 0 && most == size {
		size = int64(len(start)) // the file may have become shorter
		if !f.again {
			if there, err := out.compare(ctx, node, f.dialect, start); there || err != nil {
				out.first = peek(f.dialect, start)
				return err
			}
		}
	}
	if out.first = peek(f.dialect, start); f.secrets.Mode == secrets.Report {
		out.secrets = len(f.secrets.Report(start))
	}
	speaker := f.WriterFlags
	if path, err := filepath.Abs(name); err == nil && name != "-" {
		speaker.Head = a.Claims().HeadOf(out.first.session, path, f.Head)
	}
	v, err := a.Writer(ctx, node, out.first.session, speaker)
	if err != nil {
		return err
	}
	if out.missing, out.store, err = a.SendImages(ctx, node, name, out.first.dialect, f.images); err != nil {
		return inFile(name, err)
	}
	by, _ := a.Caller()
	how, _ := api.ParseOnConflict(f.how.how) // f.check has checked it
	o := client.ImportOptions{Dialect: f.dialect, Writer: v.Writer, By: by, OnConflict: how, Branch: f.how.branch}
	out.first.nameParent(name, &o)
	out.done, err = sendFile(ctx, node, outgoing{name, start, body, size}, o, bar)
	out.done.Skipped = cli.NotNil(out.done.Skipped)
	if err != nil {
		if errors.Is(err, core.ErrDeleted) && out.first.session != "" {
			return fmt.Errorf("%s: %w", cli.FileTitle(name), deletedSession(out.first.session))
		}
		return inFile(name, contradicted(a.ExplainFenced(v, err), out.first))
	}
	return nil
}

// comparedUpTo is the size up to which a file is read into memory and compared with
// the log before it is sent.
const comparedUpTo = 64 << 20

// compare reports whether the log has all entries of data. Then the result is that
// of an import without new entries.
func (b *importResult) compare(ctx context.Context, node *client.Client, name string, data []byte) (there bool, err error) {
	f, d, err := dialect.Read(name, data)
	if err != nil {
		return false, nil // the node returns the error
	}
	id := core.SessionIDFor(d.Name(), f.Header.ID)
	for i := range f.Entries {
		f.Entries[i].Line, _ = image.Externalize(f.Entries[i].Line)
	}
	has, err := node.Digest(ctx, string(id), len(f.Entries))
	if err != nil && (cli.IsUnanswered(err) || ctx.Err() != nil) {
		return false, inFile(b.file.name, err)
	}
	if err == nil && has.Deleted {
		return false, fmt.Errorf("%s: %w", cli.FileTitle(b.file.name), deletedSession(id))
	}
	if err != nil || has.Entries != len(f.Entries) || has.SHA256 != api.DigestOf(f.Header, f.Entries) {
		return false, nil
	}
	b.there = true
	b.done = api.Imported{
		ID: f.Header.ID, Session: id, Skipped: cli.NotNil(f.Skipped), Version: f.Version, Kept: has.Original, Cursor: has.Cursor,
	}
	return true, nil
}

// deletedSession is the error of an import into a deleted session.
func deletedSession(id core.SessionID) error {
	return cli.Hintf(fmt.Errorf("session %s is in the trash, or was erased%w", id, hint.Silent(core.ErrDeleted)),
		"if it is in the trash, restore it and import the file again: sessctl rm --undo %s", id)
}

// A glimpse is what the beginning of a file shows. It is empty if that is not a
// session.
type glimpse struct {
	session core.SessionID
	dialect string
	version string // of the header after migration
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
func (a app) openInput(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(a.Input(ctx)), -1, nil
	}
	return cli.OpenFile(name)
}

// contradicted adds a hint to the error of a file that conflicts with the log.
func contradicted(err error, file glimpse) error {
	id := file.session
	if !errors.Is(err, core.ErrConflict) || id == "" {
		return err
	}
	if e, ok := errors.AsType[*client.Error](err); ok && e.Detail.Head != "" {
		if d, err2 := dialect.Named(file.dialect); err2 == nil && d.Linear() {
			return cli.Hintf(err, "compare with the log: sessctl entries %s; sessions of %s have no branches", id, file.dialect)
		}
		return cli.Hintf(err, "list the heads with: sessctl heads %s, and keep both with: sessctl import --on-conflict branch", id)
	}
	return cli.Hintf(err, "compare with the log: sessctl entries %s", id)
}

// inFile adds the name of the file to err.
func inFile(name string, err error) error {
	if cli.IsUnreached(err) {
		return err
	}
	if cli.IsUnanswered(err) {
		return cli.Hintf(err, "repeat the import; entries that exist are skipped")
	}
	return fmt.Errorf("%s: %w", cli.FileTitle(name), err)
}

func (a app) printImported(name string, d api.Imported, first glimpse) error {
	what := cli.Count(d.Entries, "new entry", "new entries")
	switch {
	case d.Created && d.Entries == 0:
		what = "a new session without entries"
	case d.Entries == 0:
		what, d.Blobs = "nothing new", 0
	}
	if d.Head != "" {
		what += ", on the head " + cli.Plain(d.Head)
	}
	what = cli.Join(", ", what, cli.BlobsText(d.Blobs))
	if len(d.Skipped) > 0 {
		what += ", " + cli.Count(len(d.Skipped), "line", "lines") + " skipped"
	}
	if err := a.Printf("%s  %s  (%s)", d.Session, what, cli.Plain(cli.FileTitle(name))); err != nil {
		return err
	}
	for _, bad := range d.Skipped {
		if err := a.Printf("  line %d: %s", bad.Line, cli.Plain(bad.Error)); err != nil {
			return err
		}
	}
	if d.Kept.IsZero() {
		return nil
	}
	kept := "the original file is stored"
	if first.version != "" && first.version != d.Version {
		kept = fmt.Sprintf("migrated from version %s to %s; %s", cli.Plain(cli.OrNone(d.Version)), cli.Plain(first.version), kept)
	}
	return a.Printf("  %s: sessctl export --original %s", kept, d.Session)
}

// nameParent sets the parent of a session from the path of its file: omp stores
// the files of subagents in a directory of the parent.
func (g glimpse) nameParent(path string, o *client.ImportOptions) {
	if g.dialect != "omp" {
		return
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if parent, ok := omp.SubagentOf(path); ok {
		o.Parent, o.Kind = string(core.SessionIDFor(g.dialect, parent)), string(lineage.Subagent)
	}
}
