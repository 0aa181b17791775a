package blobstore

import (
	"container/list"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// diskTTL is how long a Disk keeps a blob, used or not. So an erased blob
	// leaves the caches of all nodes within that time.
	diskTTL        = 24 * time.Hour
	expireInterval = time.Hour
	draftPrefix    = ".draft-" // of files being written
)

// A Disk is an LRU cache of blobs in files, bounded by their total size. It is
// safe for concurrent use. A nil Disk is always empty.
//
// It never fails a caller and never returns wrong bytes: every read is checked
// against the digest, and a corrupt, truncated or missing file is a miss. So
// files are not synced, need no repair after a crash, and may be deleted at any
// time.
//
// After a restart the order of use comes from the modification times of the
// files. Entries expire 24 hours after they were added.
type Disk struct {
	dir  string
	size int64

	mu     sync.Mutex
	recent list.List // of *diskEntry, most recently used first
	byRef  map[Ref]*list.Element
	stats  CacheStats
}

// A diskEntry is one file of a Disk.
type diskEntry struct {
	ref   Ref
	size  int64
	added time.Time // to the second; part of the file's name
}

// OpenDisk opens the Disk in dir, creating dir if needed. It takes over the files
// of an earlier Disk, up to size bytes, and ignores all others. Only one Disk may
// use dir at a time.
func OpenDisk(dir string, size int64) (*Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("blob cache: %w", err)
	}
	d := &Disk{dir: dir, size: size, byRef: make(map[Ref]*list.Element), stats: CacheStats{Limit: size}}
	if err := d.load(); err != nil {
		return nil, fmt.Errorf("blob cache: %w", err)
	}
	d.expire()
	return d, nil
}

// load indexes the files in the directory and removes drafts left by a crash.
func (d *Disk) load() error {
	files, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	type found struct {
		diskEntry
		used time.Time
	}
	var all []found
	for _, f := range files {
		if strings.HasPrefix(f.Name(), draftPrefix) {
			_ = os.Remove(filepath.Join(d.dir, f.Name())) // best effort: drafts are never read
			continue
		}
		k, ok := parseDiskEntry(f.Name())
		if !ok {
			continue
		}
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		k.size = info.Size()
		all = append(all, found{k, info.ModTime()})
	}
	slices.SortFunc(all, func(a, b found) int { return b.used.Compare(a.used) })
	for _, f := range all {
		if _, twice := d.byRef[f.ref]; twice {
			d.remove(f.diskEntry)
			continue
		}
		d.byRef[f.ref] = d.recent.PushBack(&f.diskEntry)
		d.stats.Bytes += f.size
	}
	d.shrink()
	return nil
}

// name returns "<64 hex digits>-<time added, in Unix seconds>".
func (k diskEntry) name() string {
	return hex.EncodeToString(k.ref[:]) + "-" + strconv.FormatInt(k.added.Unix(), 10)
}

func parseDiskEntry(name string) (diskEntry, bool) {
	digits, added, _ := strings.Cut(name, "-")
	ref, ok := parseDigits(digits)
	seconds, err := strconv.ParseInt(added, 10, 64)
	k := diskEntry{ref: ref, added: time.Unix(seconds, 0)}
	return k, ok && err == nil && k.name() == name
}

func (d *Disk) path(k diskEntry) string { return filepath.Join(d.dir, k.name()) }

// Get returns the verified bytes of the blob, or false. The caller owns the slice.
func (d *Disk) Get(ref Ref) ([]byte, bool) {
	if d == nil {
		return nil, false
	}
	k, ok := d.lookup(ref)
	if !ok {
		return nil, false
	}
	p, err := os.ReadFile(d.path(k))
	if err != nil || RefOf(p) != ref {
		d.discardUnusable(k, err == nil)
		return nil, false
	}
	touch(d.path(k))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.Hits++
	return p, true
}

// lookup returns the entry of ref and marks it as used.
func (d *Disk) lookup(ref Ref) (diskEntry, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e, ok := d.byRef[ref]
	if !ok {
		d.stats.Misses++
		return diskEntry{}, false
	}
	k := *e.Value.(*diskEntry)
	if time.Since(k.added) > diskTTL {
		d.stats.Misses++
		d.drop(e)
		return diskEntry{}, false
	}
	d.recent.MoveToFront(e)
	return k, true
}

// discardUnusable counts an unreadable or corrupt file as a miss and drops it,
// unless it was replaced in the meantime.
func (d *Disk) discardUnusable(k diskEntry, damaged bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.Misses++
	if damaged {
		d.stats.Damaged++
	}
	if e, ok := d.byRef[k.ref]; ok && *e.Value.(*diskEntry) == k {
		d.drop(e)
	}
}

// Add caches p, whose digest is ref, unless it is larger than a quarter of the
// cache or cannot be written. It does not retain or modify p.
func (d *Disk) Add(ref Ref, p []byte) {
	if d == nil || int64(len(p)) > d.size/maxShare || d.has(ref) {
		return
	}
	k := diskEntry{ref: ref, size: int64(len(p)), added: time.Unix(time.Now().Unix(), 0)}
	draft, err := d.draft(p)
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.stats.Failed++
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.byRef[ref]; ok { // added concurrently
		_ = os.Remove(draft)
		return
	}
	if err := os.Rename(draft, d.path(k)); err != nil {
		d.stats.Failed++
		_ = os.Remove(draft)
		return
	}
	d.byRef[ref] = d.recent.PushFront(&k)
	d.stats.Bytes += k.size
	d.shrink()
}

func (d *Disk) has(ref Ref) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.byRef[ref]
	return ok
}

// draft writes p to a temporary file.
func (d *Disk) draft(p []byte) (path string, err error) {
	f, err := os.CreateTemp(d.dir, draftPrefix)
	if err != nil {
		return "", err
	}
	_, err = f.Write(p)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
	}
	touch(f.Name())
	return f.Name(), err
}

// touch records that a file was used. If it fails, the file is evicted early.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}

// Drop removes the blob, because it was deleted from the Bucket.
func (d *Disk) Drop(ref Ref) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e, ok := d.byRef[ref]; ok {
		d.drop(e)
	}
}

// shrink evicts the least recently used entries until the rest fits.
func (d *Disk) shrink() {
	for d.stats.Bytes > d.size && d.recent.Len() > 0 {
		d.drop(d.recent.Back())
	}
}

// expire drops entries older than diskTTL. It also drops those from the future:
// the clock was set back, so their age is unknown.
func (d *Disk) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for e := d.recent.Front(); e != nil; {
		next := e.Next()
		if added := e.Value.(*diskEntry).added; now.Sub(added) > diskTTL || added.After(now) {
			d.drop(e)
		}
		e = next
	}
}

func (d *Disk) drop(e *list.Element) {
	k := d.recent.Remove(e).(*diskEntry)
	delete(d.byRef, k.ref)
	d.stats.Bytes -= k.size
	d.remove(*k)
}

// remove deletes a file. If that fails, the next OpenDisk finds it again.
func (d *Disk) remove(k diskEntry) { _ = os.Remove(d.path(k)) }

// Run drops expired entries until ctx ends, and returns ctx.Err().
func (d *Disk) Run(ctx context.Context) error {
	tick := time.NewTicker(expireInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.expire()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Stats returns the statistics of the Disk since it was opened.
func (d *Disk) Stats() CacheStats {
	if d == nil {
		return CacheStats{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stats
	s.Objects = int64(len(d.byRef))
	return s
}
