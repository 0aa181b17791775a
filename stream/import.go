package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
)

// Imported says what became of a file.
type Imported struct {
	Session *Session
	Created bool // the session was not in the log before
	Entries int  // lines that were not there before
	Blobs   int  // images of the file that are kept as blobs
}

// Import brings a session file into the log: the whole file in one record where
// the session is new, else what the log lacks of it. raw is the file's bytes;
// they are kept as a blob where f says that its entries are not the whole of
// them. who is for the record. A file that contradicts the log is a
// *core.LineError with core.ErrConflict and changes nothing. writer is the
// claim to speak from, empty for none.
func (ss *Sessions) Import(ctx context.Context, f *core.File, raw []byte, who core.Origin, writer string) (Imported, error) {
	id := core.SessionIDFor(f.Dialect, f.Header.ID)
	began := ss.cfg.Now()
	kept, blobs, err := ss.Keep(ctx, f.Entries)
	if err != nil {
		return Imported{}, err
	}
	file := *f
	file.Entries = kept
	// Somebody else may make the session, or write to it, at the same time.
	for range importTries {
		var res Imported
		s, err := ss.Open(ctx, id)
		switch {
		case err == nil:
			res, err = ss.importInto(ctx, s, &file, writer)
		case errors.Is(err, core.ErrNotFound):
			res, err = ss.importNew(ctx, id, &file, raw, who)
		}
		_, contradicts := errors.AsType[*core.LineError](err)
		if errors.Is(err, core.ErrExists) || errors.Is(err, core.ErrConflict) && !contradicts {
			continue
		}
		res.Blobs = blobs
		if err == nil {
			err = ss.renewImport(ctx, began, f, raw)
		}
		return res, err
	}
	return Imported{}, fmt.Errorf("session %s changes all the time: %w", id, core.ErrUnavailable)
}

// renewImport is Renew for a file and its images.
func (ss *Sessions) renewImport(ctx context.Context, began time.Time, f *core.File, raw []byte) error {
	if err := ss.Renew(ctx, began, f.Entries); err != nil || f.Exact || !slow(ss.cfg.Now(), began, ss.cfg.Grace) {
		return err
	}
	if _, err := ss.cfg.Blobs.Put(ctx, raw); err != nil {
		return fmt.Errorf("the session is stored, the file as it was is to be put again: %v: %w", err, core.ErrUnavailable)
	}
	return nil
}

// importTries is how often an import compares its file with the session anew
// because another record came between.
const importTries = 10

func (ss *Sessions) importNew(ctx context.Context, id core.SessionID, f *core.File, raw []byte, who core.Origin) (Imported, error) {
	who.Dialect, who.Version, who.Entries, who.Skipped = f.Dialect, f.Version, len(f.Entries), f.Skipped
	if !f.Exact {
		d, err := ss.cfg.Blobs.Put(ctx, raw)
		if err != nil {
			return Imported{}, fmt.Errorf("the file as it was, %d bytes: %w", len(raw), err)
		}
		who.Original, who.OriginalSize = d, int64(len(raw))
	}
	s, err := ss.Create(ctx, Birth{ID: id, Origin: who, Header: f.Header, Entries: f.Entries})
	if err != nil {
		return Imported{}, err
	}
	return Imported{Session: s, Created: true, Entries: len(f.Entries)}, nil
}

func (ss *Sessions) importInto(ctx context.Context, s *Session, f *core.File, writer string) (Imported, error) {
	var fresh []core.Entry
	var seen core.Cursor
	err := s.View(func(st *core.State) (err error) {
		if err := st.Writable(); err != nil {
			return err
		}
		seen = st.Cursor()
		fresh, err = st.Missing(f)
		return err
	})
	if err != nil || len(fresh) == 0 {
		return Imported{Session: s}, err
	}
	lines := make([][]byte, len(fresh))
	for i := range fresh {
		lines[i] = fresh[i].Line
	}
	rec, err := s.Append(ctx, Append{Lines: lines, Loose: true, Writer: writer, After: &seen, kept: true})
	return Imported{Session: s, Entries: rec.Stored}, err
}
