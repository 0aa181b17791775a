//go:build unix

package materializer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

// BenchmarkAppend measures the processor time of an append of a 1 KiB line with all
// that follows from it: the record, the row, the text and the prompts. It must not
// depend on the length of the session or on how many sessions there are.
//
//	go test ./materializer -run - -bench Append -benchtime 4000x -count 3
func BenchmarkAppend(b *testing.B) {
	for _, entries := range []int{100, 100_000} {
		b.Run(fmt.Sprintf("entries=%d", entries), func(b *testing.B) { benchAppend(b, busy, entries, 0) })
	}
	for _, sessions := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) { benchAppend(b, sessions, 10, 0) })
	}
	// Each new text now replaces an older one of its session in the index.
	b.Run("text=full", func(b *testing.B) { benchAppend(b, busy, 300, 1000) })
}

// busy is how many of the sessions are appended to.
const busy = 10

// benchAppend appends to sessions whose entries have text of that size.
func benchAppend(b *testing.B, sessions, entries, text int) {
	b.Helper()
	r := newRig(b)
	r.cache = materializer.NewCache(r.sessions, 1<<30)
	m, _, _ := r.run(b, materializer.Policy{Idle: time.Hour})
	words := newProse()
	var open []*engine.Session
	for i := range sessions {
		n := 1
		if i < busy {
			n = entries
		}
		s := r.createWith(b, fmt.Sprintf("session-%d", i), words.entries(n, text))
		r.cache.Put(s)
		if i < busy {
			open = append(open, s)
		}
	}
	for _, s := range open { // so that no snapshot of old entries is due meanwhile
		if _, err := m.Checkpoint(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
	catchUp(b, m)
	before := cpuTime(b)
	b.ResetTimer()
	for i := range b.N {
		a := engine.Append{Lines: [][]byte{words.line()}}
		if _, err := open[i%len(open)].Append(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
	catchUp(b, m)
	b.StopTimer()
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/append")
}

func catchUp(b *testing.B, m *materializer.Materializer) {
	b.Helper()
	if err := m.CatchUp(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// cpuTime returns the processor time of this process so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// createWith is create for a session with entries.
func (r *rig) createWith(b *testing.B, id string, es []core.Entry) *engine.Session {
	b.Helper()
	d := dialect.All()["pi"]
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: id, Time: "2026-01-02T03:04:05.000Z", CWD: "/w"}))
	if err != nil {
		b.Fatal(err)
	}
	s, err := r.sessions.Create(b.Context(), engine.CreateRequest{ID: core.SessionID(id), Origin: core.Origin{Dialect: "pi"}, Header: h, Entries: es})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// A prose makes text whose words are as unevenly frequent as those of a language.
type prose struct{ zipf *rand.Zipf }

func newProse() *prose {
	return &prose{rand.NewZipf(rand.New(rand.NewPCG(1, 1)), 1.1, 8, 100_000)}
}

func (p *prose) text(size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "w%x ", p.zipf.Uint64()*2654435761%(1<<24))
	}
	return b.String()
}

// line returns a line of about 1 KiB.
func (p *prose) line() []byte {
	return fmt.Appendf(nil, `{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":%q}],"timestamp":1767323045000}}`, p.text(900))
}

// entries returns entries with text of that size.
func (p *prose) entries(n, size int) []core.Entry {
	es := make([]core.Entry, n)
	parent := "null"
	for i := range es {
		line := fmt.Appendf(nil, `{"type":"message","id":"e%07d","parentId":%s,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"assistant","content":%q,"timestamp":1767323045000}}`, i, parent, p.text(size))
		es[i], _ = dialect.All()["pi"].Entry(line)
		parent = fmt.Sprintf(`"e%07d"`, i)
	}
	return es
}
