package materializer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// Row is one session in a listing.
type Row struct {
	ID       core.SessionID `json:"id"`
	AgentID  string         `json:"agentId,omitempty"` // the agent's own id, where it is another
	Dialect  string         `json:"dialect"`
	CWD      string         `json:"cwd"`
	Entries  int            `json:"entries"`
	Seq      uint64         `json:"seq"` // records
	Holder   *core.Claim    `json:"holder,omitempty"`
	Closed   bool           `json:"closed,omitempty"`
	Deleted  bool           `json:"deleted,omitempty"` // in the trash, or erased
	Erased   bool           `json:"erased,omitempty"`
	Snapshot uint64         `json:"snapshot,omitempty"` // seq of the latest checkpoint's snapshot
	Kept     uint64         `json:"kept,omitempty"`     // seq in that snapshot's name: lower where the lines are those of an earlier one
	Aside    int            `json:"aside,omitempty"`    // entries that have no place in the conversation
	Lineage  lineage.Stamp  `json:"lineage,omitzero"`   // how the session came to be
	core.Summary
}

// rowOf makes the row of a state.
func rowOf(st *core.State) Row {
	r := Row{
		ID:       st.ID,
		Dialect:  st.Dialect.Name(),
		CWD:      st.Header.CWD,
		Entries:  len(st.Entries),
		Seq:      st.Seq,
		Closed:   st.Closed != nil,
		Deleted:  st.Deleted != nil || st.Erased != nil,
		Erased:   st.Erased != nil,
		Snapshot: st.Checkpointed,
		Kept:     SnapshotSeq(st.Snapshot.Object),
		Lineage:  lineage.Of(st),
		Summary:  st.Dialect.Summary(st.Header, st.Entries),
	}
	if string(st.ID) != st.Header.ID {
		r.AgentID = clip(st.Header.ID)
	}
	for i := range st.Entries {
		if st.Entries[i].Aside {
			r.Aside++
		}
	}
	r.CWD, r.Name, r.First, r.Tags = clip(r.CWD), clip(r.Name), clip(r.First), clipTags(r.Tags)
	if h := st.Heads[core.MainHead]; h != nil {
		r.Holder = h.Claim
	}
	return r
}

// maxText is how many bytes of what an agent wrote go into a row.
const maxText = 1 << 10

// clip cuts s to maxText bytes, between characters.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// maxTags is how many tags go into a row.
const maxTags = 64

// clipTags returns the first of tags, each cut to maxText bytes.
func clipTags(tags []string) []string {
	var out []string
	for _, tag := range tags[:min(len(tags), maxTags)] {
		out = append(out, clip(tag))
	}
	return out
}

// Keys of the directory's bucket.
const (
	rowPrefix   = "s."
	floorPrefix = "f."
)

// rowFormat numbers what is in a row. Where the bucket holds a row of another
// format, all rows are made anew from the log.
const rowFormat = 3

// A stored is a row as the bucket keeps it.
type stored struct {
	Format int `json:"format"`
	Row
}

// flushEvery is how long a row or a floor may be in memory alone. What a crash
// loses of them is made again from the log.
const flushEvery = time.Second

// A Directory is a table of one row per session, held in memory and kept in a
// KV bucket so that a start need not read every session. Rows are replaced only
// by rows of a higher seq. Its methods may be called from several goroutines.
type Directory struct {
	kv      jetstream.KeyValue
	logger  *slog.Logger
	failing bool // the last flush did; Run alone looks at it

	mu     sync.RWMutex
	rows   map[core.SessionID]Row
	dirty  map[core.SessionID]bool
	floors map[int]Floor // of each shard
	saved  map[int]Floor
}

// A Floor is a place in a shard: every record up to there is in the rows.
type Floor struct {
	Pos core.Pos `json:"pos"`
	// Chain is that of the record at Pos. A log that has another there lost what
	// it had. It is zero where Pos is no record's.
	Chain core.Chain `json:"chain,omitzero"`
}

