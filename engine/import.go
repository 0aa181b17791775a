package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/agentfile"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/session"
)

// Imported says what an import did.
type Imported struct {
	Session *Session
	Created bool   // the session is new
	Head    string // of the file's lines, if not core.MainHead
	Entries int    // new lines
	Blobs   int    // images stored as blobs
}

// ImportOptions says who imports a file, and what happens if the session has entries
// on main that the file lacks, while the file has entries that the log lacks. Labels
// and names do not count.
type ImportOptions struct {
	Writer     string             // the claim to write with, empty for none
	OnConflict session.OnConflict // session.Fail, which is the default, or session.Branch, which is the same for agents without branches
	Branch     string             // what the head is called that session.Branch makes; default a name made of the lines
	// After, unless nil, is where the session must still be, the zero cursor if it must not
	// exist, unless the log has all lines. With Head, only that head must not have moved.
	After *core.Cursor
	Head  string
}

// checkAfter returns a *core.ConflictError if the session is not where After
// requires.
func (opts *ImportOptions) checkAfter(st *core.State) error {
	switch {
	case opts.After == nil:
		return nil
	case opts.Head != "":
		return st.CheckUnmoved(opts.Head, *opts.After)
	}
	return st.CheckUnchanged(*opts.After)
}

// isRetryable reports whether an import that failed with err may be compared with
// the session again.
func (opts *ImportOptions) isRetryable(err error) bool {
	if opts.After == nil {
		return true
	}
	c, ok := errors.AsType[*core.ConflictError](err)
	return ok && opts.Head != "" && c.Head == "" && *opts.After != (core.Cursor{})
}

// Import brings a session file into the log: all of it in one record if the session
// is new, otherwise what the log lacks. raw is the file's bytes; they are kept as a
// blob if f says that its entries do not reproduce them. who is for the record. A
// file that contradicts the log is a *core.LineError with core.ErrConflict and
// changes nothing. If the session has diverged, or another writer holds main, opts
// decides: a *core.ConflictError or *core.FencedError says who wrote what. A
// *core.ConflictError without a head means that the session is not where opts.After
// requires.
func (ss *Sessions) Import(ctx context.Context, f *core.File, raw []byte, who core.Origin, opts ImportOptions) (Imported, error) {
	if err := opts.check(); err != nil {
		return Imported{}, err
	}
	id := core.SessionIDFor(f.Dialect, f.Header.ID)
	began := ss.cfg.Now()
	kept, blobs, err := ss.StoreImages(ctx, f.Entries)
	if err != nil {
		return Imported{}, err
	}
	file := *f
	file.Entries = kept
	// Another writer may create the session, or write to it, at the same time.
	for range maxImports {
		var res Imported
		s, err := ss.Open(ctx, id)
		switch {
		case err == nil:
			res, err = ss.importInto(ctx, s, &file, raw, opts)
		case errors.Is(err, core.ErrNotFound) && opts.After != nil && *opts.After != (core.Cursor{}):
			return Imported{}, &core.ConflictError{Session: id, Want: *opts.After}
		case errors.Is(err, core.ErrNotFound):
			res, err = ss.importNew(ctx, id, &file, raw, who)
		}
		_, contradicts := errors.AsType[*core.LineError](err)
		_, hasDiverged := errors.AsType[*divergedError](err)
		if errors.Is(err, core.ErrExists) || errors.Is(err, core.ErrConflict) && !contradicts && !hasDiverged && opts.isRetryable(err) {
			continue
		}
		res.Blobs = blobs
		if err == nil {
			err = ss.renewImport(ctx, began, f, raw)
		}
		return res, err
	}
	return Imported{}, fmt.Errorf("session %s: other writers changed it during %d attempts: %w", id, maxImports, core.ErrUnavailable)
}

// renewImport is RenewImages for a file and its images.
func (ss *Sessions) renewImport(ctx context.Context, began time.Time, f *core.File, raw []byte) error {
	if err := ss.RenewImages(ctx, began, f.Entries); err != nil || f.Exact || !storage.GraceSpent(ss.cfg.Now(), began, ss.cfg.Grace) {
		return err
	}
	if _, err := ss.cfg.Blobs.Put(ctx, raw); err != nil {
		return fmt.Errorf("the session is stored, but not the original file; repeat the request: %v: %w", err, core.ErrUnavailable)
	}
	return nil
}

// maxImports is how often an import compares its file with the session again.
const maxImports = 10

func (ss *Sessions) importNew(ctx context.Context, id core.SessionID, f *core.File, raw []byte, who core.Origin) (Imported, error) {
	who.Dialect, who.Version, who.Entries, who.Skipped = f.Dialect, f.Version, len(f.Entries), f.Skipped
	if !f.Exact {
		d, err := ss.cfg.Blobs.Put(ctx, raw)
		if err != nil {
			return Imported{}, fmt.Errorf("store the original file, %d bytes: %w", len(raw), err)
		}
		who.Original, who.OriginalSize = d, int64(len(raw))
	}
	s, err := ss.Create(ctx, CreateRequest{ID: id, Origin: who, Header: f.Header, Entries: f.Entries})
	if err != nil {
		return Imported{}, err
	}
	return Imported{Session: s, Created: true, Entries: len(f.Entries)}, nil
}

func (ss *Sessions) importInto(ctx context.Context, s *Session, f *core.File, raw []byte, opts ImportOptions) (Imported, error) {
	var fresh []core.Entry
	var seen core.Cursor
	var hasDiverged bool
	var original core.Digest
	a := Append{Head: core.MainHead, Loose: true, Writer: opts.Writer, After: &seen, kept: true}
	a.Exact = opts.After != nil
	err := s.View(func(st *core.State) (err error) {
		if err := st.CheckWritable(); err != nil {
			return err
		}
		seen, original = st.Cursor(), st.Origin.Original
		f = agentfile.Migrated(st, f)
		fresh, err = agentfile.Missing(st, f)
		relation := succession(st, f)
		if relation == optional.Earlier {
			fresh = nil
		}
		if err == nil && len(fresh) == 0 {
			return nil
		}
		// Before errors in the lines, which are for another state.
		if moved := opts.checkAfter(st); moved != nil {
			return moved
		}
		if err != nil {
			return err
		}
		a.Head, a.Writer = headFor(st, f, fresh, opts.Writer)
		hasDiverged = relation != optional.Later && diverged(st, a.Head, f)
		return nil
	})
	if err != nil {
		return Imported{}, err
	}
	// The object store may have lost the original of a file that is imported again.
	if !original.IsZero() && core.DigestOf(raw) == original {
		if _, err := ss.cfg.Blobs.Put(ctx, raw); err != nil {
			return Imported{}, fmt.Errorf("store the original file, %d bytes: %w", len(raw), err)
		}
	}
	if len(fresh) == 0 {
		return Imported{Session: s}, nil
	}
	for i := range fresh {
		a.Lines = append(a.Lines, fresh[i].Line)
	}
	branch := opts.OnConflict == session.Branch && !s.dialect().Linear()
	if hasDiverged && !branch {
		return Imported{}, s.divergedSince(ctx, f, a)
	}
	var rec core.Receipt
	if !hasDiverged {
		rec, err = s.enqueueAndWait(ctx, a)
	}
	if _, fenced := errors.AsType[*core.FencedError](err); hasDiverged || fenced && branch {
		a, rec, err = s.importToBranch(ctx, a, fresh, opts)
	}
	out := Imported{Session: s, Entries: rec.Stored}
	if a.Head != core.MainHead {
		out.Head = a.Head
	}
	return out, err
}
