package prompts

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer/internal/sqlitefile"
	"github.com/sesslog/sesslog/stream"
)

// Config is what a History needs to know.
type Config struct {
	Path string // of the file
	Log  string // the log's name
	// Session opens a session; its state may lag behind the log's.
	Session func(context.Context, core.SessionID) (*stream.Session, error)
	Logger  *slog.Logger // default slog.Default()
}

// A History is the prompts of a log's sessions. Its methods may be called from
// several goroutines.
type History struct {
	cfg Config

	file sync.RWMutex // held for writing while the file is made again
	db   *sql.DB

	mu      sync.Mutex
	known   map[core.SessionID]known
	queue   []*work // in the order they were noted
	waiting map[core.SessionID]*work
	noted   uint64          // works that were ever put into the queue
	done    uint64          // of them, those that are out of hand
	wake    chan struct{}   // has room for one
	moved   chan struct{}   // closed and replaced when done grows
	hurry   chan struct{}   // has room for one: somebody waits for what is noted
	damaged bool            // a query found the file so
	asked   []chan struct{} // closed when the file was made anew, because Rebuild asked for it

	failing bool // the last write did; Run alone looks at it
}

// known is how far a session was read.
type known struct {
	seq     uint64 // up to which record, as the file has it
	entries int    // of them, read since the program started; 0 for none
	sum     [sha256.Size]byte
	last    trace // what the next prompt is compared with
}

// A work is a session that has changed.
type work struct {
	id    core.SessionID
	seq   uint64 // of the last change that was noted
	whole bool   // more than entries at its end may have changed
	scrub bool
}

// Open opens the history in a file, making it where it is absent. A file that
// is damaged, or of another version or log, is made anew with a warning. Other
// errors mean that there can be no history there; fs.ErrNotExist, that the
// directory is absent: it is not made.
func Open(ctx context.Context, cfg Config) (*History, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("prompt history: %w", err)
	}
	cfg.Path = path
	h := &History{cfg: cfg, waiting: map[core.SessionID]*work{}, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), moved: make(chan struct{})}
	var seqs map[core.SessionID]uint64
	h.db, seqs, err = openFile(ctx, path, cfg.Log)
	if sqlitefile.IsUnusable(err) {
		h.warnRebuild(err)
		if err = sqlitefile.Remove(path); err == nil {
			h.db, seqs, err = openFile(ctx, path, cfg.Log)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("prompt history %s: %w", path, err)
	}
	h.known = make(map[core.SessionID]known, len(seqs))
	for id, seq := range seqs {
		h.known[id] = known{seq: seq}
	}
	return h, nil
}

func (h *History) warnRebuild(err error) {
	h.cfg.Logger.Warn("prompt history cannot be used; making it again from the log", "file", h.cfg.Path, "err", err)
}

// Close closes the file. Run must have returned.
func (h *History) Close() error {
	h.file.Lock()
	defer h.file.Unlock()
	return h.db.Close()
}

// Note says that a session has changed. It never blocks. Every change must be
// noted, in order and perhaps more than once, and at the start each session
// with its last record's seq; a Kind that is not known is left empty.
func (h *History) Note(ch stream.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ch.Seq <= h.known[ch.Session].seq {
		return
	}
	w := h.waiting[ch.Session]
	if w == nil {
		w = &work{id: ch.Session}
		h.enqueue(w)
	}
	w.seq = max(w.seq, ch.Seq)
	switch ch.Kind {
	case core.KindAppend, core.KindHead, core.KindClaim, core.KindRelease, core.KindCheckpoint, core.KindClose:
	case core.KindAmend, core.KindErase, core.KindRedact:
		w.whole, w.scrub = true, true
	default:
		w.whole = true
	}
}

