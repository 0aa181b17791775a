package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

// An Opening has the median times to open a session and to build its context.
type Opening struct {
	Entries int           `json:"entries"`
	Bytes   int           `json:"bytes"`
	File    time.Duration `json:"file"`    // the baseline: read the file, parse every line
	Log     time.Duration `json:"log"`     // open from the open record
	Snap    time.Duration `json:"snap"`    // open from a snapshot and the tail
	Context time.Duration `json:"context"` // build the context of the open session
	Ratio   float64       `json:"ratio"`   // File / (Snap + Context): above 1 is faster than the file
}

// openTimes is the number of measurements of each opening.
const openTimes = 5

// Openings measures sessions with the given numbers of entries.
func (r *Rig) Openings(ctx context.Context, sizes ...int) ([]Opening, error) {
	var out []Opening
	for _, n := range sizes {
		o, err := r.opening(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("session of %d entries: %w", n, err)
		}
		out = append(out, o)
	}
	return out, nil
}

func (r *Rig) opening(ctx context.Context, n int) (Opening, error) {
	id := core.SessionID(fmt.Sprintf("open-%d-%d", n, time.Now().UnixNano()))
	s, err := r.session(ctx, string(id), entries(n))
	if err != nil {
		return Opening{}, err
	}
	var plain []byte
	_ = s.View(func(st *core.State) error {
		plain = st.Render()
		return nil
	})
	path := filepath.Join(r.dir, string(id)+".jsonl")
	if err := os.WriteFile(path, plain, 0o600); err != nil {
		return Opening{}, err
	}
	o := Opening{Entries: n, Bytes: len(plain)}
	if o.File, err = median(func() error { return parseFile(path) }); err != nil {
		return o, err
	}
	open := func() error {
		s, err = r.sessions.Open(ctx, id)
		return err
	}
	if o.Log, err = median(open); err != nil {
		return o, err
	}
	if err := r.checkpoint(ctx, s); err != nil {
		return o, err
	}
	if o.Snap, err = median(open); err != nil {
		return o, err
	}
	o.Context, err = median(func() error {
		return s.View(func(st *core.State) error {
			_, err := st.Dialect.Context(st.Entries, st.Leaf(core.MainHead))
			return err
		})
	})
	o.Ratio = float64(o.File) / float64(o.Snap+o.Context)
	return o, err
}

func (r *Rig) checkpoint(ctx context.Context, s *engine.Session) error {
	d := s.Draft(func(seq uint64, sum core.Digest) string {
		return materializer.SnapshotKey(r.log.Name(), s.ID(), seq, sum)
	})
	if err := materializer.NewSnapshots(r.bucket).Save(ctx, d.Manifest, d.Plain); err != nil {
		return err
	}
	return s.Checkpoint(ctx, d)
}

// parseFile does what a program with its session in a file does: read it and parse
// every line with the standard library.
func parseFile(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return parse(b)
}

// parse parses every line with the standard library.
func parse(b []byte) error {
	byID := map[string]any{}
	for line := range splitLines(b) {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			return err
		}
		id, _ := v["id"].(string)
		byID[id] = v
	}
	return nil
}

func splitLines(b []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			i := slices.Index(b, '\n')
			if i < 0 {
				i = len(b)
			}
			if !yield(b[:i]) {
				return
			}
			b = b[min(i+1, len(b)):]
		}
	}
}

// entries returns a linear session of n entries: turns of a user and an assistant.
func entries(n int) []core.Entry {
	d := dialect.All()["pi"]
	es := make([]core.Entry, n)
	parent := core.NoLeaf
	for i := range es {
		text := fmt.Sprintf(`{"type":"message","message":{"role":"user","content":"question %d, %s","timestamp":%d}}`, i, filler(i), 1767323045000+i)
		if i%2 == 1 {
			text = fmt.Sprintf(`{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"answer %d, %s"}],"api":"x","provider":"p","model":"m","usage":{"input":%d,"output":20,"cacheRead":0,"cacheWrite":0,"totalTokens":21,"cost":{"input":0.1,"output":0.2,"cacheRead":0,"cacheWrite":0,"total":0.3}},"stopReason":"stop","timestamp":%d}}`,
				i, filler(i), i, 1767323045000+i)
		}
		e, err := d.Fill([]byte(text), core.Fields{ID: fmt.Sprintf("%08x", i), Parent: parent, Time: "2026-01-02T03:04:05.000Z"})
		if err != nil {
			panic(err) // the line is constant
		}
		es[i] = e
		parent = core.LeafAt(e.ID)
	}
	return es
}

func filler(i int) string {
	const words = "the session holds what was said and done, in the order in which it was said and done, and nothing of it is ever lost; "
	return words[i%40:] + words + words[:i%80]
}

// median returns the median of openTimes runs of f.
func median(f func() error) (time.Duration, error) {
	times, err := timed(openTimes, f)
	if err != nil {
		return 0, err
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
