package materializer_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
)

// told are the records that a materializer took in.
type told struct {
	mu   sync.Mutex
	seqs map[core.SessionID][]uint64
}

func (o *told) take(ch stream.Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ch.Kind != "" { // a record, and no row
		o.seqs[ch.Session] = append(o.seqs[ch.Session], ch.Seq)
	}
}

// start has a node with an empty memory take in what the log has. It returns what
// it was told of, and how many sessions it loaded.
func (r *rig) start(t *testing.T) (o *told, loaded int64) {
	t.Helper()
	r.cache = materializer.NewCache(r.sessions, 1<<20)
	o = &told{seqs: map[core.SessionID][]uint64{}}
	cfg := manual
	cfg.Changed = o.take
	m, d, stop := r.runAs(t, cfg)
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := d.Len(); n != 5 {
		t.Errorf("it lists %d sessions", n)
	}
	_, loaded = r.cache.Reads()
	stop()
	return o, loaded
}

// A node that has rows goes on from where they are true. One that has none reads the
// headers of all records and loads each session once, however many records it has.
func TestAStartReadsNothingThatIsInTheRowsAndEachSessionOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var all []*stream.Session
	for i := range 5 {
		all = append(all, r.create(t, fmt.Sprintf("session-%d", i)))
		for range 6 {
			add(t, all[i], 100)
		}
	}
	o, loaded := r.start(t)
	if len(o.seqs) != 5 || len(o.seqs["session-0"]) != 7 || loaded != 5 {
		t.Errorf("without rows it was told of %v, and loaded %d sessions", o.seqs, loaded)
	}
	if o, loaded := r.start(t); len(o.seqs) != 0 || loaded != 0 {
		t.Errorf("with rows it was told of %v, and loaded %d sessions", o.seqs, loaded)
	}
	add(t, all[3], 100)
	if o, loaded := r.start(t); len(o.seqs) != 1 || len(o.seqs["session-3"]) != 1 || loaded != 1 {
		t.Errorf("one record later it was told of %v, and loaded %d sessions", o.seqs, loaded)
	}
	r.file = filepath.Join(t.TempDir(), "index.db") // they are lost
	if o, loaded := r.start(t); len(o.seqs) != 5 || loaded != 5 {
		t.Errorf("without rows again it was told of %v, and loaded %d sessions", o.seqs, loaded)
	}
}
