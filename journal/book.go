package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/sesslog/sesslog/core"
)

// slack is how many bytes of a file may be of no use before it is written anew.
const slack = 64 << 10

// A book is the file of one session, and what is in it. Whoever holds the turn
// changes it; mu guards what status reads meanwhile.
type book struct {
	j    *Journal
	id   core.SessionID
	path string
	turn chan struct{}

	mu     sync.Mutex
	f      *os.File // nil while there is no file
	size   int64
	live   int64 // bytes of items
	next   uint64
	items  []*item
	broken error // the file cannot be used
	stuck  error // why the first that waits cannot land

	dialect string
	heads   map[string]seen
	own     map[string]string // the head that what is for another goes to
	handed  map[string]moved  // not in the file
}

// An item is something kept for the log.
type item struct {
	note
	size   int64
	stored bool
	again  bool // the log had it once
}

// seen is where a head stood, by what was last heard of it.
type seen struct {
	at   core.Cursor
	leaf core.Leaf
}

// moved is where a head was when writers were last told, and where what they
// wrote since has brought it.
type moved struct{ from, to core.Cursor }

func newBook(j *Journal, id core.SessionID) *book {
	return &book{
		j: j, id: id, path: filepath.Join(j.dir, string(id)+suffix), turn: make(chan struct{}, 1), next: 1,
		heads: map[string]seen{}, own: map[string]string{}, handed: map[string]moved{},
	}
}

// open reads the file and cuts off what was not written whole.
func (b *book) open() error {
	data, err := os.ReadFile(b.path)
	if absent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	end, err := scan(data, func(payload []byte, size int) error {
		n, err := decode(payload)
		if err == nil {
			b.take(n, int64(size))
		}
		return err
	})
	if err != nil {
		b.broken = fmt.Errorf("journal file %s is damaged %w; nothing of it is sent and nothing added: keep the file, and move it away to go on", b.path, err)
		return nil
	}
	if end < len(magic) {
		return nil // its making was cut off: the first that is kept makes it
	}
	if b.f, err = os.OpenFile(b.path, os.O_RDWR, 0o600); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	b.size = int64(end)
	if end == len(data) {
		return nil
	}
	if err := errors.Join(b.f.Truncate(b.size), b.f.Sync()); err != nil {
		return fmt.Errorf("journal: cut the unfinished end of %s: %w", b.path, err)
	}
	return nil
}

// create makes the file. One that was made in part is made anew the next time.
func (b *book) create() error {
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(magic), 0)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = syncDir(b.j.dir)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	b.f, b.size = f, int64(len(magic))
	return nil
}

// take makes n part of what is known.
func (b *book) take(n note, size int64) {
	if n.Dialect != "" {
		b.dialect = n.Dialect
	}
	switch n.Op {
	case opStored:
		if it := b.item(n.N); it != nil {
			if !it.stored {
				b.j.stored.Add(it.size)
			}
			it.stored, it.At = true, n.At
		}
		b.stand(n)
	case opSeen:
		b.stand(n)
	case opRefused:
		b.drop(func(it *item) bool { return it.N == n.N })
	case opOwn:
		if n.Own == "" {
			delete(b.own, n.Head)
		} else {
			b.own[n.Head] = n.Own
		}
	default:
		b.items = append(b.items, &item{note: n, size: size})
		b.live += size
	}
	b.next = max(b.next, n.N+1)
}

func (b *book) stand(n note) {
	if n.Head != "" && n.At != (core.Cursor{}) {
		b.heads[n.Head] = seen{n.At, n.To}
	}
}

func (b *book) item(n uint64) *item {
	for _, it := range b.items {
		if it.N == n {
			return it
		}
	}
	return nil
}

// drop forgets items.
func (b *book) drop(which func(*item) bool) {
	kept := b.items[:0:0]
	for _, it := range b.items {
		if which(it) {
			b.live -= it.size
			if it.stored {
				b.j.stored.Add(-it.size)
			}
			continue
		}
		kept = append(kept, it)
	}
	b.items = kept
}

// lock waits for the turn. An error when ctx ends before. A turn that is free is
// taken whatever has become of ctx: that the log's time is over is no reason not
// to keep what was given.
func (b *book) lock(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
		return b.usable()
	default:
	}
	select {
	case b.turn <- struct{}{}:
		return b.usable()
	case <-ctx.Done():
		return fmt.Errorf("journal of session %s: %w: %w", b.id, ctx.Err(), core.ErrUnavailable)
	}
}

// usable gives the turn back where the file cannot be used.
func (b *book) usable() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		<-b.turn
	}
	return b.broken
}

func (b *book) unlock() { <-b.turn }

// waiting returns the items that the log does not have, in order.
func (b *book) waiting() []*item {
	var out []*item
	for _, it := range b.items {
		if !it.stored {
			out = append(out, it)
		}
	}
	return out
}

// keep makes n durable and returns it as an item that waits. On error nothing
// is kept.
func (b *book) keep(n note) (*item, error) {
	n.N = b.next
	payload, err := n.encode()
	if err != nil {
		return nil, err
	}
	size := int64(headSize + len(payload))
	if len(payload) > maxRecord {
		return nil, fmt.Errorf("%d bytes are more than a journal keeps in one: %w", len(payload), core.ErrTooLarge)
	}
	if err := b.j.reserve(size); err != nil {
		return nil, err
	}
	if err := b.write(n, payload, true); err != nil {
		b.j.free(size)
		return nil, err
	}
	return b.items[len(b.items)-1], nil
}

