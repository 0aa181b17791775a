package server_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

var (
	parentAppends = flag.Int("appends", 2_500, "how many appends with odd parents are sent")
	parentSeed    = flag.Uint64("parents-seed", 0, "the seed of those appends; 0 for another each time")
)

// Promise P3: no entry is stored unless its parent is stored before it, whatever
// parents concurrent callers send.
func TestNoEntryIsStoredWithoutItsParent(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	seed := *parentSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("seed %d", seed)
	sessions := map[string]string{}
	for _, dialect := range []string{"pi", "omp", "operator"} {
		for range 3 {
			made, err := n.Create(t.Context(), api.Create{Dialect: dialect, CWD: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			sessions[string(made.ID)] = dialect
		}
	}
	var ids []string
	for id := range sessions {
		ids = append(ids, id)
	}
	var left, stored, refused atomic.Int64
	left.Store(int64(*parentAppends))
	var wg sync.WaitGroup
	for w := range 24 {
		f := &parentFuzz{rng: rand.New(rand.NewPCG(seed, uint64(w))), name: fmt.Sprintf("w%d", w)}
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				id := ids[f.rng.IntN(len(ids))]
				body := f.body(sessions[id])
				o := client.AppendOptions{Head: []string{"main", "main", "side", f.name}[f.rng.IntN(4)]}
				_, err := n.Append(t.Context(), id, []byte(body), o)
				switch {
				case err == nil:
					stored.Add(1)
				case errors.Is(err, core.ErrInvalid), errors.Is(err, core.ErrConflict), errors.Is(err, core.ErrTooLarge):
					refused.Add(1)
				case !errors.Is(err, core.ErrUnavailable):
					t.Errorf("%.200s: %v", body, err)
					return
				}
			}
		})
	}
	wg.Wait()
	entries, dangling := 0, 0
	for id, dialect := range sessions {
		there := map[string]bool{}
		lines, err := n.Export(t.Context(), id, false)
		for line := range strings.Lines(read(t, lines, err)) {
			var e map[string]any
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if e["type"] != "message" {
				continue
			}
			entries++
			if parent, ok := e[parentField(dialect)].(string); ok && parent != "" && !there[parent] {
				dangling++
				t.Errorf("session %s: the parent of %v is not stored before it: %.200s", id, e["id"], line)
			}
			there[fmt.Sprint(e["id"])] = true
		}
	}
	t.Logf("%d appends: %d stored, %d refused; %d entries, %d with a parent that is nowhere",
		*parentAppends, stored.Load(), refused.Load(), entries, dangling)
	if stored.Load() == 0 || refused.Load() == 0 {
		t.Error("the appends were too similar to prove anything")
	}
}

func parentField(dialect string) string {
	if dialect == "operator" {
		return "parent_id"
	}
	return "parentId"
}

// A parentFuzz generates bodies with every kind of parent.
type parentFuzz struct {
	rng  *rand.Rand
	name string
	n    int
	mine []string // ids that it generated, stored or not
}

func (f *parentFuzz) body(dialect string) string {
	var lines []string
	ids := make([]string, 1+f.rng.IntN(4))
	for i := range ids {
		f.n++
		ids[i] = fmt.Sprintf("%s-%d", f.name, f.n)
		if f.rng.IntN(20) == 0 && len(f.mine) > 0 {
			ids[i] = f.mine[f.rng.IntN(len(f.mine))] // used before, here or elsewhere
		}
	}
	for i, id := range ids {
		line := fmt.Sprintf(`{"type":"message","id":%q,"timestamp":%s,"message":{"role":"user","content":"x"}`, id, stamp(dialect))
		if p := f.parent(ids, i); p != "" {
			line += fmt.Sprintf(`,%q:%s`, parentField(dialect), p)
		}
		lines = append(lines, line+"}")
	}
	f.mine = append(f.mine, ids...)
	return strings.Join(lines, "\n")
}

func stamp(dialect string) string {
	if dialect == "operator" {
		return "1767323045678"
	}
	return `"2026-01-02T03:04:05.678Z"`
}

// parent returns a parent as JSON, or "" for no member.
func (f *parentFuzz) parent(ids []string, i int) string {
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	switch f.rng.IntN(14) {
	case 0:
		return "null"
	case 1:
		return quote("nowhere")
	case 2:
		return quote(ids[i]) // itself
	case 3:
		return quote(ids[len(ids)-1]) // may be a later entry
	case 4:
		return []string{"17", "true", "[]", "{}", `""`, `" "`, `"\u0000"`, `"\ud800"`, quote(strings.Repeat("p", 300))}[f.rng.IntN(9)]
	case 5, 6, 7:
		if len(f.mine) > 0 {
			return quote(f.mine[f.rng.IntN(len(f.mine))]) // stored or refused, here or in another session
		}
	case 8:
		return quote(fmt.Sprintf("w%d-%d", f.rng.IntN(24), 1+f.rng.IntN(f.n+1))) // another caller's
	case 9, 10:
		if i > 0 {
			return quote(ids[i-1])
		}
	}
	return ""
}
