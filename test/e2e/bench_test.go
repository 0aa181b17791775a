package e2e_test

import (
	"debug/buildinfo"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/bench"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// Each benchmark of appends runs, beside its baseline; the test asserts no times. Those
// of a cluster need -args -long.
func TestBenchMeasuresBesideJetStream(t *testing.T) {
	t.Parallel()
	which := []string{"append", "http"}
	if *long {
		which = append(which, "cluster", "latency")
	}
	for _, of := range which {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), harness.Binary(t, "sessnode"), "bench", of, "--dir", t.TempDir(), "--runs", "1", "--time", "50ms", "--json")
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var results []bench.Result
			if err := json.Unmarshal(out, &results); err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if r.Appends == 0 || r.PerSec <= 0 || r.P99 < r.P50 || (r.Baseline != "") != (r.Ratio > 0) {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// sessctl uses HTTP only: its build needs no NATS server.
func TestSessctlLinksNoServer(t *testing.T) {
	t.Parallel()
	info, err := buildinfo.ReadFile(harness.Binary(t, "sessctl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range info.Deps {
		if strings.HasPrefix(dep.Path, "github.com/nats-io/nats-server") {
			t.Errorf("sessctl links %s", dep.Path)
		}
	}
}
