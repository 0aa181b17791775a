package faults_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A server that cannot read the last record of a session answers as if the session did
// not exist. That is damage, not a replica that lags: nothing gets better by waiting.
func TestFlippedBitInLastRecordIsReportedAsCorrupt(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t, "--log-shards", "1")
	c := node.Client()
	s := fillTwo(t, c)
	say(t, c, s.bad, "bad-last-", client.AppendOptions{})
	node.Terminate(t)
	flipRecord(t, node, s.bad, "bad-last-", inBody)
	node.Start(t)

	if got, err := export(t, c, s.bad); !errors.Is(err, core.ErrCorrupt) {
		t.Errorf("export: %v, and %d bytes", err, len(got))
	}
	_, err := c.Append(harness.Timeout(t), s.bad, []byte(harness.Message("user", "more")), client.AppendOptions{})
	if !errors.Is(err, core.ErrCorrupt) {
		t.Errorf("append: %v", err)
	}
	found := problems(t, c, s.bad)
	if len(found) != 1 || found[0].Kind != "end" || !strings.Contains(found[0].What, "after record 11") {
		t.Errorf("verify finds %+v", found)
	}
	host := harness.NewHost(t, node)
	if r := host.Sessctl(t, "verify", "--all"); r.Code != 8 || strings.Contains(r.Out, s.bad+"  all is well") {
		t.Errorf("sessctl verify --all: %s", r)
	}
	intact(t, c, s.good)
	say(t, c, s.good, "and on", client.AppendOptions{})
}
