package faults_test

import (
	"errors"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// The last message of a shard is damaged, so no message shows its end. Doctor reads to
// the end all the same, and reports it.
func TestDoctorEndsAfterDamagedLastMessage(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("with -long: reading the last message is tried for many seconds")
	}
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
	if found.Worst().Compare(report.Warning) < 0 {
		t.Errorf("doctor finds %+v", found.Findings)
	}
}
