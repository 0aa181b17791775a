package index

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// Config configures an Index.
type Config struct {
	Path   string       // of the file
	Log    string       // the log's name
	Logger *slog.Logger // default slog.Default()
}

// An Index is the directory of a log. Its methods may be called from several
// goroutines.
type Index struct {
	cfg Config

	// writing is held while the file is written. file is held for writing while db
	// is replaced.
	writing sync.Mutex
	file    sync.RWMutex
	db      *file
	syncs   sync.WaitGroup
	// going ends with Run: a write of a long session, which may take minutes, must not
	// keep a node from stopping.
	going context.Context
	stop  context.CancelFunc

	mu       sync.Mutex
	pending  map[core.SessionID]*change
	order    []core.SessionID // keys of pending, the oldest first
	weight   int64            // bytes of pending that are new
	inFlight map[core.SessionID]*change
	recent   [2]map[core.SessionID]progress // of rows written recently
	floors   map[int]materializer.Floor
	saved    map[int]materializer.Floor
	lost     map[int]bool
	dropped  bool // something that was put is lost until the next start
	live     int
	changed  chan struct{} // closed when rows change; nil if no caller waits for that
	flushed  time.Time     // when the last write ended
	erasing  bool          // the file has, or may have, text that must not stay there
	damaged  bool          // a query found the file corrupt
	failure  error         // of the last write; only the holder of writing changes it
}

var _ materializer.Directory = (*Index)(nil)

// A change is a pending write of a session.
type change struct {
	forget bool // delete what is there first
	view   *materializer.View
	weight int64 // bytes of view that were not written before
}

// seq returns the seq of the row after the change. known is false if the stored row
// decides.
func (c *change) seq() (seq uint64, known bool) {
	if c.view != nil {
		return c.view.Row.Seq, true
	}
	return 0, c.forget
}

// Limits of what is pending.
const (
	maxPending = 2048
	maxWeight  = 64 << 20
	maxRecent  = 1 << 15
)

// Run waits for flushEvery between two writes, or for tick if a client follows changes. What
// a crash loses is read from the log again. Rare writes cost less: of a session that grows
// fast, only the newest texts are kept, so most are never written.
const (
	tick       = time.Second
	flushEvery = 10 * time.Second
)

