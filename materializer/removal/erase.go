package removal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/stream"
)

// Directory is the rows from which a Remover selects sessions. index.Index
// implements it.
type Directory interface {
	// Rows yields the row of every session. An error is yielded once, last.
	Rows(ctx context.Context) iter.Seq2[catalog.Row, error]
	// Kin returns the rows of a session, its ancestors and its descendants, the
	// oldest first.
	Kin(ctx context.Context, id core.SessionID) ([]catalog.Row, error)
}

// A Remover erases and redacts the sessions of one log. Its methods may be called
// from several goroutines, and on several nodes at once.
type Remover struct {
	Log          *stream.Log
	Sessions     *engine.Sessions
	Cache        *materializer.Cache
	Materializer *materializer.Materializer
	Directory    Directory
	Snapshots    *materializer.Snapshots
	// Window is how long a session must be in the trash before it may be erased.
	Window time.Duration
	Now    func() time.Time // default time.Now

	said sync.Map // by session: when its erase record was stored or found

	step    func(name string) error // for tests: an error stops the work before a step
	waiting func()                  // for tests: called when it waits for the brokers
}

// Find returns what exists of a session. It returns core.ErrNotFound if the log
// does not have it.
func (r *Remover) Find(ctx context.Context, id core.SessionID) (*report.Found, error) {
	forks, err := r.Forks(ctx, id)
	if err != nil {
		return nil, err
	}
	f := &report.Found{Session: id, Snapshots: []string{}, Forks: forks, Wait: r.Wait()}
	s, err := r.Cache.Fresh(ctx, id)
	switch {
	case err == nil && !s.Erased():
		r.describe(f, s)
	case err == nil || errors.Is(err, core.ErrDeleted):
		if err := r.describeErased(ctx, f); err != nil {
			return nil, err
		}
	case isDamage(err):
		f.Damaged = err.Error()
	default:
		return nil, err
	}
	kept, err := r.Snapshots.Kept(ctx, r.Log.Name(), id)
	if err != nil {
		return nil, err
	}
	for _, k := range kept {
		f.Snapshots = append(f.Snapshots, k.Key)
	}
	f.Records, err = r.records(ctx, id)
	return f, err
}

// isDamage reports whether a session cannot be read, as opposed to a log or a store
// that does not answer.
func isDamage(err error) bool {
	return !errors.Is(err, core.ErrUnavailable) && (errors.Is(err, core.ErrCorrupt) || errors.Is(err, core.ErrTooNew))
}

func (r *Remover) describe(f *report.Found, s *engine.Session) {
	_ = s.View(func(st *core.State) error {
		plain := st.Render()
		f.Dialect, f.Cursor, f.Entries = st.Dialect.Name(), st.Cursor(), len(st.Entries)
		f.SHA256, f.Bytes, f.Blobs = core.DigestOf(plain), int64(len(plain)), len(st.Blobs())
		f.Deleted, f.Held = st.Deleted, st.LegalHold
		if st.Deleted != nil {
			f.Due = st.Deleted.Time.Add(r.Window)
		}
		return nil
	})
}

func (r *Remover) describeErased(ctx context.Context, f *report.Found) error {
	last, n, err := r.Sessions.LastErase(ctx, f.Session)
	if err != nil {
		return err
	}
	f.Cursor, f.Erased = core.CursorOf(last.Seq, last.Chain), &n
	return nil
}

