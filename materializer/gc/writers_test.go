package gc_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer/gc"
)

var (
	long = flag.Bool("long", false, "write and lose ten times as much")
	seed = flag.Uint64("seed", 0, "of what is drawn; 0: one by chance, which is printed")
)

// shortGrace is about as long as some appends take, so that they must store their
// blobs again.
const shortGrace = 300 * time.Millisecond

// answered are the blobs that acknowledged appends reference. None may ever be
// missing.
type answered struct {
	mu  sync.Mutex
	all []blobstore.Ref
}

func (a *answered) add(ref blobstore.Ref) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, ref)
}

func (a *answered) len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.all)
}

func (a *answered) some(n int) []blobstore.Ref {
	a.mu.Lock()
	defer a.mu.Unlock()
	var refs []blobstore.Ref
	for range min(n, len(a.all)) {
		refs = append(refs, a.all[rand.IntN(len(a.all))])
	}
	return refs
}

// Writers append, amend, and lose and restore sessions while blobs are collected
// with a tiny grace. No blob that an acknowledged write references is missing at
// any moment, and garbage is deleted.
func TestReferencedBlobsAreNeverMissing(t *testing.T) {
	t.Parallel()
	from := *seed
	if from == 0 {
		from = rand.Uint64()
	}
	t.Logf("-seed %d", from)
	writes, losses := 25, 4
	if *long {
		writes, losses = 10*writes, 10*losses
	}
	r := newRigOn(t, memblob.New(), shortGrace)
	var acked answered
	var moved, putBack, deleted atomic.Int64
	var writers, work sync.WaitGroup
	written := make(chan struct{})
	// Until everything is written, and garbage was moved and deleted.
	running := func() bool {
		select {
		case <-written:
			return !t.Failed() && (moved.Load() < 10 || deleted.Load() < 10)
		default:
			return !t.Failed()
		}
	}
	for n := range 3 {
		draw := rand.New(rand.NewPCG(from, uint64(n)))
		writers.Go(func() {
			for i := 0; i < writes && running(); i++ {
				r.write(t, draw, &acked, fmt.Sprintf("w%d-%d", n, i))
			}
		})
	}
	writers.Go(func() { r.loseAndPutBack(t, losses) })
	work.Go(func() { // garbage, until a session references it
		draw := rand.New(rand.NewPCG(from, 1000))
		for running() {
			r.put(t, pool(draw))
			time.Sleep(2 * time.Millisecond)
		}
	})
	work.Go(func() {
		for running() {
			for _, ref := range acked.some(20) {
				if !r.has(t, ref) {
					t.Errorf("blob %s is missing, but an acknowledged append references it", ref)
				}
			}
		}
	})
	for range 2 { // concurrently
		work.Go(func() {
			c := r.collectorOn(r.bucket)
			for running() {
				rep, err := c.Run(t.Context(), gc.Request{Apply: true})
				// A lost session stops the run: it is not found, or its records do
				// not arrive.
				if errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrUnavailable) {
					continue
				}
				if err != nil {
					t.Errorf("sweep: %v", err)
					return
				}
				moved.Add(rep.Moved.Blobs)
				putBack.Add(rep.PutBack.Blobs)
				deleted.Add(rep.Deleted.Blobs)
			}
		})
	}
	writers.Wait()
	close(written)
	work.Wait()
	t.Logf("%d named, %d moved, %d put back, %d deleted", acked.len(), moved.Load(), putBack.Load(), deleted.Load())
	r.ahead = time.Hour
	for range 3 {
		r.apply(t)
	}
	for _, ref := range acked.all {
		if !r.inPlace(t, ref) {
			t.Errorf("blob %s is not in its place in the end", ref)
		}
	}
}

// pool returns one of so many images that most have been garbage for a while when
// they are referenced.
func pool(draw *rand.Rand) []byte { return fmt.Appendf(nil, "%01000d", draw.IntN(300)) }

// write is one write of a writer: an append to a session that many write to, a
// new session, an import, an amend.
func (r *rig) write(t *testing.T, draw *rand.Rand, acked *answered, name string) {
	image := pool(draw)
	line := imageLine(name, image)
	switch draw.IntN(3) {
	case 0:
		r.imported(t, r.inShard(0, "new-"+name), line)
	case 1:
		s := r.imported(t, r.inShard(0, "amended-"+name), textLine(name, "text"))
		var a engine.Amend
		a.Lines([][]byte{[]byte(line)})
		if _, err := s.Amend(t.Context(), a); err != nil {
			t.Errorf("amend: %v", err)
			return
		}
	case 2:
		id := r.inShard(0, fmt.Sprintf("shared-%d", draw.IntN(3)))
		r.imported(t, id, textLine("root", "text"))
		s, err := r.sessions.Open(t.Context(), core.SessionIDFor("pi", id))
		if err != nil {
			t.Errorf("open: %v", err)
			return
		}
		if _, err := s.Append(t.Context(), engine.Append{Lines: [][]byte{[]byte(line)}}); err != nil {
			t.Errorf("append: %v", err)
			return
		}
	}
	acked.add(blobstore.RefOf(image))
	time.Sleep(time.Duration(draw.IntN(int(20 * time.Millisecond))))
}

// inShard returns an id in that shard, with name as its prefix.
func (r *rig) inShard(shard int, name string) string {
	for n := 0; ; n++ {
		id := fmt.Sprintf("%s-%d", name, n)
		if r.log.Shard(core.SessionIDFor("pi", id)) == shard {
			return id
		}
	}
}

// loseAndPutBack deletes all messages of a shard, and restores the last session in
// it. Its image is checked only while it is referenced.
func (r *rig) loseAndPutBack(t *testing.T, losses int) {
	for i := range losses {
		name := fmt.Sprintf("lost-%d", i)
		image := fmt.Appendf(nil, "%s %01000d", name, i)
		s := r.imported(t, r.inShard(1, name), imageLine(name, image))
		time.Sleep(shortGrace)
		st, err := r.log.State(t.Context(), 1)
		if err == nil {
			err = r.log.Drop(t.Context(), 1, st.Last)
		}
		if err != nil {
			t.Errorf("lose: %v", err)
			return
		}
		time.Sleep(shortGrace / 3)
		if err := s.Refresh(t.Context()); err != nil {
			t.Errorf("put back: %v", err)
			return
		}
		if ref := blobstore.RefOf(image); !r.has(t, ref) {
			t.Errorf("blob %s of a record that was put back is missing", ref)
		}
	}
}
