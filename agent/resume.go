package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/hint"
	"github.com/sesslog/sesslog/session"
)

// ResumeOptions say how to resume a session on this host.
type ResumeOptions struct {
	ClaimOptions        // Agent defaults to the session's dialect
	Dir          string // for the file; default: where the agent looks for it
	CWD          string // where the session continues; default: see Resume
	Images       string // where the agent looks for images; default: its own directory
	Force        bool   // keep an existing file under another name, whatever it contains
	Start        bool   // an agent is to be started, so its working directory must exist
	DryRun       bool   // change nothing
}

// Resumed says what Resume did, or would do.
type Resumed struct {
	ID       core.SessionID `json:"id"`
	Path     string         `json:"path"`
	Head     string         `json:"head"`
	Writer   string         `json:"writer,omitempty"`
	Epoch    uint64         `json:"epoch,omitempty"`
	Cursor   core.Cursor    `json:"seq"`
	Workdir  *Workdir       `json:"cwd,omitempty"`
	Former   *core.Claim    `json:"former,omitempty"`
	Holder   *core.Claim    `json:"holder,omitempty"`
	Life     *session.Life  `json:"life,omitempty"`   // of the former holder, or of the holder
	Local    *LocalOnly     `json:"lacked,omitempty"` // what the existing file has and the log did not
	Imported *ImportedTo    `json:"brought,omitempty"`
	Aside    string         `json:"aside,omitempty"` // the existing file's new name
	DryRun   bool           `json:"dryRun,omitempty"`

	Dialect    string       `json:"-"` // the agent's
	Follow     string       `json:"-"` // what Run follows; empty if that is Path
	Dir        string       `json:"-"` // where the agent works; empty if unknown
	Claim      *api.Claimed `json:"-"` // nil after a dry run
	LastWriter string       `json:"-"` // the writer that this host remembered before
	Refusal    error        `json:"-"` // after a dry run: why the head would not be taken over
}

// ImportedTo says where the lines are that the log lacked.
type ImportedTo struct {
	Head string `json:"head"`
}

// A resumer resumes one session.
type resumer struct {
	host *Host
	node Node
	id   core.SessionID
	o    ResumeOptions
}

// Resume claims a head and writes the file from which the session's agent
// continues it on this host. It takes the head from another holder only if that
// holder is silent or o.TakeOver is set; otherwise the error wraps core.ErrFenced.
//
// The session continues in o.CWD; else where the user's table maps its directory;
// else in its own directory, if that exists; else in the matching place of the
// current repository.
//
// If the file exists, its lines that the log lacks are imported first, and the
// file is replaced. A file that conflicts with the log is left alone, unless
// o.Force is set; the error then wraps fs.ErrExist. All of that is checked before
// anything is claimed.
func Resume(ctx context.Context, h *Host, node Node, id core.SessionID, o ResumeOptions) (*Resumed, error) {
	r := &resumer{h, node, id, o}
	next := r.run
	if o.DryRun {
		next = r.plan
	}
	out, err := next(ctx)
	if errors.Is(err, errReplayed) {
		return r.replay(ctx)
	}
	return out, err
}