// enqueue puts w at the end of the queue. h.mu is held.
func (h *History) enqueue(w *work) {
	h.waiting[w.id] = w
	h.queue = append(h.queue, w)
	h.noted++
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// next takes the oldest works from the queue, or none.
func (h *History) next() []*work {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(len(h.queue), mostAtOnce)
	ws := h.queue[:n:n]
	h.queue = h.queue[n:]
	for _, w := range ws {
		delete(h.waiting, w.id)
	}
	return ws
}

// finish says that a work is out of hand. Where again is set, it goes back to
// the end of the queue.
func (h *History) finish(w *work, again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if later := h.waiting[w.id]; again && later != nil {
		later.seq, later.whole, later.scrub = max(later.seq, w.seq), later.whole || w.whole, later.scrub || w.scrub
	} else if again {
		h.enqueue(w)
	}
	h.done++
	close(h.moved)
	h.moved = make(chan struct{})
}

const (
	// retryAfter is how long what failed is left alone.
	retryAfter = time.Second
	// mostAtOnce is how many sessions go into the file together: most of what it
	// costs to write one is the same for many.
	mostAtOnce = 64
	// batchBytes is how much of their prompts is in memory for that, or a little
	// more: what one session has anew.
	batchBytes = 4 << 20
	// gatherFor is how long changes are gathered that nobody waits for.
	gatherFor = 200 * time.Millisecond
)

// Run reads changed sessions until ctx ends. What is left then is found out at
// the next start. The error is never nil.
func (h *History) Run(ctx context.Context) error {
	for {
		if damaged, asked := h.takeDamage(); damaged {
			h.rebuild(ctx)
			for _, done := range asked {
				close(done)
			}
		}
		ws := h.next()
		if len(ws) == 0 {
			select {
			case <-h.wake:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		failed := h.handle(ctx, ws)
		if err := h.rest(ctx, failed); err != nil {
			return err
		}
	}
}

// rest waits after a write: long where it failed, and else as long as nobody waits
// for the next one.
func (h *History) rest(ctx context.Context, failed bool) error {
	long, hurry := gatherFor, h.hurry
	if failed {
		long, hurry = retryAfter, nil
	}
	t := time.NewTimer(long)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-hurry:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A batch is what goes into the file together.
type batch struct {
	works []*work
	steps []step
	known []known
	bytes int // of the prompts
}

func (b *batch) add(w *work, st step, k known) {
	b.works, b.steps, b.known = append(b.works, w), append(b.steps, st), append(b.known, k)
	for _, p := range st.prompts {
		b.bytes += len(p.text)
	}
}

// handle takes sessions in, and puts those back that must be tried again. It
// reports whether there are any.
func (h *History) handle(ctx context.Context, ws []*work) (failed bool) {
	var b batch
	for _, w := range ws {
		st, k, err := h.read(ctx, w)
		if err != nil {
			// The materializer names sessions that cannot be read.
			h.cfg.Logger.Debug("session is not in the prompt history", "session", w.id, "err", err)
			again := errors.Is(err, core.ErrUnavailable)
			h.finish(w, again)
			failed = failed || again
			continue
		}
		b.add(w, st, k)
		if b.bytes >= batchBytes {
			failed = h.store(ctx, b) || failed
			b = batch{}
		}
	}
	return h.store(ctx, b) || failed
}

// store writes a batch, whole or not at all.
func (h *History) store(ctx context.Context, b batch) (failed bool) {
	if len(b.works) == 0 {
		return false
	}
	if err := write(ctx, h.db, b.steps); err != nil {
		failed = h.failed(ctx, err)
	} else {
		h.learn(b)
	}
	for _, w := range b.works {
		h.finish(w, failed)
	}
	return failed
}

// learn notes that a batch is in the file.
func (h *History) learn(b batch) {
	if h.failing {
		h.failing = false
		h.cfg.Logger.Info("prompt history is written again", "file", h.cfg.Path)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, w := range b.works {
		h.known[w.id] = b.known[i]
	}
}

// failed says what became of a write that failed. The work is done again.
func (h *History) failed(ctx context.Context, err error) (again bool) {
	switch {
	case ctx.Err() != nil:
	case sqlitefile.IsCorrupt(err):
		h.warnRebuild(err)
		h.rebuild(ctx)
	case !h.failing:
		h.failing = true
		h.cfg.Logger.Warn("prompt history not written; trying again every second", "file", h.cfg.Path, "err", err)
	}
	return true
}

// read makes the step that brings a session's prompts up to date.
func (h *History) read(ctx context.Context, w *work) (step, known, error) {
	s, err := h.cfg.Session(ctx, w.id)
	if errors.Is(err, core.ErrDeleted) { // erased: what is in the trash opens
		return step{session: w.id, seq: w.seq, whole: true, scrub: true}, known{seq: w.seq}, nil
	}
	if err != nil {
		return step{}, known{}, err
	}
	v := viewOf(s)
	if v.seq < w.seq {
		if err := s.Refresh(ctx); err != nil {
			return step{}, known{}, err
		}
		v = viewOf(s)
	}
	h.mu.Lock()
	k := h.known[w.id]
	h.mu.Unlock()
	// The state may be ahead of what was noted. What that is, the notes will
	// say: the file must not claim to know it.
	st := step{
		session: w.id, seq: w.seq, whole: w.whole || !k.goesOn(v.entries), scrub: w.scrub || v.erased,
		dialect: v.dialect.Name(), host: bound(v.host), cwd: bound(v.header.CWD),
	}
	if st.whole {
		k = known{}
		k.last.created, _ = millis(v.header.Time)
	}
	k.seq = w.seq
	if v.gone {
		return st, known{seq: w.seq}, nil
	}
	st.prompts, k.last = collect(v.dialect, v.entries[k.entries:], k.entries, k.last)
	if k.entries = len(v.entries); k.entries > 0 {
		k.sum = sha256.Sum256(v.entries[k.entries-1].Line)
	}
	return st, k, nil
}

// goesOn reports whether es begin with the entries that were read.
func (k known) goesOn(es []core.Entry) bool {
	return k.entries > 0 && k.entries <= len(es) && k.sum == sha256.Sum256(es[k.entries-1].Line)
}

// A view is what is wanted of a session's state. Its entries stay as they are
// when the session goes on.
type view struct {
	seq     uint64
	dialect core.Dialect
	header  core.Header
	host    string
	entries []core.Entry
	gone    bool // in the trash, or erased
	erased  bool
}

func viewOf(s *stream.Session) (v view) {
	_ = s.View(func(st *core.State) error {
		v = view{
			seq: st.Seq, dialect: st.Dialect, header: st.Header, host: st.Origin.Host, entries: st.Entries,
			gone: st.Deleted != nil || st.Erased != nil, erased: st.Erased != nil,
		}
		return nil
	})
	return v
}

// rebuild makes the file anew and has all sessions read again.
func (h *History) rebuild(ctx context.Context) {
	h.file.Lock()
	defer h.file.Unlock()
	_ = h.db.Close()
	err := sqlitefile.Remove(h.cfg.Path)
	if err == nil {
		var db *sql.DB
		if db, _, err = openFile(ctx, h.cfg.Path, h.cfg.Log); err == nil {
			h.db = db
		}
	}
	if err != nil && ctx.Err() == nil {
		h.cfg.Logger.Error("prompt history cannot be made again; searches fail until the node is started anew", "file", h.cfg.Path, "err", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, k := range h.known {
		w := h.waiting[id]
		if w == nil {
			w = &work{id: id}
			h.enqueue(w)
		}
		w.seq, w.whole = max(w.seq, k.seq), true
	}
	clear(h.known)
}

func (h *History) takeDamage() (damaged bool, asked []chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	damaged, asked = h.damaged, h.asked
	h.damaged, h.asked = false, nil
	return damaged, asked
}

// Rebuild drops the history, and returns when that is done or with ctx's error.
// It is made again of the sessions that were known, while searches show what there
// is; CatchUp tells when. Run must be running.
func (h *History) Rebuild(ctx context.Context) error {
	done := make(chan struct{})
	h.mu.Lock()
	h.damaged, h.asked = true, append(h.asked, done)
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("prompt history cannot be dropped now: %w: %w", ctx.Err(), core.ErrUnavailable)
	}
}

// report has Run make the file again.
func (h *History) report(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.damaged {
		h.damaged = true
		h.warnRebuild(err)
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Behind is how many changed sessions are still to be read.
func (h *History) Behind() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return int(h.noted - h.done)
}

// CatchUp returns when what was noted before it was called is in the history,
// or named as unreadable, or with ctx's error.
func (h *History) CatchUp(ctx context.Context) error {
	h.mu.Lock()
	want := h.noted
	h.mu.Unlock()
	for {
		h.mu.Lock()
		done, moved := h.done >= want, h.moved
		h.mu.Unlock()
		if done {
			return nil
		}
		select {
		case h.hurry <- struct{}{}:
		default:
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("prompt history: %d sessions are still to be read: %w", h.Behind(), ctx.Err())
		}
	}
}
