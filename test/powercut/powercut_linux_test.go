package powercut_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

var (
	cuts = flag.Int("cuts", 3, "number of power cuts")
	seed = flag.Uint64("seed", 0, "of the random choices; 0: by chance")
	mode = flag.String("sync", "auto", "the node's nats.sync")
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// Large lines fill a block of 4 MiB in a few seconds, and the log is truncated often, so
// cuts also happen while blocks are added, replaced and removed.
func TestPowerCutLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed %d -cuts %d", *seed, *cuts)
	r := rand.New(rand.NewPCG(*seed, 1))
	w := newWorld(t)
	for i := range *cuts {
		keep := []float64{0, 0.1, 0.5, 0.9, 1}[r.IntN(5)]
		w.write(t, r, 20+r.IntN(200))
		w.cut(t, r, keep)
		w.check(t)
		if t.Failed() {
			t.Fatalf("after cut %d, of which %v of the rest survived; again with -seed %d", i+1, keep, *seed)
		}
	}
	t.Logf("%d cuts, %d lines acknowledged in %d sessions, %d tokens; %d flushes and %d writes of files; lost 0",
		*cuts, len(w.acked), len(w.sessions), len(w.tokens), w.flushes, w.writes)
}

// A world is a node on a disk, and what it has acknowledged.
type world struct {
	node    *harness.Node
	disk    *disk
	unmount func()

	mu       sync.Mutex
	acked    map[string]line // by entry id
	sessions []string
	tokens   []string

	writers         sync.WaitGroup
	flushes, writes int
	next            int
}

// A line is an acknowledged entry.
type line struct {
	session, words string
	stored         []byte // as it was exported after an earlier cut
}

func newWorld(t *testing.T) *world {
	w := &world{acked: map[string]line{}, disk: newDisk()}
	w.node = harness.NewNode(t, "--nats-sync="+*mode, "--log-max-bytes=256MiB", "--log-garbage=2MiB", "--snapshots-min-tail=64KiB", "--snapshots-idle=500ms")
	w.disk.lag = 2 * time.Millisecond
	if err := os.MkdirAll(w.node.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	w.unmount = mount(t, w.disk, w.node.Data)
	t.Cleanup(func() {
		w.node.Kill()
		w.writers.Wait()
		w.unmount()
	})
	w.node.Start(t)
	return w
}

// write appends in several sessions at the same time until n lines are acknowledged.
// The writers stop at their first error.
func (w *world) write(t *testing.T, r *rand.Rand, n int) {
	t.Helper()
	c := w.node.Client()
	made, err := c.Create(harness.Timeout(t), api.Create{CWD: "/home/tester"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := c.CreateToken(harness.Timeout(t), api.TokenRequest{Name: fmt.Sprintf("token %d", len(w.tokens)), Scope: "read"})
	if err != nil {
		t.Fatal(err)
	}
	w.sessions, w.tokens = append(w.sessions, string(made.ID)), append(w.tokens, token.ID)
	want := len(w.acked) + n
	for i := range 8 {
		id, first, seed := w.sessions[max(0, len(w.sessions)-1-i/2)], w.next, r.Uint64()
		w.next += 1 << 16
		w.writers.Go(func() { w.writer(t, id, first, seed) })
	}
	harness.Await(t, fmt.Sprintf("%d acknowledged lines", n), func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.acked) < want {
			return fmt.Errorf("%d are missing", want-len(w.acked))
		}
		return nil
	})
}

// writer appends until the node is killed.
func (w *world) writer(t *testing.T, session string, first int, seed uint64) {
	c, r := w.node.Client(), rand.New(rand.NewPCG(seed, 2))
	for n := first; ; n++ {
		id, words := fmt.Sprintf("%08x", n), randomWords(r)
		text := fmt.Sprintf(`{"id":%q,%s`, id, harness.Message("user", words)[1:])
		_, err := c.Append(harness.Timeout(t), session, []byte(text), client.AppendOptions{})
		if err != nil {
			if !errors.Is(err, core.ErrUncertain) && !errors.Is(err, core.ErrUnavailable) {
				t.Errorf("append: %v", err)
			}
			return
		}
		w.mu.Lock()
		w.acked[id] = line{session: session, words: words}
		w.mu.Unlock()
	}
}

// randomWords returns text that does not compress: usually short, sometimes 100 KiB.
func randomWords(r *rand.Rand) string {
	b := make([]byte, 30+r.IntN(1500))
	if r.IntN(6) == 0 {
		b = make([]byte, 30<<10+r.IntN(120<<10))
	}
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return base64.StdEncoding.EncodeToString(b)
}

// cut cuts the power and starts the node again.
func (w *world) cut(t *testing.T, r *rand.Rand, keep float64) {
	t.Helper()
	after := w.disk.cut(r, keep)
	w.node.Kill()
	w.writers.Wait()
	w.unmount()
	w.flushes += w.disk.flushes
	w.writes += w.disk.writes
	w.disk = after
	w.unmount = mount(t, w.disk, w.node.Data)
	w.node.Start(t)
}

// check fails the test if an acknowledged line, session or token is missing.
func (w *world) check(t *testing.T) {
	t.Helper()
	c := w.node.Client()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range w.sessions {
		stored := w.export(t, c, id)
		for entry, l := range w.acked {
			if l.session != id {
				continue
			}
			have, there := stored[entry]
			switch {
			case !there:
				t.Errorf("session %s lost line %s, which was acknowledged", id, entry)
			case !bytes.Contains(have, []byte(l.words)):
				t.Errorf("line %s has other words", entry)
			case l.stored != nil && !bytes.Equal(l.stored, have):
				t.Errorf("line %s was %s and is now %s", entry, l.stored, have)
			}
			l.stored = have
			w.acked[entry] = l
		}
	}
	have, err := c.Tokens(harness.Timeout(t))
	if err != nil {
		t.Fatal(err)
	}
	ids := fmt.Sprint(have)
	for _, id := range w.tokens {
		if !strings.Contains(ids, id) {
			t.Errorf("token %s is lost", id)
		}
	}
}

// export returns the lines of a session by entry id. Each must be there once.
func (w *world) export(t *testing.T, c *client.Client, id string) map[string][]byte {
	t.Helper()
	body, err := c.Export(harness.Timeout(t), id, false)
	if err != nil {
		t.Errorf("session %s: %v", id, err)
		return nil
	}
	defer body.Close()
	all, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string][]byte{}
	for text := range bytes.Lines(all) {
		var e struct{ ID string }
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatalf("session %s has the line %q: %v", id, text, err)
		}
		if lines[e.ID] != nil {
			t.Errorf("session %s has line %s twice", id, e.ID)
		}
		lines[e.ID] = bytes.Clone(text)
	}
	return lines
}
