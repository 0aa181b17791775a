package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// What an operator does if a session contains something that it must not.
func TestEraseIsReportedAndComplete(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	file := `{"type":"session","version":3,"id":"hello-2026","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/w"}
{"type":"message","id":"a1b2c3d4","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"the key is swordfish"}}
{"type":"message","id":"b1b2c3d4","parentId":"a1b2c3d4","timestamp":"2026-01-05T09:00:02.000Z","message":{"role":"user","content":"thanks"}}
`
	testkit.WriteFile(t, host.Path("hello.jsonl"), []byte(file))
	host.Do(t, "import", "hello.jsonl")
	refuse := func(code int, want string, args ...string) {
		t.Helper()
		if r := host.Sessctl(t, args...); r.Code != code || !strings.Contains(r.Out+r.Err, want) {
			t.Errorf("sessctl %s: want code %d and %q, got %s", strings.Join(args, " "), code, want, r)
		}
	}

	if out := host.Do(t, "redact", "hello-2026", "a1b2c3d4"); !strings.Contains(out, `"content":"[redacted]"`) {
		t.Errorf("a dry run shows %s", out)
	}
	refuse(2, "--why", "redact", "hello-2026", "a1b2c3d4", "--yes")
	host.Do(t, "legal-hold", "hello-2026", "--why", "a lawsuit")
	if out := host.Do(t, "legal-hold"); !strings.Contains(out, "hello-2026") || !strings.Contains(out, "a lawsuit") {
		t.Errorf("held: %s", out)
	}
	refuse(5, "a lawsuit", "redact", "hello-2026", "a1b2c3d4", "--yes", "--why", "a key")
	refuse(5, "a lawsuit", "rm", "hello-2026")
	host.Do(t, "legal-hold", "--release", "hello-2026", "--why", "settled")
	host.Do(t, "redact", "hello-2026", "a1b2c3d4", "--yes", "--why", "a key", "--with", "(a key)")
	if out := host.Do(t, "export", "hello-2026"); strings.Contains(out, "swordfish") || !strings.Contains(out, `"content":"(a key)"`) {
		t.Errorf("it is\n%s", out)
	}

	var plan report.Plan
	host.JSON(t, &plan, "retention", "plan", "--older-than", "1h")
	if len(plan.Items) != 1 {
		t.Fatalf("the plan is %+v", plan)
	}
	host.Do(t, "retention", "apply", plan.ID, "--why", "spring")
	refuse(5, "in the trash until", "erase", "hello-2026", "--yes", "--why", "spring")
	if out := host.Do(t, "erase", "hello-2026"); !strings.Contains(out, "deleted") {
		t.Errorf("a dry run shows %s", out)
	}
	receipt := host.Do(t, "erase", "hello-2026", "--yes", "--why", "spring", "--now")
	for _, want := range []string{"removed", "remains", "sha256:", "spring"} {
		if !strings.Contains(receipt, want) {
			t.Errorf("the receipt has no %q:\n%s", want, receipt)
		}
	}
	refuse(9, "erased by", "info", "hello-2026")
	refuse(9, "erased by", "append", "hello-2026", "--kind", "message", "--text", "more")
	audit := host.Do(t, "audit")
	for _, act := range []string{"hold", "unhold", "redact", "retention", "delete", "erase"} {
		if !strings.Contains(audit, act) {
			t.Errorf("no %s in\n%s", act, audit)
		}
	}
	if strings.Contains(audit, "swordfish") || host.Do(t, "audit", "--since", "1h") != audit {
		t.Errorf("audit:\n%s", audit)
	}

	node.Terminate(t)
	node.Start(t)
	refuse(9, "erased by", "info", "hello-2026")
	host.Do(t, "verify", "--all")
	objects, err := filepath.Glob(filepath.Join(node.Data, "blobs", "snapshots", "*", "hello-2026", "*"))
	if err != nil || len(objects) != 0 {
		t.Errorf("left are %v, %v", objects, err)
	}
}
