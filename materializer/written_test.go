package materializer_test

import (
	"encoding/base64"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

// mostTimes limits what a session that only grows may cost in object storage, in
// multiples of its final size: snapshots, and bodies of their own.
const mostTimes = 6

// A pattern is a way to append to a session, record by record.
type pattern func(rng *rand.Rand) (size int, lines int)

var patterns = map[string]pattern{
	"a line at a time": func(*rand.Rand) (int, int) { return 300, 1 },
	"turns":            func(rng *rand.Rand) (int, int) { return 200 + rng.IntN(4000), 1 + rng.IntN(8) },
	"bodies of their own": func(rng *rand.Rand) (int, int) {
		if rng.IntN(4) == 0 {
			return 300 << 10, 1
		}
		return 500, 1
	},
	"anything": func(rng *rand.Rand) (int, int) { return 1 << rng.IntN(17), 1 + rng.IntN(4) },
}

// TestMaterializerWritesInProportionToSessionSize counts what is put into the
// bucket while sessions grow at random and their log is truncated. The policy's
// arithmetic alone is tested by TestPolicyWritesAtMostSixTimesSessionSize.
func TestMaterializerWritesInProportionToSessionSize(t *testing.T) {
	t.Parallel()
	seed := flag.Lookup("seed").Value.(flag.Getter).Get().(uint64) // of the policy's tests
	t.Logf("-seed %d", seed)
	n := 60
	if *long {
		n = 600
	}
	for name, next := range patterns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 3))
			r := newRig(t)
			m, _, _ := r.runAs(t, materializer.Config{Policy: materializer.Policy{MinTail: 2 << 10, Idle: time.Nanosecond}, Garbage: 32 << 10, Grace: -1})
			var all []*engine.Session
			for i := range 4 {
				all = append(all, r.create(t, fmt.Sprintf("session-%d", i)))
			}
			for i := range n {
				grow(t, rng, all[rng.IntN(len(all))], next)
				if rng.IntN(10) > 0 && i < n-1 {
					continue
				}
				if err := m.CatchUp(t.Context()); err != nil {
					t.Fatal(err)
				}
				for shard := range r.log.Shards() {
					if _, err := m.Truncate(t.Context(), shard); err != nil {
						t.Fatal(err)
					}
				}
			}
			var put, size int64
			for _, s := range all {
				size += int64(len(rendered(s)))
			}
			for _, prefix := range []string{"snapshots/", "blobs/"} {
				for info, err := range r.bucket.List(t.Context(), prefix) { // nothing is deleted
					if err != nil {
						t.Fatal(err)
					}
					put += info.Size
				}
			}
			t.Logf("%d bytes put for %d: %.2f times", put, size, float64(put)/float64(size))
			if put > mostTimes*size {
				t.Errorf("%d bytes were put for sessions of %d", put, size)
			}
		})
	}
}

// grow appends a record of noise.
func grow(t *testing.T, rng *rand.Rand, s *engine.Session, next pattern) {
	t.Helper()
	size, lines := next(rng)
	var raw [][]byte
	for range lines {
		raw = append(raw, fmt.Appendf(nil, `{"type":"message","message":{"role":"user","content":%q}}`, noise(rng, size)))
	}
	if _, err := s.Append(t.Context(), engine.Append{Lines: raw}); err != nil {
		t.Fatal(err)
	}
}

// noise returns a text of about size bytes that compression reduces by a quarter at
// most.
func noise(rng *rand.Rand, size int) string {
	b := make([]byte, size*3/4)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return base64.StdEncoding.EncodeToString(b)
}
