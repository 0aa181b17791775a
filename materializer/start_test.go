package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

// A countingDirectory counts the records that a materializer reads, by session: it
// asks for the session's row first.
type countingDirectory struct {
	materializer.Directory
	mu   sync.Mutex
	read map[core.SessionID]int
}

func (d *countingDirectory) Seq(id core.SessionID) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read[id]++
	return d.Directory.Seq(id)
}

// start starts a node with an empty memory and waits until it has read the log. It
// returns how many records of each session it read, and how many sessions it loaded.
func (r *rig) start(t *testing.T) (read map[core.SessionID]int, loaded int64) {
	t.Helper()
	r.cache = materializer.NewCache(r.sessions, 1<<20)
	counting := &countingDirectory{read: map[core.SessionID]int{}}
	r.wrap = func(d materializer.Directory) materializer.Directory {
		counting.Directory = d
		return counting
	}
	m, d, stop := r.runAs(t, manual)
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := d.Len(); n != 5 {
		t.Errorf("it lists %d sessions", n)
	}
	_, loaded = r.cache.Reads()
	stop()
	return counting.read, loaded
}

// A node that has rows continues from its floors. A node without rows reads the
// headers of all records and loads each session once.
func TestStartReadsOnlyNewRecordsAndEachSessionOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var all []*engine.Session
	for i := range 5 {
		all = append(all, r.create(t, fmt.Sprintf("session-%d", i)))
		for range 6 {
			add(t, all[i], 100)
		}
	}
	read, loaded := r.start(t)
	if len(read) != 5 || read["session-0"] != 7 || loaded != 5 {
		t.Errorf("without rows it read %v, and loaded %d sessions", read, loaded)
	}
	if read, loaded := r.start(t); len(read) != 0 || loaded != 0 {
		t.Errorf("with rows it read %v, and loaded %d sessions", read, loaded)
	}
	add(t, all[3], 100)
	if read, loaded := r.start(t); len(read) != 1 || read["session-3"] != 1 || loaded != 1 {
		t.Errorf("one record later it read %v, and loaded %d sessions", read, loaded)
	}
	r.file = filepath.Join(t.TempDir(), "index.db") // the rows are lost
	if read, loaded := r.start(t); len(read) != 5 || loaded != 5 {
		t.Errorf("without rows again it read %v, and loaded %d sessions", read, loaded)
	}
}

// OMP-44: an append does not wait for the directory.
func TestAppendsDoNotWaitForDirectory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.create(t, "session-a")
	blocked := make(chan struct{})
	r.wrap = func(d materializer.Directory) materializer.Directory { return &blockedDirectory{d, blocked} }
	m, d, _ := r.runAs(t, manual)
	for range 100 {
		add(t, s, 100)
	}
	if seq := d.Seq(s.ID()); seq != 0 {
		t.Errorf("the directory was not blocked: it has seq %d", seq)
	}
	close(blocked)
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seq := d.Seq(s.ID()); seq != 101 {
		t.Errorf("the row has seq %d, want 101", seq)
	}
}

// A blockedDirectory takes no session until the channel is closed.
type blockedDirectory struct {
	materializer.Directory
	blocked chan struct{}
}

func (d *blockedDirectory) Put(v materializer.View) {
	<-d.blocked
	d.Directory.Put(v)
}

// CatchUp does not say that queries see a record while the directory still writes it.
func TestCatchUpReportsUnfinishedWrite(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "session-in-a-slow-directory")
	ctx, cancel := context.WithCancel(t.Context())
	r.wrap = func(d materializer.Directory) materializer.Directory { return &slowDirectory{d, ctx, cancel} }
	m, _, _ := r.runAs(t, manual)
	if err := m.CatchUp(ctx); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("the write was not waited for, and CatchUp returns %v", err)
	}
}

// A slowDirectory writes for longer than the caller with that context waits.
type slowDirectory struct {
	materializer.Directory
	caller context.Context
	cancel func()
}

func (d *slowDirectory) Sync(ctx context.Context) {
	if ctx == d.caller {
		d.cancel()
	}
}