// OpenDirectory reads the directory of a log, making its bucket where it is
// absent. While the bucket has no leader, as after a node died, it tries again
// until ctx ends.
func OpenDirectory(ctx context.Context, js jetstream.JetStream, log string, replicas int, logger *slog.Logger) (*Directory, error) {
	for {
		d := &Directory{
			logger: logger,
			rows:   map[core.SessionID]Row{},
			dirty:  map[core.SessionID]bool{},
			floors: map[int]Floor{},
			saved:  map[int]Floor{},
		}
		err := d.open(ctx, js, log, replicas)
		if err == nil {
			return d, nil
		}
		logger.Debug("directory not open yet", "err", err)
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", err, core.ErrUnavailable)
		}
	}
}

// openTry is how long one try to open may take.
const openTry = 10 * time.Second

func (d *Directory) open(ctx context.Context, js jetstream.JetStream, log string, replicas int) error {
	ctx, cancel := context.WithTimeout(ctx, openTry)
	defer cancel()
	cfg := jetstream.KeyValueConfig{
		Bucket:      "SESSDIR_" + log,
		Description: "one row per sesslog session; can be deleted, it is rebuilt from the log",
		Storage:     jetstream.FileStorage,
		Replicas:    max(replicas, 1),
	}
	kv, err := js.KeyValue(ctx, cfg.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = js.CreateOrUpdateKeyValue(ctx, cfg)
	}
	if err != nil {
		return fmt.Errorf("directory bucket %s: %w", cfg.Bucket, err)
	}
	d.kv = kv
	return d.read(ctx)
}

// read takes in what the bucket holds.
func (d *Directory) read(ctx context.Context) error {
	w, err := d.kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return fmt.Errorf("read the directory: %w", err)
	}
	defer func() { _ = w.Stop() }() // it ends with the connection anyway
	outdated := false
	for {
		select {
		case e := <-w.Updates():
			if e == nil { // all there was
				if outdated {
					d.forget()
				}
				return nil
			}
			outdated = !d.take(e.Key(), e.Value()) || outdated
		case <-ctx.Done():
			return fmt.Errorf("read the directory: %w", ctx.Err())
		}
	}
}

// forget drops what the bucket held, so that every row is made again.
func (d *Directory) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.rows)
	clear(d.floors)
	clear(d.saved)
}

// take takes in one key of the bucket, and reports false for a row of another
// format. What cannot be read is passed over: it will be made again.
func (d *Directory) take(key string, value []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if strings.HasPrefix(key, rowPrefix) {
		var r stored
		if json.Unmarshal(value, &r) == nil && string(r.ID) == key[len(rowPrefix):] {
			d.rows[r.ID] = r.Row
			return r.Format == rowFormat
		}
		return true
	}
	var shard int
	var f Floor
	if _, err := fmt.Sscanf(key, floorPrefix+"%d", &shard); err == nil && json.Unmarshal(value, &f) == nil {
		d.floors[shard], d.saved[shard] = f, f
	}
	return true
}

// Put replaces a session's row, unless the one that is there is newer.
func (d *Directory) Put(r Row) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old, ok := d.rows[r.ID]; ok && old.Seq >= r.Seq {
		return
	}
	d.rows[r.ID] = r
	d.dirty[r.ID] = true
}

// Seq is the seq of a session's row, 0 where it has none.
func (d *Directory) Seq(id core.SessionID) uint64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.rows[id].Seq
}

// seqs returns the seq of each session's row.
func (d *Directory) seqs() map[core.SessionID]uint64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	seqs := make(map[core.SessionID]uint64, len(d.rows))
	for id, r := range d.rows {
		seqs[id] = r.Seq
	}
	return seqs
}

// behind returns the sessions with records that no snapshot covers.
func (d *Directory) behind() []core.SessionID {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var ids []core.SessionID
	for id, r := range d.rows {
		if r.Snapshot+1 < r.Seq { // the checkpoint itself is a record
			ids = append(ids, id)
		}
	}
	return ids
}

// Floor is up to where a shard's records are in the rows.
func (d *Directory) Floor(shard int) Floor {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.floors[shard]
}

func (d *Directory) setFloor(shard int, f Floor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.floors[shard] = f
}

// forgetIf drops the rows of the sessions that which names, so that they are
// made again from whatever the log has. The bucket drops those that are not.
func (d *Directory) forgetIf(which func(core.SessionID) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range d.rows {
		if which(id) {
			delete(d.rows, id)
			d.dirty[id] = true
		}
	}
}

