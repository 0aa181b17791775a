package fsblob

import (
	"errors"
	"io/fs"
	"path"
	"syscall"
)

// maxDurable bounds the directories that a Bucket remembers as durable. Forgetting
// one costs a sync.
const maxDurable = 4096

// makeDir creates dir and its parents, and syncs each into its parent. It also
// syncs a directory that exists, because the process that created it may not have
// done so yet. Directories are never removed, so each needs this once.
func (b *Bucket) makeDir(dir string) error {
	if dir == "." || b.isDurable(dir) {
		return nil
	}
	parent := path.Dir(dir)
	if err := b.makeDir(parent); err != nil {
		return err
	}
	if err := b.root.Mkdir(dir, dirMode); errors.Is(err, fs.ErrExist) {
		info, err := b.root.Stat(dir)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return syscall.ENOTDIR
		}
	} else if err != nil {
		return err
	}
	if err := b.syncDir(parent); err != nil {
		return err
	}
	b.setDurable(dir)
	return nil
}

// syncDir syncs the entries of dir, not the files.
func (b *Bucket) syncDir(dir string) error {
	f, err := b.root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return b.sync(f)
}

func (b *Bucket) isDurable(dir string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.durable[dir]
	return ok
}

func (b *Bucket) setDurable(dir string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.durable == nil || len(b.durable) >= maxDurable {
		b.durable = make(map[string]struct{})
	}
	b.durable[dir] = struct{}{}
}

func (b *Bucket) forgetDirs() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.durable = nil
}
