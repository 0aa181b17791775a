package bench

import (
	"fmt"
	"testing"
	"time"
)

func newRig(tb testing.TB) *Rig {
	tb.Helper()
	r, err := NewRig(tb.Context(), tb.TempDir(), false)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Close)
	return r
}

// TestEveryWorkloadRuns checks that the benchmarks work; it asserts no times.
func TestEveryWorkloadRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	results, err := r.Appends(t.Context(), 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range results {
		if res.Appends == 0 || res.PerSec <= 0 || res.P99 < res.P50 {
			t.Errorf("%+v", res)
		}
	}
	openings, err := r.Openings(t.Context(), 100)
	if err != nil || len(openings) != 1 || openings[0].Ratio <= 0 {
		t.Errorf("%+v, %v", openings, err)
	}
	histories, err := r.Histories(t.Context(), 50, 3, 100, 200)
	if err != nil || len(histories) != 2 || histories[1].Records != 200 || histories[1].Snapshots != 2 || histories[1].Ratio <= 0 {
		t.Errorf("%+v, %v", histories, err)
	}
}

// BenchmarkAppend reports metrics per workload. The duration of a workload is fixed,
// so ns/op is meaningless.
func BenchmarkAppend(b *testing.B) {
	r := newRig(b)
	for range b.N {
		results, err := r.Appends(b.Context(), 2*time.Second)
		if err != nil {
			b.Fatal(err)
		}
		for _, res := range results {
			key := fmt.Sprintf("%s/%d", metric(res.Name), res.Writers)
			b.ReportMetric(res.PerSec, key+"/s")
			b.ReportMetric(float64(res.P50.Microseconds()), key+"-p50-µs")
			b.ReportMetric(float64(res.P99.Microseconds()), key+"-p99-µs")
			if res.Baseline != "" {
				b.ReportMetric(res.Ratio, key+"-to-raw")
			}
		}
	}
}

// BenchmarkOpen reports the median times of opening, and their ratio to parsing a
// file with the same lines.
func BenchmarkOpen(b *testing.B) {
	r := newRig(b)
	for range b.N {
		openings, err := r.Openings(b.Context(), 1_000, 10_000, 50_000, 200_000)
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range openings {
			key := fmt.Sprintf("%dk", o.Entries/1000)
			b.ReportMetric(ms(o.File), key+"-file-ms")
			b.ReportMetric(ms(o.Log), key+"-log-ms")
			b.ReportMetric(ms(o.Snap), key+"-snapshot-ms")
			b.ReportMetric(ms(o.Context), key+"-context-ms")
			b.ReportMetric(o.Ratio, key+"-file-to-snapshot")
		}
	}
}

// BenchmarkHistory reports how long it takes to open a session of 10,000 entries
// after different numbers of records, and the ratio to reading and parsing its
// snapshot.
func BenchmarkHistory(b *testing.B) {
	r := newRig(b)
	for range b.N {
		histories, err := r.Histories(b.Context(), 10_000, 200, 100, 1_000, 10_000)
		if err != nil {
			b.Fatal(err)
		}
		for _, h := range histories {
			key := fmt.Sprintf("%d-records", h.Records)
			b.ReportMetric(ms(h.P50), key+"-p50-ms")
			b.ReportMetric(ms(h.P99), key+"-p99-ms")
			b.ReportMetric(ms(h.Snapshot), key+"-snapshot-p50-ms")
			b.ReportMetric(ms(h.SnapshotP99), key+"-snapshot-p99-ms")
			b.ReportMetric(h.Ratio, key+"-p99-to-snapshot-p50")
		}
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// metric converts a name for ReportMetric.
func metric(name string) string {
	out := []byte(name)
	for i, c := range out {
		if c == ' ' || c == ',' {
			out[i] = '-'
		}
	}
	return string(out)
}