// Open opens the index in a file, and creates it if there is none. A file that is
// corrupt, or of another version or log, is removed with a warning and created
// again. It returns fs.ErrNotExist if the file's directory does not exist.
func Open(ctx context.Context, cfg Config) (*Index, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	cfg.Path = path
	db, err := openFile(ctx, path, cfg.Log)
	if isUnusable(err) {
		cfg.Logger.Warn("the directory cannot be used; rebuilding it from the log", "file", path, "err", err)
		if err = removeFile(path); err == nil {
			db, err = openFile(ctx, path, cfg.Log)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("directory %s: %w", path, err)
	}
	x := &Index{
		cfg: cfg, db: db, live: db.live,
		pending: map[core.SessionID]*change{}, floors: maps.Clone(db.floors), saved: maps.Clone(db.floors),
		recent: [2]map[core.SessionID]progress{{}, {}},
		lost:   map[int]bool{},
	}
	x.going, x.stop = context.WithCancel(context.WithoutCancel(ctx))
	return x, nil
}

// Close closes the file. Run must have returned, and no other call may be running.
func (x *Index) Close() error {
	x.syncs.Wait()
	x.writing.Lock()
	defer x.writing.Unlock()
	x.file.Lock()
	defer x.file.Unlock()
	x.db.close()
	return nil
}

// Put replaces a session's row and text, unless the row there has the same or a higher
// seq. If too much is pending it writes, else Run does soon. It is visible to queries
// after the next Sync at the latest.
func (x *Index) Put(v materializer.View) {
	if seq := x.Seq(v.Row.ID); seq != 0 && seq >= v.Row.Seq {
		return
	}
	x.mu.Lock()
	c := x.pendingOf(v.Row.ID)
	if c.view == nil || c.view.Row.Seq < v.Row.Seq {
		x.weight -= c.weight
		p := x.recentOf(v.Row.ID)
		c.view, c.weight = &v, p.weigh(&v)
		x.weight += c.weight
		x.erasing = x.erasing || v.Row.Erased || p.growth != nil && p.growth != v.Growth
	}
	full := x.isFull()
	x.mu.Unlock()
	if full {
		x.flush(x.going)
	}
}

// recentOf returns what was written recently of a session. x.mu is held.
func (x *Index) recentOf(id core.SessionID) progress {
	for _, m := range x.recent {
		if p, ok := m[id]; ok {
			return p
		}
	}
	return progress{}
}

func (x *Index) progressOf(id core.SessionID) progress {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.recentOf(id)
}

// isFull reports whether enough is pending to be written. x.mu is held.
func (x *Index) isFull() bool { return len(x.pending) >= maxPending || x.weight >= maxWeight }

// pendingOf returns the pending change of a session, a new one if there is none.
// x.mu is held.
func (x *Index) pendingOf(id core.SessionID) *change {
	c := x.pending[id]
	if c == nil {
		c = &change{}
		x.pending[id] = c
		x.order = append(x.order, id)
	}
	return c
}

// Forget drops a session's row and text, so that the next Put stores them whatever
// its seq.
func (x *Index) Forget(id core.SessionID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.pendingOf(id)
	x.weight -= c.weight
	c.forget, c.view, c.weight = true, nil, 0
	x.erasing = true
}

// ForgetIf drops the rows and texts of all sessions that match.
func (x *Index) ForgetIf(match func(core.SessionID) bool) {
	for id := range x.allIDs() {
		if match(id) {
			x.Forget(id)
		}
	}
	x.flush(context.Background())
}

// Seq returns the seq of a session's row, 0 if there is none.
func (x *Index) Seq(id core.SessionID) uint64 {
	x.mu.Lock()
	for _, m := range []map[core.SessionID]*change{x.pending, x.inFlight} {
		if c := m[id]; c != nil {
			if seq, known := c.seq(); known {
				x.mu.Unlock()
				return seq
			}
		}
	}
	for _, m := range x.recent {
		if p, ok := m[id]; ok {
			x.mu.Unlock()
			return p.seq
		}
	}
	x.mu.Unlock()
	x.file.RLock()
	defer x.file.RUnlock()
	var seq uint64
	if err := x.db.r.QueryRow(`SELECT seq FROM sessions WHERE id = ?`, string(id)).Scan(&seq); err != nil {
		return 0
	}
	return seq
}

// remember notes what was written of a session. x.mu is held.
func (x *Index) remember(id core.SessionID, p progress) {
	if len(x.recent[0]) >= maxRecent {
		x.recent[0], x.recent[1] = map[core.SessionID]progress{}, x.recent[0]
	}
	delete(x.recent[1], id)
	x.recent[0][id] = p
}

// idPage is how many ids allIDs reads at once.
const idPage = 10_000

// allIDs yields the id of every session.
func (x *Index) allIDs() iter.Seq[core.SessionID] {
	return func(yield func(core.SessionID) bool) {
		x.flush(context.Background())
		after := core.SessionID("")
		for {
			page := x.ids(`SELECT id FROM sessions WHERE id > ? ORDER BY id LIMIT ?`, string(after), idPage)
			for _, id := range page {
				if !yield(id) {
					return
				}
			}
			if len(page) < idPage {
				return
			}
			after = page[len(page)-1]
		}
	}
}

// Behind returns the sessions with records that no snapshot covers.
func (x *Index) Behind() []core.SessionID {
	return x.ids(`SELECT id FROM sessions WHERE snapshot + 1 < seq AND deleted < 2`) // the checkpoint itself is a record
}

// Erased returns the erased sessions.
func (x *Index) Erased() []core.SessionID {
	return x.ids(`SELECT id FROM sessions WHERE deleted = 2`)
}

func (x *Index) ids(query string, args ...any) []core.SessionID {
	x.file.RLock()
	defer x.file.RUnlock()
	rows, err := x.db.r.Query(query, args...)
	if err != nil {
		x.report(err)
		return nil
	}
	defer rows.Close()
	var ids []core.SessionID
	for rows.Next() {
		var id core.SessionID
		if rows.Scan(&id) == nil {
			ids = append(ids, id)
		}
	}
	x.report(rows.Err())
	return ids
}

// Floor returns up to which record of a shard the rows are complete.
func (x *Index) Floor(shard int) materializer.Floor {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.floors[shard]
}

// SetFloor sets a shard's floor: its records up to f were put or skipped. It does
// nothing while the shard is lost.
func (x *Index) SetFloor(shard int, f materializer.Floor) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.lost[shard] {
		x.floors[shard] = f
	}
}

// Lost reports whether what was put of a shard is gone, because the file was corrupt
// and was rebuilt.
func (x *Index) Lost(shard int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lost[shard]
}

// Restart ends the loss of a shard: it is being put again from its first record on.
func (x *Index) Restart(shard int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.lost, shard)
}

// Len returns the number of sessions, without those in the trash.
func (x *Index) Len() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.live
}

// Changed returns a channel that is closed at the next change of a row.
func (x *Index) Changed() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.changed == nil {
		x.changed = make(chan struct{})
	}
	return x.changed
}

// announce wakes the callers that wait for changes. x.mu is held.
func (x *Index) announce() {
	if x.changed != nil {
		close(x.changed)
		x.changed = nil
	}
}

// Sync returns when queries see everything that was put before, or when that cannot be
// stored now. If ctx ends first, writing continues.
func (x *Index) Sync(ctx context.Context) {
	done := make(chan struct{})
	x.syncs.Go(func() {
		defer close(done)
		x.flush(x.going)
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Pending returns how many sessions were put that queries do not see yet.
func (x *Index) Pending() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.pending) + len(x.inFlight)
}

// Run writes what was put until ctx ends, and a last time then, for up to ten seconds. A
// write that does not end by then is rolled back; the next start reads what it has from the
// log. The error is never nil.
func (x *Index) Run(ctx context.Context) error {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if x.isDue() {
				x.flush(ctx)
			}
		case <-ctx.Done():
			x.stop()
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			x.flush(last)
			return ctx.Err()
		}
	}
}

// isDue reports whether Run must write now.
func (x *Index) isDue() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.changed != nil || x.damaged || x.failure != nil || x.erasing || time.Since(x.flushed) >= flushEvery
}

// report schedules a rebuild if err means that the file is corrupt.
func (x *Index) report(err error) {
	if !isCorrupt(err) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.damaged {
		x.damaged = true
		x.cfg.Logger.Warn("the directory is corrupt; rebuilding it from the log", "file", x.cfg.Path, "err", err)
	}
}