// records counts the session's records in the log, up to the first that cannot be
// read.
func (r *Remover) records(ctx context.Context, id core.SessionID) (int, error) {
	last, err := r.Log.Last(ctx, id)
	if errors.Is(err, core.ErrNotFound) || isDamage(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := 0
	for _, err := range r.Log.Scan(ctx, id, 0, last.Pos) {
		if err != nil && !isDamage(err) {
			return n, err
		}
		n++
	}
	return n, nil
}

// forksWait limits the wait for the rows to catch up with the log.
const forksWait = 3 * time.Second

// Forks returns the sessions that were derived from id, as far as this node's rows
// say.
func (r *Remover) Forks(ctx context.Context, id core.SessionID) ([]string, error) {
	waiting, cancel := context.WithTimeout(ctx, forksWait)
	defer cancel()
	_ = r.Materializer.CatchUp(waiting) // otherwise as far as the rows are
	rows, err := r.Directory.Kin(ctx, id)
	if err != nil {
		return nil, err
	}
	forks := []string{}
	for _, row := range rows {
		if row.Erased {
			continue
		}
		for _, p := range row.Lineage.Parents {
			if p.Session == id {
				forks = append(forks, string(row.ID))
				break
			}
		}
	}
	return forks, nil
}

// errTooSoon means that a session is not in the trash, or not long enough.
var errTooSoon = fmt.Errorf("too soon: %w", core.ErrConflict)

// How permits erasures that are refused by default.
type How struct {
	Now     bool // of a session that is not in the trash, or not long enough
	Damaged bool // of a session that cannot be read, so that its content is unknown
}

// May returns why f cannot be erased, or nil.
func (r *Remover) May(f *report.Found, how How) error {
	switch {
	case f.Held != nil:
		st := core.State{ID: f.Session, LegalHold: f.Held}
		return st.CheckRemovable()
	case f.Erased != nil:
		return nil
	case f.Damaged != "" && how.Damaged:
		return nil
	case f.Damaged != "":
		return fmt.Errorf("session %s cannot be read; repair it first (sessctl verify --repair %s), or erase it with --damaged: %s: %w",
			f.Session, f.Session, f.Damaged, core.ErrCorrupt)
	case how.Now:
		return nil
	case f.Deleted == nil:
		return fmt.Errorf("session %s is not in the trash: %w\nhint: sessctl rm %s, or erase it at once with: --now", f.Session, errTooSoon, f.Session)
	case r.now().Before(f.Due):
		return fmt.Errorf("session %s is in the trash until %s: %w\nhint: wait until then, or erase it at once with: --now",
			f.Session, f.Due.UTC().Format(time.RFC3339), errTooSoon)
	}
	return nil
}

func (r *Remover) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// Erase removes a session: first it stores a record of the erasure, then it removes
// the session's snapshots and records. It returns core.ErrConflict or, for a
// session that cannot be read, core.ErrCorrupt if how does not permit it, and
// core.ErrHeld while the session is held. After any other error, call it again to
// complete the erasure.
//
// Brokers that flush late may lose the record, but not the removal. So Erase waits
// twice their flush interval in between. A caller that erases several sessions
// calls Say for all of them first.
func (r *Remover) Erase(ctx context.Context, id core.SessionID, n core.Notice, how How) (*report.Receipt, error) {
	f, err := r.Say(ctx, id, n, how)
	if err != nil {
		return nil, err
	}
	out := &report.Receipt{Found: *f, Log: r.Log.Name()}
	if err := r.settle(ctx, id); err != nil {
		return nil, err
	}
	last, said, err := r.Sessions.LastErase(ctx, id)
	if err != nil {
		return nil, err
	}
	out.Cursor, out.Erased = core.CursorOf(last.Seq, last.Chain), &said
	if out.Removed.Snapshots, err = r.removeSnapshots(ctx, id, func(string) bool { return true }); err != nil {
		return nil, err
	}
	if err := r.before("records"); err != nil {
		return nil, err
	}
	if out.Removed.Records, err = r.Log.Forget(ctx, id, last.Pos-1); err != nil {
		return nil, err
	}
	if err := r.before("rows"); err != nil {
		return nil, err
	}
	r.Cache.Forget(id)
	out.Removed.Rows = r.Materializer.CatchUp(ctx) == nil
	out.Remains = remains(f)
	r.said.Delete(id)
	return out, nil
}

// Say is the first step of Erase: it stores the erase record, and returns what
// there was of the session. Its errors are those of Erase.
func (r *Remover) Say(ctx context.Context, id core.SessionID, n core.Notice, how How) (*report.Found, error) {
	f, err := r.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := r.May(f, how); err != nil {
		return nil, err
	}
	if f.Erased == nil {
		if err := r.before("record"); err != nil {
			return nil, err
		}
		if err := r.sayErased(ctx, f, n, how.Now); err != nil {
			return nil, err
		}
	}
	r.said.LoadOrStore(id, time.Now())
	return f, nil
}

// settle returns when the brokers have flushed what Say stored.
func (r *Remover) settle(ctx context.Context, id core.SessionID) error {
	said, ok := r.said.Load(id)
	if !ok {
		said = time.Now()
	}
	return r.flushed(ctx, said.(time.Time))
}

// Wait returns how long an erasure or redaction waits between its record and the
// removal: twice the brokers' flush interval, 0 if they flush before they answer.
func (r *Remover) Wait() time.Duration { return 2 * r.Sessions.FlushEvery() }

// flushed returns when the brokers have flushed what they had acknowledged at
// since.
func (r *Remover) flushed(ctx context.Context, since time.Time) error {
	wait := r.Wait()
	if wait == 0 {
		return nil
	}
	if r.waiting != nil {
		r.waiting()
	}
	if err := retry.Wait(ctx, time.Until(since.Add(wait))); err != nil {
		return fmt.Errorf("the brokers have not flushed the record yet, which takes up to %s (twice nats.sync): %w: %w\nhint: repeat the request", wait, err, core.ErrUnavailable)
	}
	return nil
}

// sayErased stores the erase record. It checks again that the session may be
// erased: it may have been taken out of the trash meanwhile.
func (r *Remover) sayErased(ctx context.Context, f *report.Found, n core.Notice, now bool) error {
	if f.Damaged != "" {
		return r.Sessions.EraseUnread(ctx, f.Session, n)
	}
	s, err := r.Cache.Get(ctx, f.Session)
	if err != nil {
		return err
	}
	return s.Erase(ctx, n, func(st *core.State) error {
		if now || st.Deleted != nil && !r.now().Before(st.Deleted.Time.Add(r.Window)) {
			return nil
		}
		return fmt.Errorf("session %s has changed since %s, and is no longer in the trash for long enough: %w", f.Session, f.Cursor, errTooSoon)
	})
}

// removeSnapshots removes the snapshots of a session whose keys match, and returns
// how many.
func (r *Remover) removeSnapshots(ctx context.Context, id core.SessionID, match func(key string) bool) (int, error) {
	kept, err := r.Snapshots.Kept(ctx, r.Log.Name(), id)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, k := range kept {
		if !match(k.Key) {
			continue
		}
		if err := r.before("snapshot"); err != nil {
			return n, err
		}
		if err := r.Snapshots.Remove(ctx, k.Key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (r *Remover) before(step string) error {
	if r.step == nil {
		return nil
	}
	return r.step(step)
}

// remains describes what is left after an erasure or a redaction.
func remains(f *report.Found) []string {
	out := []string{
		"the bytes of the records on the servers' disks, which no client can read, until their files are rewritten or dropped",
		"blobs that are no longer referenced, until they are collected (sessctl blobs gc): those that this session referenced, and bodies of more than 256 KiB",
		"earlier backups, until they are removed",
	}
	if len(f.Forks) > 0 {
		out = append(out, fmt.Sprintf("%d sessions derived from this one, with the lines they copied: erase or redact them separately", len(f.Forks)))
	}
	return out
}
