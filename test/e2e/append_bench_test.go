package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// writers is how many clients append at a time, each to a session of its own.
const writers = 64

// BenchmarkAppend measures appends of 1 KiB lines over HTTP by 64 clients to one node
// and to a cluster of three with three replicas, and the processor time of the
// nodes. The baseline is publishing such lines with a sequence check to new
// streams of the same servers, as many as the log has and with as many replicas.
//
//	go test ./test/e2e -run - -bench 'Append$' -benchtime 20000x -count 3
func BenchmarkAppend(b *testing.B) {
	b.Run("node", func(b *testing.B) {
		n := harness.NewNode(b, "--nats-listen", testkit.FreeAddrs(b, 1)[0])
		n.Start(b)
		b.Run("http", func(b *testing.B) { compareAppends(b, []*harness.Node{n}, 4, 1) })
	})
	b.Run("cluster", func(b *testing.B) {
		nodes := harness.NewCluster(b, 3, harness.StartBucket(b))
		for _, n := range nodes {
			n.AddArgs("--nats-listen", testkit.FreeAddrs(b, 1)[0])
		}
		harness.StartAll(b, nodes)
		b.Run("http", func(b *testing.B) { compareAppends(b, nodes, 8, 3) })
	})
}

// compareAppends reports b.N appends over HTTP, and as many raw ones.
func compareAppends(b *testing.B, nodes []*harness.Node, streams, replicas int) {
	b.Helper()
	raw := runWriters(b, rawWriters(b, nodes, streams, replicas))
	appends := httpWriters(b, nodes)
	before := cpuTime(b, nodes)
	b.ResetTimer()
	own := runWriters(b, appends)
	b.StopTimer()
	cpu := cpuTime(b, nodes) - before
	b.ReportMetric(own.perSecond, "appends/s")
	b.ReportMetric(raw.perSecond, "raw/s")
	b.ReportMetric(own.perSecond/raw.perSecond, "to-raw")
	b.ReportMetric(float64(own.at(0.5).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(own.at(0.99).Microseconds())/1000, "p99-ms")
	b.ReportMetric(cpu*1e6/float64(len(own.took)), "cpu-µs/append")
	b.ReportMetric(0, "ns/op")
}

// A load is what writers did together.
type load struct {
	took      []time.Duration // of each append, sorted
	perSecond float64
}

func (l *load) at(q float64) time.Duration { return l.took[int(float64(len(l.took)-1)*q)] }

// runWriters makes b.N appends, one at a time for each writer.
func runWriters(b *testing.B, write []func(context.Context) error) load {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	took := make([][]time.Duration, len(write))
	g, ctx := errgroup.WithContext(b.Context())
	began := time.Now()
	for i := range write {
		g.Go(func() error {
			for left.Add(-1) >= 0 {
				t := time.Now()
				if err := write[i](ctx); err != nil {
					return err
				}
				took[i] = append(took[i], time.Since(t))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	l := load{took: slices.Concat(took...), perSecond: float64(b.N) / time.Since(began).Seconds()}
	slices.Sort(l.took)
	return l
}

// lines returns a source of lines of about 1 KiB without id, parent and time, whose
// words are as unevenly frequent as those of a language.
func lines(seed uint64) func() []byte {
	words := rand.NewZipf(rand.New(rand.NewPCG(seed, 1)), 1.1, 8, 100_000)
	return func() []byte {
		var text strings.Builder
		for text.Len() < 900 {
			fmt.Fprintf(&text, "w%x ", words.Uint64()*2654435761%(1<<24))
		}
		return fmt.Appendf(nil, `{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":%q}],"timestamp":1767323045000}}`, text.String())
	}
}

// httpWriters returns writers that append to new sessions, spread over the nodes.
func httpWriters(b *testing.B, nodes []*harness.Node) []func(context.Context) error {
	b.Helper()
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: writers}}
	b.Cleanup(c.CloseIdleConnections)
	var out []func(context.Context) error
	for i := range writers {
		n := nodes[i%len(nodes)]
		header := fmt.Sprintf(`{"type":"session","version":3,"id":"0199cccc-0000-7000-8000-%012x","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}`+"\n", b.N<<8+i)
		res, err := n.Client().Import(b.Context(), strings.NewReader(header), -1, client.ImportOptions{})
		if err != nil {
			b.Fatal(err)
		}
		url := n.URL + "/v1/sessions/" + string(res.ID) + "/entries"
		line := lines(uint64(i))
		out = append(out, func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(line()))
			if err != nil {
				return err
			}
			resp, err := c.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			if err == nil && resp.StatusCode != http.StatusOK {
				err = fmt.Errorf("%s: %s", resp.Status, answer)
			}
			return err
		})
	}
	return out
}

// rawWriters returns writers that publish to subjects of new streams.
func rawWriters(b *testing.B, nodes []*harness.Node, streams, replicas int) []func(context.Context) error {
	b.Helper()
	var js []jetstream.JetStream
	for _, n := range nodes {
		nc, err := nats.Connect("nats://" + n.Arg("--nats-listen"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(nc.Close)
		j, err := jetstream.New(nc)
		if err != nil {
			b.Fatal(err)
		}
		js = append(js, j)
	}
	for i := range streams {
		name := fmt.Sprintf("RAW_%d_%d", b.N, i)
		cfg := jetstream.StreamConfig{Name: name, Subjects: []string{name + ".*"}, Replicas: replicas, Discard: jetstream.DiscardNew, AllowDirect: true}
		if _, err := js[0].CreateStream(b.Context(), cfg); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = js[0].DeleteStream(context.WithoutCancel(b.Context()), name) })
	}
	var out []func(context.Context) error
	for i := range writers {
		var last uint64
		line := lines(uint64(i))
		subject := fmt.Sprintf("RAW_%d_%d.%d", b.N, i%streams, i)
		out = append(out, func(ctx context.Context) error {
			ack, err := js[i%len(js)].Publish(ctx, subject, line(), jetstream.WithExpectLastSequencePerSubject(last))
			if err == nil {
				last = ack.Sequence
			}
			return err
		})
	}
	return out
}

// cpuTime returns the processor time of the nodes so far, in seconds.
func cpuTime(b *testing.B, nodes []*harness.Node) (sum float64) {
	b.Helper()
	for _, n := range nodes {
		resp, err := http.Get(n.URL + "/metrics") //nolint:noctx // a loopback server that this test runs
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "process_cpu_seconds_total "); ok {
				s, err := strconv.ParseFloat(text, 64)
				if err != nil {
					b.Fatal(err)
				}
				sum += s
			}
		}
	}
	return sum
}
