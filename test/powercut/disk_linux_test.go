package powercut_test

import (
	"maps"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

// A disk is a tree of files in memory that knows what was flushed.
type disk struct {
	mu    sync.Mutex
	dead  bool // the power was cut
	nodes map[uint64]*inode
	last  uint64
	// lag is how long a flush takes at most. It covers only what was written before it
	// began.
	lag time.Duration

	flushes, writes int
}

// An inode is a file or a directory, as it is now and as it was flushed.
type inode struct {
	id      uint64
	mode    uint32
	mtime   time.Time
	data    []byte
	durable []byte
	pending []write // of data, since the last flush

	entries map[string]*inode // nil for a file
	flushed map[string]*inode
	changes []map[string]*inode // of entries, since the last flush; nil is a removal
}

// A write changes a file. With nil data it truncates the file.
type write struct {
	at   int64
	data []byte
}

func (w write) apply(to []byte) []byte {
	if w.data == nil {
		return resize(to, w.at)
	}
	if end := w.at + int64(len(w.data)); end > int64(len(to)) {
		to = resize(to, end)
	}
	copy(to[w.at:], w.data)
	return to
}

func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

func newDisk() *disk {
	d := &disk{nodes: map[uint64]*inode{}}
	d.add(syscall.S_IFDIR | 0o755)
	return d
}

// add makes an inode without a name. The first one is the root.
func (d *disk) add(mode uint32) *inode {
	d.last++
	n := &inode{id: d.last, mode: mode, mtime: time.Now()}
	if mode&syscall.S_IFMT == syscall.S_IFDIR {
		n.entries, n.flushed = map[string]*inode{}, map[string]*inode{}
	}
	d.nodes[n.id] = n
	return n
}

// change sets names in a directory, at once; nil removes one.
func (n *inode) change(names map[string]*inode) {
	for name, child := range names {
		if child == nil {
			delete(n.entries, name)
		} else {
			n.entries[name] = child
		}
	}
	n.changes = append(n.changes, names)
	n.mtime = time.Now()
}

func (n *inode) write(w write) {
	n.data = w.apply(n.data)
	n.pending = append(n.pending, w)
	n.mtime = time.Now()
}

// flush makes what n has now durable. It takes a moment, in which more is written.
func (d *disk) flush(n *inode) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return syscall.EIO
	}
	writes, changes := len(n.pending), len(n.changes)
	if d.lag > 0 {
		wait := rand.N(d.lag)
		d.mu.Unlock()
		time.Sleep(wait)
		d.mu.Lock()
	}
	if d.dead {
		return syscall.EIO
	}
	d.flushes++
	// Another flush may have ended meanwhile and covered a part.
	n.settle(min(writes, len(n.pending)), min(changes, len(n.changes)))
	return 0
}

// settle makes the first pending writes and changes durable.
func (n *inode) settle(writes, changes int) {
	for _, w := range n.pending[:writes] {
		n.durable = w.apply(n.durable)
	}
	n.pending = n.pending[writes:]
	for _, c := range n.changes[:changes] {
		set(n.flushed, c)
	}
	n.changes = n.changes[changes:]
}

func set(entries, names map[string]*inode) {
	for name, child := range names {
		if child == nil {
			delete(entries, name)
		} else {
			entries[name] = child
		}
	}
}

// cut cuts the power: from now on every request fails. It returns the disk as it is
// when the power is back. keep is the chance that something that was not flushed
// survives.
func (d *disk) cut(r *rand.Rand, keep float64) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
	after := &disk{nodes: map[uint64]*inode{}, last: d.last, lag: d.lag}
	after.revive(d.nodes[1], r, keep)
	return after
}

// revive copies what survives of n and of what is below it.
func (d *disk) revive(n *inode, r *rand.Rand, keep float64) *inode {
	if have := d.nodes[n.id]; have != nil {
		return have // it has two names
	}
	c := &inode{id: n.id, mode: n.mode, mtime: n.mtime}
	d.nodes[c.id] = c
	if n.entries == nil {
		c.data = append([]byte(nil), n.durable...)
		for _, w := range n.pending {
			if r.Float64() < keep {
				c.data = w.apply(c.data)
			}
		}
		c.durable = append([]byte(nil), c.data...)
		return c
	}
	names := maps.Clone(n.flushed)
	for _, change := range n.changes {
		if r.Float64() < keep {
			set(names, change)
		}
	}
	c.entries = map[string]*inode{}
	for name, child := range names {
		c.entries[name] = d.revive(child, r, keep)
	}
	c.flushed = maps.Clone(c.entries)
	return c
}
