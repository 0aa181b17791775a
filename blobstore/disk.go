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
	// diskKeeps is how long a Disk keeps what it was given, used or not. What
	// is erased from a store leaves the disks of all nodes within that time.
	diskKeeps = 24 * time.Hour
	diskLooks = time.Hour // between two looks for what is that old
	diskDraft = ".draft-" // begins the name of a file that is being written
)

// A Disk is a cache in files of its own: bytes under their digest, bounded by
// the bytes they have together. Its methods may be called from several
// goroutines. A nil Disk keeps nothing.
//
// It never fails a caller and never hands out wrong bytes: every read is checked
// against the digest, and a file that is damaged, cut short by a crash or taken
// away is a miss. So nothing in it is flushed, nothing needs repair after a
// crash, and all of it can be deleted at any time.
//
// What was not used for longest goes first; after a restart that order is as
// exact as the times of the files. A day after it was added bytes go anyway.
type Disk struct {
	dir  string
	size int64

	mu     sync.Mutex
	recent list.List // of *kept, the last used first
	byRef  map[Ref]*list.Element
	figs   CacheFigures
}

// kept is one file of a Disk.
type kept struct {
	ref   Ref
	size  int64
	added time.Time // to the second; part of the file's name
}

// OpenDisk returns the Disk in dir, which is made if need be, with what an
// earlier one left there, but for what is above size bytes by now. Other files in
// dir are left alone. A dir belongs to one Disk at a time.
func OpenDisk(dir string, size int64) (*Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("blob cache: %w", err)
	}
	d := &Disk{dir: dir, size: size, byRef: make(map[Ref]*list.Element), figs: CacheFigures{Limit: size}}
	if err := d.find(); err != nil {
		return nil, fmt.Errorf("blob cache: %w", err)
	}
	d.expire()
	return d, nil
}

// find takes over what is in the directory, and removes drafts of a process
// that died.
func (d *Disk) find() error {
	files, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	type found struct {
		kept
		used time.Time
	}
	var all []found
	for _, f := range files {
		if strings.HasPrefix(f.Name(), diskDraft) {
			_ = os.Remove(filepath.Join(d.dir, f.Name())) // whoever cannot be removed is not ours
			continue
		}
		k, ok := parseKept(f.Name())
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
			d.remove(f.kept)
			continue
		}
		d.byRef[f.ref] = d.recent.PushBack(&f.kept)
		d.figs.Bytes += f.size
	}
	d.shrink()
	return nil
}

// name is "<64 hex digits>-<when it was added, in Unix seconds>".
func (k kept) name() string {
	return hex.EncodeToString(k.ref[:]) + "-" + strconv.FormatInt(k.added.Unix(), 10)
}

func parseKept(name string) (kept, bool) {
	digits, added, _ := strings.Cut(name, "-")
	ref, ok := parseDigits(digits)
	seconds, err := strconv.ParseInt(added, 10, 64)
	k := kept{ref: ref, added: time.Unix(seconds, 0)}
	return k, ok && err == nil && k.name() == name
}

func (d *Disk) path(k kept) string { return filepath.Join(d.dir, k.name()) }

// Get returns the bytes that ref names, or false. The slice is the caller's.
func (d *Disk) Get(ref Ref) ([]byte, bool) {
	if d == nil {
		return nil, false
	}
	k, ok := d.look(ref)
	if !ok {
		return nil, false
	}
	p, err := os.ReadFile(d.path(k))
	if err != nil || RefOf(p) != ref {
		d.spoiled(k, err == nil)
		return nil, false
	}
	touch(d.path(k))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.figs.Hits++
	return p, true
}

// look finds ref, and makes it the last used.
func (d *Disk) look(ref Ref) (kept, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e, ok := d.byRef[ref]
	if !ok {
		d.figs.Misses++
		return kept{}, false
	}
	k := *e.Value.(*kept)
	if time.Since(k.added) > diskKeeps {
		d.figs.Misses++
		d.drop(e)
		return kept{}, false
	}
	d.recent.MoveToFront(e)
	return k, true
}

// spoiled counts a file that could not be used, and lets go of it, unless
// another took its place meanwhile.
func (d *Disk) spoiled(k kept, damaged bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.figs.Misses++
	if damaged {
		d.figs.Damaged++
	}
	if e, ok := d.byRef[k.ref]; ok && *e.Value.(*kept) == k {
		d.drop(e)
	}
}

// Add keeps p, whose digest is ref, unless it is too large a part of the whole
// or cannot be written. It does not keep or change the slice.
func (d *Disk) Add(ref Ref, p []byte) {
	if d == nil || int64(len(p)) > d.size/cacheShare || d.has(ref) {
		return
	}
	k := kept{ref: ref, size: int64(len(p)), added: time.Unix(time.Now().Unix(), 0)}
	draft, err := d.draft(p)
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.figs.Failed++
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.byRef[ref]; ok { // another was faster
		_ = os.Remove(draft)
		return
	}
	if err := os.Rename(draft, d.path(k)); err != nil {
		d.figs.Failed++
		_ = os.Remove(draft)
		return
	}
	d.byRef[ref] = d.recent.PushFront(&k)
	d.figs.Bytes += k.size
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

// draft writes p to a file that is none of the cache's yet.
func (d *Disk) draft(p []byte) (path string, err error) {
	f, err := os.CreateTemp(d.dir, diskDraft)
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

// touch notes that a file was used. Where it cannot, the file goes earlier than
// it had to.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}

// Drop lets go of what ref names: it was deleted, and must not be read again.
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

// shrink lets go of what was not used for longest, until the rest fits.
func (d *Disk) shrink() {
	for d.figs.Bytes > d.size && d.recent.Len() > 0 {
		d.drop(d.recent.Back())
	}
}

// expire lets go of what was added a day ago, or in the future: the clock was
// set, and its age cannot be told.
func (d *Disk) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for e := d.recent.Front(); e != nil; {
		next := e.Next()
		if added := e.Value.(*kept).added; now.Sub(added) > diskKeeps || added.After(now) {
			d.drop(e)
		}
		e = next
	}
}

func (d *Disk) drop(e *list.Element) {
	k := d.recent.Remove(e).(*kept)
	delete(d.byRef, k.ref)
	d.figs.Bytes -= k.size
	d.remove(*k)
}

// remove deletes a file. One that stays is found by the next OpenDisk.
func (d *Disk) remove(k kept) { _ = os.Remove(d.path(k)) }

// Run lets go of what has become old, until ctx ends. Its error is ctx's.
func (d *Disk) Run(ctx context.Context) error {
	tick := time.NewTicker(diskLooks)
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

// Figures returns how the Disk fared since it was opened; none for a nil one.
func (d *Disk) Figures() CacheFigures {
	if d == nil {
		return CacheFigures{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.figs
	f.Objects = int64(len(d.byRef))
	return f
}
