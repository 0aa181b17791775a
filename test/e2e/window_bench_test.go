//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// BenchmarkWindow measures the context, over HTTP, of a session of a million entries and
// 700 MB whose last compaction left 200 entries, each time from a node that was just
// started: the median time, and the most memory beyond that of the idle node. It reports
// the same of the first and of the last 100 entries, for which the node loads the session,
// measured once.
//
//	go test ./test/e2e -run - -bench Window -benchtime 5x -timeout 1h -args -long
//
// Without -long the session has 20,000 entries.
func BenchmarkWindow(b *testing.B) {
	entries := 20_000
	if *long {
		entries = 1_000_000
	}
	const (
		left  = 200
		batch = 1_000 // entries of an append
		size  = 560   // bytes of a text
	)
	var words []byte
	for random := rand.New(rand.NewPCG(1, 1)); len(words) < 1<<20; {
		words = fmt.Appendf(words, "w%x ", random.Uint32()%5000)
	}
	// No snapshots until the last one: they would take longer than the appends.
	node := harness.StartNode(b, "SESS_LIMITS_MEMORY=8GiB", "SESS_SNAPSHOTS_CACHE=4GiB", "SESS_SNAPSHOTS_MIN_TAIL=1GiB", "SESS_SNAPSHOTS_IDLE=1h")
	s, err := node.Client().Create(b.Context(), api.Create{ID: "million-entries", Dialect: "pi"})
	if err != nil {
		b.Fatal(err)
	}
	var body bytes.Buffer
	bytesOf := 0
	for n := range entries {
		at := n * 997 % (len(words) - size)
		what := `"type":"message","message":{"role":"user","content":"%s"}`
		if n == entries-left/2 {
			what = fmt.Sprintf(`"type":"compaction","tokensBefore":9,"firstKeptEntryId":"%08x","summary":"%%s"`, entries-left)
		}
		fmt.Fprintf(&body, `{"id":"%08x","timestamp":"2026-01-02T03:04:05.000Z",`+what+"}\n", n, words[at:at+size])
		if n%batch < batch-1 {
			continue
		}
		bytesOf += body.Len()
		harness.Await(b, "an append", func() error {
			_, err := node.Client().Append(b.Context(), string(s.ID), body.Bytes(), client.AppendOptions{})
			return err
		})
		body.Reset()
	}
	if _, err := node.Client().Checkpoint(b.Context(), string(s.ID)); err != nil {
		b.Fatal(err)
	}
	want, err := node.Client().Context(b.Context(), string(s.ID), client.View{})
	if err != nil {
		b.Fatal(err)
	}
	awaitRow(b, node, s.ID) // else each start would index the session
	var took []time.Duration
	var most int64
	for b.Loop() {
		d, peak := afterStart(b, node, func() {
			got, err := node.Client().Context(b.Context(), string(s.ID), client.View{})
			if err != nil || !bytes.Equal(got, want) {
				b.Fatalf("another context, of %d bytes instead of %d: %v", len(got), len(want), err)
			}
		})
		took, most = append(took, d), max(most, peak)
	}
	slices.Sort(took)
	b.ReportMetric(float64(bytesOf)/1e6, "MB")
	b.ReportMetric(float64(len(want))/1e3, "context-kB")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "context-ms")
	b.ReportMetric(float64(most)/(1<<20), "context-MiB")
	for name, from := range map[string]int{"first": 0, "last": -100} {
		d, peak := afterStart(b, node, func() {
			_, err := node.Client().ReadWindow(b.Context(), string(s.ID), client.View{}, from, 100, func([]byte) error { return nil })
			if err != nil {
				b.Fatal(err)
			}
		})
		b.ReportMetric(float64(d.Milliseconds()), name+"-100-ms")
		b.ReportMetric(float64(peak)/(1<<20), name+"-100-MiB")
	}
}

// awaitRow waits until the directory has the session with all its records.
func awaitRow(b *testing.B, node *harness.Node, id core.SessionID) {
	b.Helper()
	for b.Context().Err() == nil {
		info, err := node.Client().Info(b.Context(), string(id))
		if err != nil {
			b.Fatal(err)
		}
		list, err := node.Client().List(b.Context(), catalog.Filter{Prefix: string(id)})
		if err == nil && len(list.Sessions) == 1 && list.Sessions[0].Seq == info.Log.Cursor.Seq {
			return
		}
		time.Sleep(time.Second)
	}
}

// afterStart starts the node again and returns how long f takes, and the most memory that
// the node uses meanwhile beyond what it used before.
func afterStart(b *testing.B, node *harness.Node, f func()) (time.Duration, int64) {
	b.Helper()
	node.Terminate(b)
	node.Start(b)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", node.Pid()), []byte("5"), 0o600); err != nil { // resets VmHWM
		b.Fatal(err)
	}
	before := memoryOf(b, node.Pid(), "VmRSS") - memoryOf(b, node.Pid(), "RssFile")
	began := time.Now()
	f()
	took := time.Since(began)
	return took, memoryOf(b, node.Pid(), "VmHWM") - memoryOf(b, node.Pid(), "RssFile") - before
}
