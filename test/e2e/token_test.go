package e2e_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// TestTokenChangesReachRunningNodes changes tokens through one of two
// nodes of a log. The other one follows without a restart.
func TestTokenChangesReachRunningNodes(t *testing.T) {
	t.Parallel()
	const first = "the-first-token-of-the-test"
	ns := startNATS(t)
	bucket := harness.StartBucket(t)
	args := append(bucket.Args(), "--nats-url", ns.ClientURL(), "SESS_TOKEN="+first)
	a := harness.StartNode(t, append(args, "--node", "a")...)
	b := harness.StartNode(t, append(args, "--node", "b")...)
	a.Token, b.Token = first, first
	admin := harness.NewHost(t, a)

	made := strings.TrimSpace(admin.Do(t, "token", "create", "build", "--scope", "write", "--expires", "24h", "--why", "CI"))
	if !strings.HasPrefix(made, "sesslog_") || strings.ContainsAny(made, " \n") {
		t.Fatalf("token create prints %q", made)
	}
	a.Token, b.Token = made, made
	build := harness.NewHost(t, b)
	build.Env = []string{"SESS_TOKEN=" + made}
	file := harness.NewFile(t, harness.Shape{Turns: 3})
	path := file.Save(t, build.Dir)
	harness.Await(t, "node b to know the token", func() error { return failed(build.Sessctl(t, "token", "check")) })
	build.Do(t, "import", path)
	sameBytes(t, "export", harness.Export(t, a.Client(), file.ID), file.Bytes)
	r := build.Sessctl(t, "erase", file.ID, "--why", "x", "--now", "--yes")
	if r.Code == 0 || !strings.Contains(r.Err, "scope admin") || !strings.Contains(r.Err, "sessctl token create") {
		t.Errorf("erase with scope write: %s", r)
	}
	t.Logf("refused: %s", r.Err)

	next := strings.TrimSpace(admin.Do(t, "token", "rotate", "build", "--keep", "1h"))
	renewed := harness.NewHost(t, b)
	renewed.Env = []string{"SESS_TOKEN=" + next}
	harness.Await(t, "node b to know the new secret", func() error { return failed(renewed.Sessctl(t, "token", "check")) })
	build.Do(t, "ls") // the former secret stays valid for an hour

	admin.Do(t, "token", "revoke", "build", "--why", "done")
	for _, h := range []*harness.Host{build, renewed} {
		harness.Await(t, "node b to refuse both secrets", func() error {
			if r := h.Sessctl(t, "ls"); r.Code != 1 || !strings.Contains(r.Err, "token") {
				return errors.New(r.String())
			}
			return nil
		})
	}
	var acts []report.AuditRecord
	admin.JSON(t, &acts, "audit")
	var did []string
	for _, act := range acts {
		if act.Outcome == "done" {
			did = append(did, act.Act)
		}
		if !strings.Contains(act.Detail, "build") && act.Outcome == "done" {
			t.Errorf("the record does not name the token: %+v", act)
		}
	}
	if got := strings.Join(did, " "); got != "token-create token-rotate token-revoke" {
		t.Errorf("the audit records are %q", got)
	}
	// A restarted node has the tokens of the log.
	again := strings.TrimSpace(admin.Do(t, "token", "create", "reader"))
	b.Kill()
	b.Start(t)
	reader := harness.NewHost(t, b)
	reader.Env = []string{"SESS_TOKEN=" + again}
	harness.Await(t, "the node to know the token", func() error { return failed(reader.Sessctl(t, "ls")) })
	for _, n := range []*harness.Node{a, b} {
		for _, secret := range []string{first, made, next, again} {
			if strings.Contains(n.Log(), secret) {
				t.Error("the log of a node contains a secret")
			}
		}
	}
}

// failed returns an error if a program failed.
func failed(r harness.Result) error {
	if r.Code == 0 {
		return nil
	}
	return errors.New(r.String())
}