// write appends n to the file. With sync it is durable when write returns nil.
func (b *book) write(n note, payload []byte, sync bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		return b.broken
	}
	frame := appendFrame(nil, payload)
	if err := b.put(frame, sync); err != nil {
		return err
	}
	b.size += int64(len(frame))
	b.take(n, int64(len(frame)))
	return nil
}

// put writes a frame behind the others. Where that fails the file is cut back;
// where that fails, too, it is used no more.
func (b *book) put(frame []byte, sync bool) error {
	if b.f == nil {
		if err := b.create(); err != nil {
			return fmt.Errorf("journal: make %s: %w", b.path, full(err))
		}
	}
	_, err := b.f.WriteAt(frame, b.size)
	if err == nil && sync {
		err = b.f.Sync()
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("journal: write to %s: %w", b.path, full(err))
	if e := errors.Join(b.f.Truncate(b.size), b.f.Sync()); e != nil {
		b.broken = fmt.Errorf("%w, and it cannot be cut back (%w): whether the last entry is in it is not known: %w", err, e, core.ErrUncertain)
		return b.broken
	}
	return err
}

// full has an error say that there was no room, where that is so.
func full(err error) error {
	for _, no := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, no) {
			return fmt.Errorf("%w: %w", err, core.ErrFull)
		}
	}
	return err
}

// mark notes what became of items. A mark that is lost in a crash costs work
// alone, but for one that is to be durable.
func (b *book) mark(n note, durable bool) error {
	var freed int64
	if it := b.item(n.N); it != nil && !it.stored {
		freed = it.size
	}
	payload, err := n.encode()
	if err != nil {
		return err
	}
	if err := b.write(n, payload, durable); err != nil {
		return err
	}
	b.j.free(freed)
	b.tidy()
	return nil
}

// noteStored is mark for what the log has. Where that cannot be written it is
// known until the end of this process, and what it is about is looked for in the
// log once more after that.
func (b *book) noteStored(n note) error {
	err := b.mark(n, false)
	it := b.item(n.N)
	if err == nil || it == nil || it.stored {
		return err
	}
	b.mu.Lock()
	b.take(n, 0)
	b.mu.Unlock()
	b.j.free(it.size)
	return err
}

// lost makes an item that was stored wait again.
func (b *book) lost(it *item) {
	b.mu.Lock()
	it.stored, it.again = false, true
	b.mu.Unlock()
	b.j.stored.Add(-it.size)
	b.j.mu.Lock()
	b.j.waiting += it.size
	b.j.mu.Unlock()
}

// covered forgets what was stored up to seq, and what need not be remembered.
func (b *book) covered(seq uint64) {
	b.mu.Lock()
	b.drop(func(it *item) bool { return it.stored && it.At.Seq <= seq })
	b.mu.Unlock()
	b.tidy()
}

// tidy forgets the oldest of what was stored where that is too much, and writes
// the file anew where most of it is of no use. Where that cannot be, for want of
// room, say, the file as it is stays as good as it was.
func (b *book) tidy() {
	b.mu.Lock()
	defer b.mu.Unlock()
	over := -b.j.max / 8
	for _, it := range b.items {
		if it.stored {
			over += it.size
		}
	}
	over = max(over, b.j.stored.Load()-b.j.max)
	b.drop(func(it *item) bool {
		if !it.stored || over <= 0 && it.Op == OpAppend {
			return false
		}
		over -= it.size
		return true
	})
	if b.f != nil && b.size-b.live >= max(slack, b.live) {
		_ = b.compact()
	}
}

// compact writes the file anew. A crash leaves the old one or the new one.
func (b *book) compact() error {
	data := []byte(magic)
	add := func(n note) error {
		payload, err := n.encode()
		data = appendFrame(data, payload)
		return err
	}
	for _, it := range b.items {
		n := it.note
		n.At = core.Cursor{}
		if err := add(n); err != nil {
			return err
		}
		if it.stored {
			if err := add(note{Op: opStored, N: it.N, At: it.At}); err != nil {
				return err
			}
		}
	}
	for head, s := range b.heads {
		if err := add(note{Op: opSeen, N: b.next - 1, Head: head, At: s.at, To: s.leaf, Dialect: b.dialect}); err != nil {
			return err
		}
	}
	for head, own := range b.own {
		if err := add(note{Op: opOwn, Head: head, Own: own}); err != nil {
			return err
		}
	}
	if err := replace(b.path, data, true); err != nil {
		return fmt.Errorf("journal: write %s anew: %w", b.path, err)
	}
	f, err := os.OpenFile(b.path, os.O_RDWR, 0o600)
	if err != nil {
		b.broken = fmt.Errorf("journal: %w", err)
		return b.broken
	}
	_ = b.f.Close() // the file it was is no more
	b.f, b.size = f, int64(len(data))
	return nil
}

func (b *book) status() Waiting {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := Waiting{Session: b.id, Err: errors.Join(b.broken, b.stuck)}
	for _, it := range b.items {
		if it.stored {
			w.Stored++
			continue
		}
		if w.Entries == 0 {
			w.Since = it.Time
		}
		w.Entries++
		w.Lines += len(it.lines)
		w.Bytes += it.size
	}
	return w
}

func (b *book) setStuck(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stuck = err
}

func (b *book) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = fmt.Errorf("journal %s is closed: %w", b.j.dir, core.ErrUnavailable)
	if b.f == nil {
		return nil
	}
	return b.f.Close()
}
