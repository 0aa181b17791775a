package materializer

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/snapshot"
	"github.com/sesslog/sesslog/stream"
)

var seed = flag.Uint64("seed", 1, "of random tests; they print it")

// A growth simulates a session that is appended to, and what the policy writes of
// it.
type growth struct {
	t   *testing.T
	rng *rand.Rand
	st  *core.State
	p   Policy
	pos core.Pos
	put int64 // bytes put into object storage
	n   int   // snapshots among them
}

func newGrowth(t *testing.T, rng *rand.Rand) *growth {
	g := &growth{t: t, rng: rng, p: Policy{}.withDefaults(), st: core.NewState("main", "session-one", dialect.All())}
	d := dialect.All()["pi"]
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: "session-one", Time: "2026-01-02T03:04:05.000Z", CWD: "/w"}))
	if err != nil {
		t.Fatal(err)
	}
	body, err := core.OpenBody(core.Origin{Dialect: "pi"}, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	g.apply(&core.Record{Kind: core.KindOpen, Head: core.MainHead, Body: body})
	return g
}

func (g *growth) apply(r *core.Record) {
	g.pos++
	r.Seq, r.Pos, r.Writer = g.st.Seq+1, g.pos, "w"
	r.Chain = g.st.Chain.Next(r)
	if err := g.st.Apply(r); err != nil {
		g.t.Fatal(err)
	}
}

// grow appends one incompressible line of size bytes, and applies the policy as if
// the session had been idle for that long.
func (g *growth) grow(size int, idle time.Duration) {
	noise := make([]byte, size*3/4)
	for i := range noise {
		noise[i] = byte(g.rng.Uint32())
	}
	id, parent := fmt.Sprintf("e%d", len(g.st.Entries)), "null"
	if n := len(g.st.Entries); n > 0 {
		parent = fmt.Sprintf(`"e%d"`, n-1)
	}
	line := fmt.Appendf(nil, `{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":%q}}`,
		id, parent, base64.StdEncoding.EncodeToString(noise))
	g.apply(&core.Record{Kind: core.KindAppend, Head: core.MainHead, Base: 1, Count: 1, Body: line})
	if len(line) > stream.SpillSize {
		g.put += int64(len(line)) // its body is a blob
	}
	g.look(idle)
}

// claim claims the head and releases it.
func (g *growth) claim(idle time.Duration) {
	body, _ := json.Marshal(core.Claim{Agent: "somebody", Host: "somewhere"})
	g.apply(&core.Record{Kind: core.KindClaim, Head: core.MainHead, Epoch: g.st.Epoch + 1, Body: body})
	g.apply(&core.Record{Kind: core.KindRelease, Head: core.MainHead, Epoch: g.st.Epoch})
	g.look(idle)
}

// look writes a snapshot if one is due, as the materializer does.
func (g *growth) look(idle time.Duration) {
	if !g.p.due(g.st, idle) {
		return
	}
	plain := g.st.Render()
	m := g.st.Manifest(plain, SnapshotKey("main", "session-one", g.st.Seq, core.DigestOf(plain)))
	if !m.Reuse(g.st) {
		packed, err := snapshot.Pack(plain)
		if err != nil {
			g.t.Fatal(err)
		}
		g.put += int64(len(packed))
		g.n++
	}
	body, err := json.Marshal(m)
	if err != nil {
		g.t.Fatal(err)
	}
	g.apply(&core.Record{Kind: core.KindCheckpoint, Head: core.MainHead, Base: g.st.Pos, Epoch: g.st.Epoch, Body: body})
}

func TestPolicyWritesAtMostSixTimesSessionSize(t *testing.T) {
	t.Parallel()
	const idle = time.Hour
	patterns := map[string]func(*growth){
		"small lines at work": func(g *growth) {
			for range 2000 {
				g.grow(1000, 0)
			}
		},
		"left alone after every line": func(g *growth) {
			for range 1000 {
				g.grow(1000, idle)
			}
		},
		"large, then left alone after small lines": func(g *growth) {
			g.grow(2<<20, idle)
			for range 1000 {
				g.grow(100, idle)
			}
		},
		"lines that become bodies of their own": func(g *growth) {
			for range 12 {
				g.grow(600<<10, idle)
			}
		},
		"claimed and given up for ever": func(g *growth) {
			g.grow(1<<20, idle)
			for range 300 {
				g.claim(idle)
			}
		},
		"claimed for each line": func(g *growth) {
			for range 2000 {
				g.claim(0)
				g.grow(300, idle)
			}
		},
		"closed after each line": func(g *growth) {
			for range 500 {
				g.grow(2000, 0)
				g.apply(&core.Record{Kind: core.KindClose, Body: []byte(`{"time":"2026-01-02T03:04:05Z"}`)})
				g.look(0)
			}
		},
		"doubling": func(g *growth) {
			for size := 100; size < 2<<20; size *= 2 {
				g.grow(size, idle)
			}
		},
	}
	for i := range uint64(8) {
		patterns[fmt.Sprintf("random, seed %d", *seed+i)] = func(g *growth) {
			rng := rand.New(rand.NewPCG(*seed+i, 2))
			for range 200 + rng.IntN(600) {
				pause := time.Duration(rng.IntN(2)) * idle
				switch rng.IntN(8) {
				case 0:
					g.claim(pause)
				case 1:
					g.grow(1+rng.IntN(20<<10), pause)
				default:
					g.grow(1+rng.IntN(1000), pause)
				}
			}
		}
	}
	for name, grow := range patterns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGrowth(t, rand.New(rand.NewPCG(*seed, 1)))
			grow(g)
			size := g.st.Size()
			ratio := float64(g.put) / float64(size)
			t.Logf("%d bytes, %d snapshots, %d written: %.2f times", size, g.n, g.put, ratio)
			if ratio > 6 {
				t.Errorf("%d bytes were written for a session of %d: %.2f times", g.put, size, ratio)
			}
			if size != int64(len(g.st.Render())) {
				t.Errorf("its size is said to be %d", size)
			}
		})
	}
}

// A session whose entries are replaced does not grow: what is written then is
// proportional to what is appended.
func TestReplacedEntriesGetSnapshot(t *testing.T) {
	t.Parallel()
	g := newGrowth(t, rand.New(rand.NewPCG(*seed, 1)))
	g.grow(400<<10, time.Hour)
	most := int64(0)
	appended := g.st.Bytes
	for range 60 {
		line := g.st.Entries[0].Line
		g.apply(&core.Record{Kind: core.KindAmend, Head: core.MainHead, Count: 1, Body: line})
		appended += int64(len(line))
		g.look(time.Hour)
		most = max(most, g.st.Tail)
	}
	if most > 2*g.st.Size() || g.put > 3*appended {
		t.Errorf("a tail of %d bytes for a session of %d; %d written for %d appended", most, g.st.Size(), g.put, appended)
	}
}
