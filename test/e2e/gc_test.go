package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// Blobs that no session references are deleted by two runs with a grace period between
// them, and leave an audit record. Referenced blobs stay, and nothing is deleted
// without --yes.
func TestGCDeletesOnlyUnreferencedBlobs(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	picture := strings.Repeat("pixels ", 400)
	file := filepath.Join(t.TempDir(), "pi.jsonl")
	session := fmt.Sprintf(`{"type":"session","version":3,"id":"with-a-picture","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/lab"}
{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":[{"type":"image","data":%q,"mimeType":"image/png"}],"timestamp":1767323046000}}
`, base64.StdEncoding.EncodeToString([]byte(picture)))
	testkit.WriteFile(t, file, []byte(session))
	if res := host.Sessctl(t, "import", file); res.Code != 0 {
		t.Fatalf("import: %v", res)
	}
	garbage := []byte("nobody names this")
	if err := node.Client().PutBlob(t.Context(), garbage); err != nil {
		t.Fatal(err)
	}
	stored := filepath.Join(node.Data, "blobs")
	old := func() {
		t.Helper()
		long := time.Now().Add(-25 * time.Hour)
		err := filepath.WalkDir(stored, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.Contains(path, string(filepath.Separator)+".") {
				return err
			}
			return os.Chtimes(path, long, long)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	collect := func(args ...string) (r report.GC) {
		t.Helper()
		res := host.Sessctl(t, append([]string{"blobs", "gc", "-o", "json"}, args...)...)
		if res.Code != 0 {
			t.Fatalf("gc: %v", res)
		}
		if err := json.Unmarshal([]byte(res.Out), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	there := func() bool {
		t.Helper()
		r, err := node.Client().Blob(t.Context(), core.DigestOf(garbage))
		if err == nil {
			_ = r.Close()
		}
		return err == nil
	}

	if r := collect("--yes"); r.Stored.Blobs != 2 || r.Referenced.Blobs != 1 || r.Young.Blobs != 1 || r.Moved.Blobs != 0 {
		t.Errorf("while all blobs are recent: %+v", r)
	}
	old()
	if r := collect(); r.Applied || r.Moved.Blobs != 1 {
		t.Errorf("a dry run: %+v", r)
	}
	if r := collect("--yes"); r.Moved.Blobs != 1 || r.Deleted.Blobs != 0 || !there() {
		t.Errorf("the first run: %+v", r)
	}
	old()
	if res := host.Sessctl(t, "blobs", "gc"); res.Code != 0 || !strings.Contains(res.Out, "to delete permanently") || !strings.Contains(res.Err, "--yes") || !there() {
		t.Errorf("as text: %v", res)
	}
	if r := collect("--yes", "--why", "spring cleaning"); r.Deleted.Blobs != 1 || there() {
		t.Errorf("the second run: %+v", r)
	}
	records, err := filepath.Glob(filepath.Join(stored, "reports", "main", "gc", "*.jsonl"))
	if err != nil || len(records) != 1 {
		t.Fatalf("the records are %v, %v", records, err)
	}
	b, err := os.ReadFile(records[0])
	if err != nil || !strings.Contains(string(b), "spring cleaning") || !strings.Contains(string(b), core.DigestOf(garbage).String()) {
		t.Errorf("the record is %s, %v", b, err)
	}
	sameBytes(t, "export", harness.Export(t, node.Client(), "with-a-picture"), []byte(session))

	if res := host.Sessctl(t, "blobs", "gc", "--grace", "1h"); res.Code == 0 || !strings.Contains(res.Err, "blobs.grace") {
		t.Errorf("a grace period that is too short: %v", res)
	}
	other := filepath.Join(stored, "logs", "other")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(other, "20260101T000000.000000000Z"), nil)
	if res := host.Sessctl(t, "blobs", "gc", "--yes"); res.Code == 0 || !strings.Contains(res.Err, "logs/other/") {
		t.Errorf("in another log's bucket: %v", res)
	}
	gone := "logs/other/20260101T000000.000000000Z"
	if r := collect("--gone", gone); r.Applied {
		t.Errorf("a dry run without that log: %+v", r)
	}
	if res := host.Sessctl(t, "blobs", "gc", "--yes"); res.Code == 0 {
		t.Errorf("the dry run removed the other log: %v", res)
	}
	collect("--yes", "--gone", gone, "--why", "its disks are shredded")
	collect("--yes")

	res := host.Sessctl(t, "audit")
	for _, want := range []string{"spring cleaning", "reports/main/gc/", "1 blobs, ", "its disks are shredded", gone, "refused"} {
		if !strings.Contains(res.Out, want) {
			t.Errorf("the audit records lack %q: %v", want, res)
		}
	}
}
