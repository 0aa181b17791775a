package powercut_test

import (
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// A mounted disk answers the kernel's requests.
type mounted struct {
	fuse.RawFileSystem
	*disk
}

// mount mounts d on dir until the returned function is called.
func mount(t testing.TB, d *disk, dir string) (unmount func()) {
	t.Helper()
	s, err := fuse.NewServer(&mounted{fuse.NewDefaultRawFileSystem(), d}, dir, &fuse.MountOptions{
		DirectMountStrict: true, DisableReadDirPlus: true, FsName: "powercut", Name: "powercut", MaxWrite: 1 << 20,
	})
	if err != nil {
		t.Skipf("no FUSE file system can be mounted here: %v", err)
	}
	go s.Serve()
	if err := s.WaitMount(); err != nil {
		t.Fatal(err)
	}
	return func() {
		for range 100 {
			if err = s.Unmount(); err == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("unmount: %v", err)
	}
}

// with calls f with an inode while the disk is locked.
func (m *mounted) with(id uint64, f func(n *inode) syscall.Errno) fuse.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nodes[id]
	switch {
	case m.dead:
		return fuse.EIO
	case n == nil:
		return fuse.Status(syscall.ESTALE)
	}
	return fuse.Status(f(n))
}

func (n *inode) attr(a *fuse.Attr) {
	a.Ino, a.Mode, a.Nlink, a.Blksize = n.id, n.mode, 1, 4096
	a.Size = uint64(len(n.data))
	a.Blocks = (a.Size + 511) / 512
	a.SetTimes(&n.mtime, &n.mtime, &n.mtime)
}

func (n *inode) entry(out *fuse.EntryOut) {
	out.NodeId, out.Generation = n.id, 1
	n.attr(&out.Attr)
}

func (m *mounted) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	return m.with(h.NodeId, func(dir *inode) syscall.Errno {
		n := dir.entries[name]
		if n == nil {
			return syscall.ENOENT
		}
		n.entry(out)
		return 0
	})
}

func (m *mounted) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return m.with(in.NodeId, func(n *inode) syscall.Errno {
		n.attr(&out.Attr)
		return 0
	})
}

func (m *mounted) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	return m.with(in.NodeId, func(n *inode) syscall.Errno {
		if size, ok := in.GetSize(); ok {
			n.write(write{at: int64(size)})
		}
		if mode, ok := in.GetMode(); ok {
			n.mode = n.mode&syscall.S_IFMT | mode&^syscall.S_IFMT
		}
		if at, ok := in.GetMTime(); ok {
			n.mtime = at
		}
		n.attr(&out.Attr)
		return 0
	})
}

func (m *mounted) make(in *fuse.InHeader, name string, mode uint32, out *fuse.EntryOut) fuse.Status {
	return m.with(in.NodeId, func(dir *inode) syscall.Errno {
		if dir.entries[name] != nil {
			return syscall.EEXIST
		}
		n := m.add(mode)
		dir.change(map[string]*inode{name: n})
		n.entry(out)
		return 0
	})
}

func (m *mounted) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return m.make(&in.InHeader, name, syscall.S_IFDIR|in.Mode&0o7777, out)
}

func (m *mounted) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	return m.make(&in.InHeader, name, syscall.S_IFREG|in.Mode&0o7777, &out.EntryOut)
}

func (m *mounted) remove(h *fuse.InHeader, name string) fuse.Status {
	return m.with(h.NodeId, func(dir *inode) syscall.Errno {
		n := dir.entries[name]
		switch {
		case n == nil:
			return syscall.ENOENT
		case len(n.entries) > 0:
			return syscall.ENOTEMPTY
		}
		dir.change(map[string]*inode{name: nil})
		return 0
	})
}

func (m *mounted) Unlink(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return m.remove(h, name)
}

func (m *mounted) Rmdir(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return m.remove(h, name)
}

func (m *mounted) Rename(_ <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	return m.with(in.NodeId, func(dir *inode) syscall.Errno {
		n, target := dir.entries[from], m.nodes[in.Newdir]
		switch {
		case in.Flags != 0:
			return syscall.EINVAL
		case n == nil || target == nil:
			return syscall.ENOENT
		case target.entries[to] != nil && len(target.entries[to].entries) > 0:
			return syscall.ENOTEMPTY
		case target.entries[to] == n:
			return 0
		case target == dir:
			dir.change(map[string]*inode{from: nil, to: n})
		default:
			target.change(map[string]*inode{to: n})
			dir.change(map[string]*inode{from: nil})
		}
		return 0
	})
}

func (m *mounted) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	return m.with(in.NodeId, func(dir *inode) syscall.Errno {
		n := m.nodes[in.Oldnodeid]
		switch {
		case n == nil:
			return syscall.ENOENT
		case dir.entries[name] != nil:
			return syscall.EEXIST
		}
		dir.change(map[string]*inode{name: n})
		n.entry(out)
		return 0
	})
}

func (m *mounted) Open(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	return m.with(in.NodeId, func(n *inode) syscall.Errno {
		if in.Flags&syscall.O_TRUNC != 0 {
			n.write(write{})
		}
		return 0
	})
}

func (m *mounted) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	size := 0
	status := m.with(in.NodeId, func(n *inode) syscall.Errno {
		if in.Offset < uint64(len(n.data)) {
			size = copy(buf, n.data[in.Offset:])
		}
		return 0
	})
	return fuse.ReadResultData(buf[:size]), status
}

func (m *mounted) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	status := m.with(in.NodeId, func(n *inode) syscall.Errno {
		m.writes++
		n.write(write{int64(in.Offset), slices.Clone(data)})
		if in.Flags&syscall.O_SYNC != 0 {
			n.settle(len(n.pending), 0)
		}
		return 0
	})
	if status != fuse.OK {
		return 0, status
	}
	return uint32(len(data)), fuse.OK
}

func (m *mounted) fsync(id uint64) fuse.Status {
	m.mu.Lock()
	n := m.nodes[id]
	m.mu.Unlock()
	if n == nil {
		return fuse.EIO
	}
	return fuse.Status(m.flush(n))
}

func (m *mounted) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status { return m.fsync(in.NodeId) }

func (m *mounted) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return m.fsync(in.NodeId)
}

func (m *mounted) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

func (m *mounted) Access(<-chan struct{}, *fuse.AccessIn) fuse.Status { return fuse.OK }

func (m *mounted) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	return m.with(in.NodeId, func(*inode) syscall.Errno { return 0 })
}

func (m *mounted) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return m.with(in.NodeId, func(dir *inode) syscall.Errno {
		names := slices.Sorted(maps.Keys(dir.entries))
		for i := int(in.Offset); i < len(names); i++ {
			n := dir.entries[names[i]]
			if !out.AddDirEntry(fuse.DirEntry{Name: names[i], Mode: n.mode, Ino: n.id, Off: uint64(i + 1)}) {
				break
			}
		}
		return 0
	})
}

func (m *mounted) ReadDirPlus(<-chan struct{}, *fuse.ReadIn, *fuse.DirEntryList) fuse.Status {
	return fuse.ENOSYS
}

func (m *mounted) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Bsize, out.Frsize, out.NameLen = 4096, 4096, 255
	out.Blocks, out.Bfree, out.Bavail = 4<<20, 4<<20, 4<<20
	out.Files, out.Ffree = 1<<20, 1<<20
	return fuse.OK
}
