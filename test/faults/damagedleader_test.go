package faults_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// One of three copies is damaged all over, such that the server cuts its blocks down to
// nothing, and all members restart. The Raft log of the damaged copy is as long as the
// others', so it leads some shards. No session is ever missing or short, and none is
// created a second time: the leader steps down, and its copy is repaired from the others.
func TestDamagedCopyThatLeadsLosesNothing(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("with -long: it restarts a cluster twice")
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	nodes := harness.StartCluster(t, 3, harness.StartBucket(t), "--log-shards", "4")
	c := nodes[0].Client()
	want := map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		id := newSession(t, c)
		r := rand.New(rand.NewPCG(r.Uint64(), 2))
		all.Go(func() {
			for i := range times(10) {
				say(t, c, id, fmt.Sprintf("line-%d-%s", i, noise(r, 2000)), client.AppendOptions{})
			}
			got := string(mustExport(t, c, id))
			mu.Lock()
			defer mu.Unlock()
			want[id] = got
		})
	}
	all.Wait()
	// The Raft logs begin with snapshots now, so the blocks are all that a copy has.
	for _, n := range nodes {
		n.Signal(t)
	}
	for _, n := range nodes {
		n.Wait(t)
	}
	harness.StartAll(t, nodes)
	nodes[1].Kill()
	blocks, err := filepath.Glob(filepath.Join(nodes[1].Data, "nats", "jetstream", "$G", "streams", "SESS_main_*", "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatalf("no blocks: %v", err)
	}
	for _, path := range blocks {
		b := testkit.ReadFile(t, path)
		for at := 0; at < len(b); at += 4096 {
			b[at+r.IntN(min(4096, len(b)-at))] ^= 1 << r.IntN(8)
		}
		testkit.WriteFile(t, path, b)
		if err := os.Remove(filepath.Join(filepath.Dir(path), "index.db")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	for _, n := range []*harness.Node{nodes[0], nodes[2]} {
		n.Terminate(t)
	}
	harness.StartAll(t, nodes)
	for id := range want { // nor does another session take its place
		if _, err := nodes[1].Client().Create(harness.Timeout(t), api.Create{ID: id, CWD: "/w"}); err == nil || errors.Is(err, core.ErrCorrupt) {
			t.Errorf("session %s is created again: %v", id, err)
		}
	}
	for _, n := range nodes {
		for id, whole := range want {
			harness.Await(t, "session "+id+" is served by "+n.Arg("--node"), func() error {
				got, err := export(t, n.Client(), id)
				if errors.Is(err, core.ErrNotFound) || err == nil && string(got) != whole {
					t.Errorf("%s: session %s: %v, %d of %d bytes", n.Arg("--node"), id, err, len(got), len(whole))
					return nil
				}
				return err
			})
		}
	}
	for id := range want {
		say(t, nodes[1].Client(), id, "after the restart", client.AppendOptions{})
	}
	for _, n := range nodes {
		t.Logf("%s: %s", n.Arg("--node"), strings.Join(n.Complaints(), "\n"))
	}
}

// noise returns n bytes of text that do not compress well.
func noise(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + 2 + r.IntN(56)) // no quote, no backslash
	}
	return string(b)
}
