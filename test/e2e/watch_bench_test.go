package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// pace is the pause of an agent between two lines.
const pace = 100 * time.Millisecond

// BenchmarkWatch measures the time from an agent's write of a line until the line is
// read from another node: a cluster of three nodes with three replicas, sessctl
// watch at the first, a reader that follows at the second, and single lines at a
// person's pace. The baseline is an append through the API of the first node.
//
//	go test ./test/e2e -run - -bench Watch -benchtime 500x
func BenchmarkWatch(b *testing.B) {
	nodes := harness.StartCluster(b, 3, harness.StartBucket(b))
	host := harness.NewHost(b, nodes[0])
	dir := host.Path(".pi", "agent", "sessions", "--w--")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	watch := host.Command(b.Context(), b, "watch")
	if err := watch.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = watch.Process.Kill(); _ = watch.Wait() })

	file := newPaced(b, filepath.Join(dir, "2026-01-02T03-04-05-678Z_"+pacedFile+".jsonl"), pacedFile)
	direct := newPaced(b, filepath.Join(host.Dir, "direct.jsonl"), pacedDirect) // not followed
	host.Do(b, "import", direct.path)
	file.read(b, nodes[1])
	direct.read(b, nodes[1])
	for range 10 { // until the head is claimed and connections are open
		file.write(b)
		file.await(b)
	}
	for b.Loop() {
		time.Sleep(pace)
		file.measure(b, file.write)
		time.Sleep(pace)
		direct.measure(b, func(b *testing.B) {
			line := direct.next()
			if _, err := nodes[0].Client().Append(b.Context(), pacedDirect, []byte(line), client.AppendOptions{}); err != nil {
				b.Fatal(err)
			}
		})
	}
	b.ReportMetric(file.at(0.5), "p50-ms")
	b.ReportMetric(file.at(0.99), "p99-ms")
	b.ReportMetric(direct.at(0.5), "direct-p50-ms")
	b.ReportMetric(direct.at(0.99), "direct-p99-ms")
	b.ReportMetric(file.at(0.5)/direct.at(0.5), "p50-ratio")
	b.ReportMetric(file.at(0.99)/direct.at(0.99), "p99-ratio")
	b.ReportMetric(0, "ns/op")
}

const (
	pacedFile   = "0199aaaa-0000-7000-8000-00000000000a"
	pacedDirect = "0199aaaa-0000-7000-8000-00000000000b"
)

// A paced is a session that gets single lines, and waits for each.
type paced struct {
	path, id string
	n        int
	last     string
	seen     chan string // the IDs that were read
	took     []time.Duration
}

// newPaced creates the file of a session with one line.
func newPaced(b *testing.B, path, id string) *paced {
	b.Helper()
	p := &paced{path: path, id: id, seen: make(chan string, 64)}
	header := `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}` + "\n"
	if err := os.WriteFile(path, []byte(header+p.next()), 0o600); err != nil {
		b.Fatal(err)
	}
	return p
}

// next returns the next line.
func (p *paced) next() string {
	parent := "null"
	if p.last != "" {
		parent = `"` + p.last + `"`
	}
	p.n++
	p.last = fmt.Sprintf("e%07d", p.n)
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":%q,"timestamp":1}}`+"\n",
		p.last, parent, strings.Repeat("x", 400))
}

// write writes a line as the agent.
func (p *paced) write(b *testing.B) {
	b.Helper()
	f, err := os.OpenFile(p.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(p.next()); err != nil {
		b.Fatal(err)
	}
}

// read follows the session at a node from its first line.
func (p *paced) read(b *testing.B, n *harness.Node) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	b.Cleanup(cancel)
	harness.Await(b, "the session "+p.id, func() error {
		_, err := n.Client().Info(ctx, p.id)
		return err
	})
	go func() {
		_ = n.Client().Follow(ctx, p.id, core.Cursor{}, true, func(ev api.Event) error {
			for _, line := range ev.Entries {
				var e struct{ ID string }
				_ = json.Unmarshal(line, &e)
				select {
				case p.seen <- e.ID:
				case <-ctx.Done():
				}
			}
			return nil
		})
	}()
	p.await(b)
}

// await waits until the last line is read.
func (p *paced) await(b *testing.B) {
	b.Helper()
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for {
		select {
		case id := <-p.seen:
			if id == p.last {
				return
			}
		case <-late.C:
			b.Fatalf("%s is not read from the other node", p.last)
		}
	}
}

func (p *paced) measure(b *testing.B, write func(*testing.B)) {
	b.Helper()
	began := time.Now()
	write(b)
	p.await(b)
	p.took = append(p.took, time.Since(began))
}

// at returns a quantile, in milliseconds.
func (p *paced) at(q float64) float64 { return quantile(p.took, q) }

// quantile returns a quantile of ds in milliseconds.
func quantile(ds []time.Duration, q float64) float64 {
	d := slices.Sorted(slices.Values(ds))
	return float64(d[int(float64(len(d)-1)*q)]) / float64(time.Millisecond)
}