func (r *resumer) run(ctx context.Context) (*Resumed, error) {
	out := &Resumed{ID: r.id}
	stored, _, err := r.host.Claims.Load(r.id, r.o.Head)
	if err != nil {
		return nil, err
	}
	out.LastWriter = stored.Writer
	forced := r.o.TakeOver
	var life *session.Life
	if r.o.ClaimOptions, life, err = r.host.mayTakeOver(ctx, r.node, r.id, r.o.ClaimOptions, stored.Writer); err != nil {
		return nil, err
	}
	// Write the file as a draft before the claim: no writer is fenced for a file that
	// then cannot be written.
	file, local, err := r.prepare(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if file != nil {
			file.Discard()
		}
	}()
	if !forced {
		if err := r.checkUnused(file); err != nil {
			return nil, err
		}
	}
	if r.o.Agent == "" {
		r.o.Agent = file.agent
	}
	claim, err := r.claim(ctx, file.path)
	if err != nil {
		return nil, err
	}
	if !local.isEmpty() {
		out.Local = &local
	}
	imports := len(local.Lines) > 0 && !r.o.Force
	if imports {
		if out.Imported, err = r.importFile(ctx, file, claim.Writer); err != nil {
			return nil, err
		}
	}
	if imports || claim.Seq != file.cursor.Seq+1 { // or something else was stored in between
		file.Discard()
		if file, err = r.prepareAgain(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.placeImages(ctx, file.Name(), file.agent); err != nil {
		return nil, err
	}
	if err := r.putCompanions(file); err != nil {
		return nil, err
	}
	if out.Aside, err = file.put(out.Local.keepsAside(r.o.Force), r.host.Now()); err != nil {
		return nil, err
	}
	out.Path, out.Head, out.Writer, out.Epoch, out.Cursor, out.Former = file.path, claim.Head, claim.Writer, claim.Epoch, file.cursor, claim.Former
	if claim.Former != nil {
		out.Life = life
	}
	out.Dialect, out.Dir, out.Claim = file.agent, file.workdir.local(), &claim
	out.Workdir = file.workdir.orNil()
	r.host.noteWorkdir(file.workdir)
	return out, nil
}

// claim claims the head and remembers the claim with the file's path.
func (r *resumer) claim(ctx context.Context, path string) (api.Claimed, error) {
	c, err := Claim(ctx, r.host, r.node, r.id, r.o.ClaimOptions)
	if errors.Is(err, core.ErrFenced) { // another writer claimed it in the meantime
		return c, hint.With(err, "take it over with: sessctl resume --take-over%s %s", HeadFlag(r.o.Head), r.id)
	}
	if err == nil {
		r.host.Remember(r.id, c, path)
	}
	return c, err
}

// Remember saves a claim for later processes. If that fails, it tells the user.
func (h *Host) Remember(id core.SessionID, c api.Claimed, path string) {
	if err := h.Claims.Save(NewStoredClaim(id, c, path)); err != nil {
		h.notef("the claim was not saved (%v); write under it with: --writer %s", err, c.Writer)
	}
}

// prepare writes the draft and compares the existing file with the log.
func (r *resumer) prepare(ctx context.Context) (*stagedFile, LocalOnly, error) {
	file, err := r.stage(ctx)
	if err != nil {
		return nil, LocalOnly{}, err
	}
	if file.workdir.Gone && r.o.Start {
		file.Discard()
		return nil, LocalOnly{}, hint.With(fmt.Errorf("the session's directory %s does not exist on this host%w", file.workdir.From, hint.Silent(fs.ErrNotExist)),
			"say where to continue with: --cwd DIR")
	}
	local, err := r.localOnly(ctx, file)
	if err == nil && !r.o.Force {
		err = local.refusal(file.path)
	}
	if err != nil {
		file.Discard()
		return nil, local, err
	}
	return file, local, nil
}

// prepareAgain is prepare after the log has everything from the existing file.
func (r *resumer) prepareAgain(ctx context.Context) (*stagedFile, error) {
	file, local, err := r.prepare(ctx)
	if err == nil && len(local.Lines) > 0 && !r.o.Force {
		err = errChanged(file.path)
		file.Discard()
		return nil, err
	}
	return file, err
}

// importFile imports the existing file as writer.
func (r *resumer) importFile(ctx context.Context, f *stagedFile, writer string) (*ImportedTo, error) {
	store, err := r.host.ImageStore(f.agent, r.o.Images)
	if err != nil {
		return nil, err
	}
	if store != "" {
		missing, err := SendImages(ctx, r.node, f.path, store)
		if err != nil {
			return nil, err
		}
		r.host.NoteImages(missing, store)
	}
	in, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	body, size := io.Reader(in), info.Size()
	if r.host.Secrets.Mode == secrets.Masked {
		data, err := r.host.readFile(f.path)
		if err != nil {
			return nil, err
		}
		data = r.host.Secrets.Mask(data)
		body, size = bytes.NewReader(data), int64(len(data))
	}
	done, err := r.node.Import(ctx, body, size, client.ImportOptions{Dialect: f.agent, Writer: writer, By: r.host.By, OnConflict: session.Branch})
	if err != nil {
		return nil, hint.With(fmt.Errorf("%s has lines that the log lacks and that cannot be imported: %w", f.path, err), asideHint, f.path)
	}
	if done.Head == "" {
		done.Head = core.MainHead
	}
	return &ImportedTo{Head: done.Head}, nil
}

// plan finds out what run would do.
func (r *resumer) plan(ctx context.Context) (*Resumed, error) {
	out := &Resumed{ID: r.id, Head: r.o.Head, DryRun: true}
	stored, _, err := r.host.Claims.Load(r.id, r.o.Head)
	if err != nil {
		return nil, err
	}
	_, _, out.Refusal = r.host.mayTakeOver(ctx, r.node, r.id, r.o.ClaimOptions, stored.Writer)
	if out.Refusal != nil && !errors.Is(out.Refusal, core.ErrFenced) {
		return nil, out.Refusal
	}
	hs, err := r.node.Heads(ctx, string(r.id))
	if err != nil {
		return nil, err
	}
	for _, h := range hs.Heads {
		if h.Head == r.o.Head {
			out.Holder, out.Life = h.Claim, h.Life
		}
	}
	file, local, err := r.prepare(ctx)
	if err != nil {
		return nil, err
	}
	defer file.Discard()
	if out.Refusal == nil && !r.o.TakeOver {
		out.Refusal = r.checkUnused(file)
	}
	if !local.isEmpty() {
		out.Local = &local
	}
	out.Path, out.Cursor, out.Workdir = file.path, file.cursor, file.workdir.orNil()
	r.host.noteWorkdir(file.workdir)
	return out, nil
}

// OpenArgs returns the arguments with which an agent opens the session file at
// path. It returns nil if they are unknown: the agent then finds the file in its
// sessions directory.
func OpenArgs(dialect, path string) []string {
	switch dialect {
	case "pi":
		return []string{"--session", path}
	case "omp":
		return []string{"--resume", path}
	case "opencode":
		return []string{"--session", path}
	case "claude":
		return []string{"--resume", strings.TrimSuffix(filepath.Base(path), ".jsonl")}
	case "codex":
		return []string{"resume", threadOf(path)}
	}
	return nil
}

// CanStart reports whether an agent can be started on a session file, by the name of
// its dialect.
func CanStart(dialect string) bool { return OpenArgs(dialect, "") != nil }

// threadOf returns the id of the thread in the name of a file of Codex, such as
// rollout-2026-01-02T03-04-05-ID.jsonl or, after a revert, …-ID_ID.jsonl.
func threadOf(path string) string {
	const prefix = len("rollout-2026-01-02T03-04-05-")
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	id, _, _ := strings.Cut(name[min(len(name), prefix):], "_")
	return id
}

// WithOpenArgs returns the command line argv, which starts an agent, such that the
// agent opens the session file at path.
func WithOpenArgs(argv []string, dialect, path string) []string {
	at := len(argv)
	if dialect == "codex" { // a subcommand, before its arguments
		at = 1
		if len(argv) > 1 && (argv[1] == "exec" || argv[1] == "e") {
			at = 2
		}
	}
	return slices.Insert(slices.Clone(argv), min(at, len(argv)), OpenArgs(dialect, path)...)
}
