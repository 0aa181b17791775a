package bench

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

var windowEntries = flag.Int("entries", 20_000, "entries of the session of BenchmarkWindow")

// BenchmarkWindow builds the context of a session of a million entries and 700 MB, whose
// last compaction left 200 entries, in a process that does not have it in memory. B/op
// counts all memory of that, the server's included.
//
//	go test ./internal/bench -run - -bench Window -benchtime 20x -timeout 1h -args -entries 1000000
func BenchmarkWindow(b *testing.B) {
	const left = 200
	count := *windowEntries
	r := newRig(b)
	es := entries(count)
	for i := range es {
		line := strings.Replace(string(es[i].Line), "the session holds", strings.Repeat("it was said, and ", 9)+"the session holds", 1)
		if i == count-left/2 {
			line = fmt.Sprintf(`{"type":"compaction","id":%q,"parentId":%q,"timestamp":"2026-01-02T03:04:05.000Z","summary":"what was said","firstKeptEntryId":%q,"tokensBefore":9}`,
				es[i].ID, es[i].Parent, es[count-left].ID)
		}
		es[i].Line = []byte(line)
		if i == count-left/2 {
			es[i].Type = "compaction"
		}
	}
	s, err := r.session(b.Context(), "session-of-a-million", es)
	if err != nil {
		b.Fatal(err)
	}
	d := s.Draft(func(seq uint64, sum core.Digest) string {
		return materializer.SnapshotKey(r.log.Name(), s.ID(), seq, sum)
	})
	if err := materializer.NewSnapshots(r.bucket).Keep(b.Context(), d); err != nil {
		b.Fatal(err)
	}
	if err := s.Checkpoint(b.Context(), d); err != nil {
		b.Fatal(err)
	}
	size := len(d.Plain)
	var want []byte
	err = s.View(func(st *core.State) (err error) {
		want, err = st.Dialect.Context(st.Entries, st.Leaf(core.MainHead))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	id := s.ID()
	s, d, es = nil, nil, nil //nolint:ineffassign,wastedassign // a garbage collection frees them
	fresh := engine.NewSessions(engine.Config{
		Log: r.log, Blobs: materializer.NewBlobs(blobstore.New(r.bucket)), Snapshots: materializer.NewSnapshots(r.bucket), Dialects: dialect.All(),
	})
	b.ReportAllocs()
	for b.Loop() {
		w := fresh.Window(b.Context(), id)
		if w == nil {
			b.Fatal("there is no window")
		}
		got, ok := w.Context(w.State.Leaf(core.MainHead))
		if !ok || !bytes.Equal(got, want) {
			b.Fatalf("another context, of %d bytes instead of %d", len(got), len(want))
		}
	}
	b.ReportMetric(float64(size)/1e6, "MB-session")
	b.ReportMetric(float64(len(want))/1e3, "kB-context")
}
