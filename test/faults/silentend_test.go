package faults_test

import (
	"errors"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// The last message of a shard is damaged, so no message shows its end. Doctor and the
// listing reach the end all the same, and doctor reports the session.
func TestDoctorEndsAfterDamagedLastMessage(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t, "--log-shards", "1")
	c := node.Client()
	id := newSession(t, c)
	say(t, c, id, "first-", client.AppendOptions{})
	say(t, c, id, "last-", client.AppendOptions{})
	node.Terminate(t)
	flipRecord(t, node, id, "last-", inBody)
	node.Start(t)
	if _, err := export(t, node.Client(), id); !errors.Is(err, core.ErrCorrupt) {
		t.Errorf("export: %v", err)
	}
	found, err := node.Client().Doctor(harness.Timeout(t), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found.Findings {
		if f.Check == "lag" {
			t.Errorf("the listing does not reach the end: %+v", f)
		}
	}
	if found.Worst().Compare(report.Warning) < 0 {
		t.Errorf("doctor finds %+v", found.Findings)
	}
}