// A Filter narrows a listing.
type Filter struct {
	Prefix  string // of the id, or of the agent's own id
	CWD     string // the directory that the agent works in, as it wrote it
	Dialect string
	Text    string // in the name or in the first message; case does not count
	Deleted bool   // the trash, and only that
	After   string // the last id of the page before
	Limit   int    // rows at most
}

// List returns rows, the latest modified first, and the id to pass as After for
// more, empty at the end.
func (d *Directory) List(f Filter) (rows []Row, next string) {
	f.CWD, f.Text = clip(f.CWD), strings.ToLower(f.Text)
	d.mu.RLock()
	all := make([]Row, 0, len(d.rows))
	for _, r := range d.rows {
		if f.takes(&r) {
			all = append(all, r)
		}
	}
	d.mu.RUnlock()
	slices.SortFunc(all, func(a, b Row) int {
		if c := strings.Compare(cmp.Or(b.Modified, b.Created), cmp.Or(a.Modified, a.Created)); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	if f.After != "" {
		i := slices.IndexFunc(all, func(r Row) bool { return string(r.ID) == f.After })
		all = all[i+1:]
	}
	if f.Limit > 0 && len(all) > f.Limit {
		all = all[:f.Limit]
		next = string(all[f.Limit-1].ID)
	}
	return all, next
}

// takes reports whether r is among what f asks for. f.Text is in lower case.
func (f *Filter) takes(r *Row) bool {
	switch {
	case r.Deleted != f.Deleted,
		f.CWD != "" && r.CWD != f.CWD,
		f.Dialect != "" && r.Dialect != f.Dialect:
		return false
	case !strings.HasPrefix(string(r.ID), f.Prefix) && (r.AgentID == "" || !strings.HasPrefix(r.AgentID, f.Prefix)):
		return false
	}
	return f.Text == "" || strings.Contains(strings.ToLower(r.Name), f.Text) || strings.Contains(strings.ToLower(r.First), f.Text)
}

// Len is how many sessions there are, the trash left out.
func (d *Directory) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	n := 0
	for _, r := range d.rows {
		if !r.Deleted {
			n++
		}
	}
	return n
}

// Run keeps the bucket in step until ctx ends, and once more then.
func (d *Directory) Run(ctx context.Context) error {
	t := time.NewTicker(flushEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			d.flush(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			d.flush(last)
			return ctx.Err()
		}
	}
}

// flush writes what changed. Floors go last: they speak for the rows.
func (d *Directory) flush(ctx context.Context) {
	rows, floors := d.changed()
	for id, r := range rows {
		if err := d.save(ctx, id, r); err != nil {
			if !d.failing {
				d.logger.Warn("directory not saved; trying again every second", "bucket", d.kv.Bucket(), "err", err)
			}
			d.failing = true
			d.mark(rows)
			return
		}
	}
	if d.failing && len(rows) > 0 {
		d.failing = false
		d.logger.Info("directory saved again", "bucket", d.kv.Bucket())
	}
	for shard, f := range floors {
		b, _ := json.Marshal(f)
		if _, err := d.kv.Put(ctx, fmt.Sprintf("%s%d", floorPrefix, shard), b); err != nil {
			return // the next flush writes a later one
		}
		d.mu.Lock()
		d.saved[shard] = f
		d.mu.Unlock()
	}
}

// save writes one row, or drops it where r is nil.
func (d *Directory) save(ctx context.Context, id core.SessionID, r *Row) error {
	if r == nil {
		return d.kv.Delete(ctx, rowPrefix+string(id))
	}
	b, err := json.Marshal(stored{rowFormat, *r})
	if err == nil {
		_, err = d.kv.Put(ctx, rowPrefix+string(id), b)
	}
	return err
}

// changed takes the rows and floors that are to be written. A row that was
// forgotten is nil.
func (d *Directory) changed() (map[core.SessionID]*Row, map[int]Floor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rows := make(map[core.SessionID]*Row, len(d.dirty))
	for id := range d.dirty {
		rows[id] = nil
		if r, ok := d.rows[id]; ok {
			rows[id] = &r
		}
	}
	clear(d.dirty)
	floors := maps.Clone(d.floors)
	maps.DeleteFunc(floors, func(shard int, f Floor) bool { return d.saved[shard] == f })
	return rows, floors
}

func (d *Directory) mark(rows map[core.SessionID]*Row) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range rows {
		d.dirty[id] = true
	}
}
