package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

func TestDoctorReportsAndRepairs(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	c := node.Client()
	file := harness.NewFile(t, harness.Shape{Turns: 5})
	id := importFile(t, c, file)
	if _, err := c.Checkpoint(harness.Timeout(t), id); err != nil {
		t.Fatal(err)
	}
	examine := func(fix bool) report.Examination {
		t.Helper()
		r, err := c.Doctor(harness.Timeout(t), fix)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Checks) < 10 {
			t.Errorf("the checks are only %+v", r.Checks)
		}
		return r
	}
	if r := examine(false); worst(r) != report.Note {
		t.Errorf("findings on a healthy node: %+v", r.Findings)
	}
	if r := host.Sessctl(t, "doctor"); r.Code != 0 && !strings.Contains(r.Out, "disk: ") {
		t.Errorf("sessctl doctor: %s", r)
	}

	if err := os.RemoveAll(filepath.Join(node.Data, "blobs", "snapshots")); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, "the row that speaks of the snapshot", func() error {
		r := host.Sessctl(t, "doctor")
		if r.Code != 8 || !strings.Contains(r.Out, "snapshot of record") || !strings.Contains(r.Out, "hint: sessctl verify --repair "+id) {
			return fmt.Errorf("sessctl doctor: %s", r)
		}
		return nil
	})
	if st, err := c.Status(harness.Timeout(t)); err != nil || st.Healthy {
		t.Errorf("status: %+v, %v", st, err)
	}
	fixed := examine(true)
	if !slices.ContainsFunc(fixed.Findings, func(f report.Finding) bool { return f.Repaired }) || worst(fixed) != report.Note {
		t.Errorf("not repaired: %+v", fixed.Findings)
	}
	if r := examine(false); worst(r) != report.Note {
		t.Errorf("findings after the repair: %+v", r.Findings)
	}
	if st, err := c.Status(harness.Timeout(t)); err != nil || !st.Healthy {
		t.Errorf("status after the repair: %+v, %v", st, err)
	}
	intact(t, c, id)
}

// Of such a session, the log has no record.
func TestAcceptLossOfSessionThatOnlySnapshotsProve(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	c := node.Client()
	id := importFile(t, c, harness.NewFile(t, harness.Shape{Turns: 5}))
	if _, err := c.Checkpoint(harness.Timeout(t), id); err != nil {
		t.Fatal(err)
	}
	node.Terminate(t)
	kept, err := filepath.Glob(filepath.Join(node.Data, "blobs", "snapshots", "*", id))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	const ghost = "ghost-session-9"
	if err := os.CopyFS(filepath.Join(filepath.Dir(kept[0]), ghost), os.DirFS(kept[0])); err != nil {
		t.Fatal(err)
	}
	node.Start(t)
	host := harness.NewHost(t, node)
	harness.Await(t, "the loss", func() error {
		if r := host.Sessctl(t, "doctor"); r.Code != 8 || !strings.Contains(r.Out, "--accept-loss "+ghost) {
			return fmt.Errorf("sessctl doctor: %s", r)
		}
		return nil
	})
	if r := host.Sessctl(t, "verify", "--accept-loss", ghost); r.Code != 0 {
		t.Errorf("sessctl verify --accept-loss: %s", r)
	}
	if r := host.Sessctl(t, "doctor"); strings.Contains(r.Out, "--accept-loss "+ghost) {
		t.Errorf("sessctl doctor: %s", r)
	}
}

func TestDoctorNamesCorruptSnapshots(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	c := node.Client()
	id := importFile(t, c, harness.NewFile(t, harness.Shape{Turns: 5}))
	if _, err := c.Checkpoint(harness.Timeout(t), id); err != nil {
		t.Fatal(err)
	}
	objects, err := filepath.Glob(filepath.Join(node.Data, "blobs", "snapshots", "*", id, "*"))
	if err != nil || len(objects) == 0 {
		t.Fatal(objects, err)
	}
	for _, path := range objects {
		b := testkit.ReadFile(t, path)
		b[len(b)/2] ^= 1
		if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	harness.Await(t, "the row that speaks of the snapshot", func() error {
		r := host.Sessctl(t, "doctor")
		if r.Code != 8 || !strings.Contains(r.Out, "is corrupt") || !strings.Contains(r.Out, "hint: sessctl verify --repair "+id) {
			return fmt.Errorf("sessctl doctor: %s", r)
		}
		return nil
	})
	if st, err := c.Status(harness.Timeout(t)); err != nil || st.Healthy {
		t.Errorf("status: %+v, %v", st, err)
	}
	if r := host.Sessctl(t, "verify", "--repair", id); r.Code != 0 {
		t.Errorf("sessctl verify --repair: %s", r)
	}
	if r := host.Sessctl(t, "doctor"); strings.Contains(r.Out, "is corrupt") {
		t.Errorf("sessctl doctor after the repair: %s", r)
	}
	if st, err := c.Status(harness.Timeout(t)); err != nil || !st.Healthy {
		t.Errorf("status after the repair: %+v, %v", st, err)
	}
	intact(t, c, id)
}

func TestDoctorWarnsOfDelayedFlush(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t, "--nats-sync", "1s")
	r, err := node.Client().Doctor(harness.Timeout(t), false)
	if err != nil {
		t.Fatal(err)
	}
	if r.Worst() != report.Danger || r.Findings[0].What != "nats.sync" {
		t.Errorf("findings: %+v", r.Findings)
	}
}

// worst returns the worst level, except for how full this machine's disk is.
func worst(r report.Examination) report.Level {
	r.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f report.Finding) bool { return f.Check == "disk" })
	return r.Worst()
}
