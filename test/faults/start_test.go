package faults_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A member whose Raft state is damaged cannot become ready by waiting. It exits and
// says what to do, the others name it, and what it says helps.
func TestMemberWithDamagedRaftStateExitsAndSaysWhy(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("with -long: the others take 20 s to elect leaders without it")
	}
	nodes := harness.StartCluster(t, 3, harness.StartBucket(t), "--log-shards", "1")
	c := nodes[1].Client()
	id := newSession(t, c)
	for i := range 5 {
		say(t, c, id, fmt.Sprint("line-", i), client.AppendOptions{})
	}
	want := mustExport(t, c, id)
	for _, n := range nodes {
		n.Signal(t)
	}
	for _, n := range nodes {
		n.Wait(t)
	}
	dir := filepath.Join(nodes[0].Data, "nats")
	snaps, err := filepath.Glob(filepath.Join(dir, "jetstream", "$SYS", "_js_", "S-R3F-*", "snapshots", "snap.*"))
	if err != nil || len(snaps) == 0 {
		t.Fatalf("no snapshots of Raft groups below %s: %v", dir, err)
	}
	for _, path := range snaps {
		b := testkit.ReadFile(t, path)
		b[len(b)/2] ^= 1
		testkit.WriteFile(t, path, b)
	}
	for _, n := range nodes {
		n.Launch(t)
	}
	if code := nodes[0].Wait(t); code != 1 || !strings.Contains(nodes[0].Log(), "move "+dir+" away") {
		t.Errorf("the damaged member ended with code %d and does not say what to do:\n%s", code, nodes[0].Log())
	}
	for _, n := range nodes[1:] {
		n.AwaitReady(t)
	}
	harness.Await(t, "the other members name it", func() error {
		r, err := nodes[1].Client().Doctor(t.Context(), false)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return strings.Contains(f.Detail, "n1 is not available") }) {
			return fmt.Errorf("doctor finds %+v", r.Findings)
		}
		return nil
	})
	if err := os.Rename(dir, dir+".damaged"); err != nil {
		t.Fatal(err)
	}
	nodes[0].Start(t)
	if got := mustExport(t, nodes[0].Client(), id); string(got) != string(want) {
		t.Errorf("the session has %d of %d bytes", len(got), len(want))
	}
}

// All members stop, and one stays away. The others become ready, and say which member is
// missing and what does not work without it, although they have not met it.
func TestRestartWithoutOneMemberNamesIt(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("with -long: the others take 20 s to elect leaders without it")
	}
	nodes := harness.StartCluster(t, 3, harness.StartBucket(t), "--log-shards", "1")
	id := newSession(t, nodes[1].Client())
	for _, n := range nodes {
		n.Signal(t)
	}
	for _, n := range nodes {
		n.Wait(t)
	}
	harness.StartAll(t, nodes[1:])
	for _, n := range nodes[1:] {
		harness.Await(t, "doctor names the member", func() error {
			r, err := n.Client().Doctor(t.Context(), false)
			if err != nil {
				return err
			}
			for _, want := range []string{"the copy on a node other than n2, n3 is not available", "no heartbeats can be stored"} {
				if !slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return strings.Contains(f.Detail, want) }) {
					return fmt.Errorf("no %q in %+v", want, r.Findings)
				}
			}
			return nil
		})
		r, err := http.Get(n.URL + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(b), "without presence") {
			t.Errorf("/readyz: %s %s, %v", r.Status, b, err)
		}
	}
	say(t, nodes[1].Client(), id, "without n1", client.AppendOptions{})
	nodes[0].Start(t)
	harness.Await(t, "all is well again", func() error {
		r, err := nodes[1].Client().Doctor(t.Context(), false)
		if err == nil && r.Worst().Compare(report.Warning) >= 0 {
			err = fmt.Errorf("doctor finds %+v", r.Findings)
		}
		return err
	})
}

// While a node waits for others, it says so instead of leaving probes without an
// answer.
func TestStartingNodeAnswersProbes(t *testing.T) {
	t.Parallel()
	n := harness.NewCluster(t, 3, harness.StartBucket(t))[0]
	n.Launch(t)
	base := "http://" + n.Arg("--listen")
	get := func(path string) (int, string) {
		r, err := http.Get(base + path)
		if err != nil {
			return 0, err.Error()
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return 0, err.Error()
		}
		return r.StatusCode, string(b)
	}
	harness.Await(t, "/readyz says what it waits for", func() error {
		if code, why := get("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(why, "waiting for the cluster") {
			return fmt.Errorf("%d %s", code, why)
		}
		return nil
	})
	if code, body := get("/healthz"); code != http.StatusOK {
		t.Errorf("/healthz: %d %s", code, body)
	}
	if code, body := get("/v1/sessions"); code != http.StatusServiceUnavailable || !strings.Contains(body, `"code":"unavailable"`) {
		t.Errorf("/v1/sessions: %d %s", code, body)
	}
}

// NATS itself calls a member that was killed offline after minutes.
func TestKilledMemberIsNamedWithinSeconds(t *testing.T) {
	t.Parallel()
	nodes := harness.StartCluster(t, 3, harness.StartBucket(t))
	newSession(t, nodes[1].Client())
	nodes[0].Kill()
	for _, n := range nodes[1:] {
		harness.Await(t, "doctor and status name the member", func() error {
			r, err := n.Client().Doctor(t.Context(), false)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return strings.Contains(f.Detail, "n1 is not available") }) {
				return fmt.Errorf("doctor finds %+v", r.Findings)
			}
			st, err := n.Client().Status(t.Context())
			if err == nil && (!st.Healthy || !strings.Contains(st.Summary, "copy on n1 is not available")) {
				err = fmt.Errorf("status says %q, healthy %t", st.Summary, st.Healthy)
			}
			return err
		})
	}
}
