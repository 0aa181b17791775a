package e2e_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

// BenchmarkResume measures the time from the start of `sessctl resume` until the
// agent's file is durable, for a session of 10,000 entries with a snapshot. The
// baseline is a program that only fetches the file and writes it durably.
//
//	go test ./test/e2e -run - -bench Resume -benchtime 20x
func BenchmarkResume(b *testing.B) {
	file := harness.Generate(7, harness.Shape{Turns: 2_250})
	if len(file.IDs) < 10_000 {
		b.Fatalf("the session has %d entries", len(file.IDs))
	}
	node := harness.StartNode(b)
	host := harness.NewHost(b, node)
	host.Do(b, "import", file.Save(b, host.Dir))
	host.Do(b, "checkpoint", file.ID)
	for _, c := range []struct {
		name string
		cold bool
	}{{"warm", false}, {"cold", true}} { // cold: the node was restarted and loads the snapshot
		b.Run(c.name, func(b *testing.B) {
			var plainly, resumes time.Duration
			for b.Loop() {
				plainly += timed(b, node, c.cold, func() { fetchPlainly(b, node, file.ID, filepath.Join(b.TempDir(), "plain")) })
				dir := b.TempDir()
				resumes += timed(b, node, c.cold, func() { host.Do(b, "resume", file.ID, "--dir", dir) })
			}
			n := float64(b.N) * float64(time.Millisecond)
			b.ReportMetric(float64(plainly)/n, "plain-ms")
			b.ReportMetric(float64(resumes)/n, "resume-ms")
			b.ReportMetric(float64(resumes)/float64(plainly), "ratio")
			b.ReportMetric(float64(len(file.IDs)), "entries")
			b.ReportMetric(float64(len(file.Bytes))/(1<<20), "MiB")
		})
	}
}

func timed(b *testing.B, node *harness.Node, cold bool, f func()) time.Duration {
	b.Helper()
	if cold {
		node.Terminate(b)
		node.Start(b)
	}
	began := time.Now()
	f()
	return time.Since(began)
}

// fetchPlainly writes the agent's file to path, atomically and durably.
func fetchPlainly(b *testing.B, node *harness.Node, id, path string) {
	b.Helper()
	body, _, err := node.Client().File(b.Context(), id, "")
	if err != nil {
		b.Fatal(err)
	}
	defer body.Close()
	f, err := os.Create(path + ".half")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(f, body); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(path+".half", path); err != nil {
		b.Fatal(err)
	}
}
