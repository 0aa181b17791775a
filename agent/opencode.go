package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/internal/hint"
)

const opencodeName = "opencode"

// errReplayed says that the session's agent keeps no files, so that resume puts
// the session into the agent's database, by the agent's own interface.
var errReplayed = errors.New("the agent stores sessions in a database, not in files")

// replay claims the head of a session of opencode and puts its events into
// opencode on this host. Events that only this host has are imported first. opencode
// takes those that follow what it has, and refuses others: what it has of the
// session stays, whatever happens.
func (r *resumer) replay(ctx context.Context) (*Resumed, error) {
	out := &Resumed{ID: r.id, Dialect: opencodeName, DryRun: r.o.DryRun}
	stored, _, err := r.host.Claims.Load(r.id, r.o.Head)
	if err != nil {
		return nil, err
	}
	out.LastWriter = stored.Writer
	if r.o.ClaimOptions, out.Life, err = r.host.mayTakeOver(ctx, r.node, r.id, r.o.ClaimOptions, stored.Writer); err != nil {
		return nil, err
	}
	file, workdir, err := r.events(ctx)
	if err != nil {
		return nil, err
	}
	out.Dir, out.Workdir, out.Head = workdir.local(), workdir.orNil(), r.o.Head
	out.Path, _ = opencode.Replay(file.Header, file.Entries, opencode.Place{Directory: workdir.CWD})
	database, _, err := r.host.sessionsDir(opencodeName, workdir.CWD)
	if err != nil {
		return nil, err
	}
	out.Follow = filepath.Join(database, out.Path)
	if r.o.DryRun {
		return out, nil
	}
	server, err := startOpencode(ctx, workdir.CWD)
	if err != nil {
		return nil, err
	}
	defer server.stop()
	if r.o.Agent == "" {
		r.o.Agent = opencodeName
	}
	claim, err := r.claim(ctx, out.Path)
	if err != nil {
		return nil, err
	}
	// No other writer is admitted from here on.
	if out.Imported, err = r.importEvents(ctx, server, file, claim.Writer); err != nil {
		return nil, err
	}
	if file, _, err = r.events(ctx); err != nil {
		return nil, err
	}
	if err := server.unmask(ctx, file); err != nil {
		return nil, err
	}
	if err := server.put(ctx, file, workdir.CWD); err != nil {
		return nil, err
	}
	out.Writer, out.Epoch, out.Cursor, out.Former, out.Claim = claim.Writer, claim.Epoch, core.Cursor{Seq: claim.Seq}, claim.Former, &claim
	if claim.Former == nil {
		out.Life = nil
	}
	r.host.noteWorkdir(workdir)
	return out, nil
}

// importEvents imports the events that opencode on this host has after those of
// the log.
func (r *resumer) importEvents(ctx context.Context, server *opencodeServer, file *core.File, writer string) (*ImportedTo, error) {
	list, err := server.grown(ctx, file)
	if err != nil || list == nil {
		return nil, err
	}
	list = r.host.Secrets.Mask(list)
	_, err = r.node.Import(ctx, bytes.NewReader(list), int64(len(list)), client.ImportOptions{Dialect: opencodeName, Writer: writer, By: r.host.By})
	if err != nil {
		return nil, fmt.Errorf("opencode on this host has events of session %s that cannot be imported: %w", r.id, err)
	}
	return &ImportedTo{Head: core.MainHead}, nil
}

// events returns the session, and the directory where it continues.
func (r *resumer) events(ctx context.Context) (*core.File, Workdir, error) {
	body, err := r.node.ExportPacked(ctx, string(r.id))
	if err != nil {
		return nil, Workdir{}, err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(nodeBody{body}, r.host.MaxFile+1))
	if err != nil {
		return nil, Workdir{}, err
	}
	if int64(len(data)) > r.host.MaxFile {
		return nil, Workdir{}, fmt.Errorf("session %s has more than the %d bytes that are read into memory: %w", r.id, r.host.MaxFile, core.ErrTooLarge)
	}
	file, _, err := dialect.Read(opencodeName, data)
	if err != nil {
		return nil, Workdir{}, err
	}
	w, err := r.host.workdir(r.o.CWD, file.Header.CWD)
	if err != nil {
		return nil, w, err
	}
	if !isDir(w.CWD) {
		return nil, w, hint.With(fmt.Errorf("the session's directory %s does not exist on this host: %w", file.Header.CWD, core.ErrNotFound), "say where to continue with: --cwd DIR")
	}
	return file, w, nil
}
