package e2e_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// OMP-37: omp keeps images in a folder of its machine. They are stored in the log with
// a session, are in its context, and are written to omp's folder on the host that
// resumes. The session's own lines keep their references.
func TestImageStoreFollowsSessions(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	here, there := t.TempDir(), t.TempDir()
	picture := bytes.Repeat([]byte("pixels "), 400)
	name := strings.TrimPrefix(core.DigestOf(picture).String(), "sha256:")
	gone := strings.Repeat("0", 64)
	testkit.WriteFile(t, filepath.Join(here, name), picture)
	testkit.WriteFile(t, filepath.Join(here, gone), []byte("not those bytes"))
	file := filepath.Join(t.TempDir(), "omp.jsonl")
	session := fmt.Sprintf(`{"type":"session","version":3,"id":"019b7c01-0000-7000-8000-00000000aaaa","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/lab","title":"pictures","titleSource":"user"}
{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":[{"type":"image","data":"blob:sha256:%s","mimeType":"image/png"},{"type":"image","data":"blob:sha256:%s","mimeType":"image/png"}],"timestamp":1767323046000}}
`, name, gone)
	testkit.WriteFile(t, file, []byte(session))

	res := host.Sessctl(t, "import", file, "--images", here)
	if res.Code != 0 || !strings.Contains(res.Err, gone) || strings.Contains(res.Err, name) {
		t.Fatalf("import: %v", res)
	}
	id := "019b7c01-0000-7000-8000-00000000aaaa"
	sameBytes(t, "export", harness.Export(t, node.Client(), id), []byte(session))
	res = host.Sessctl(t, "model-input", id, "-o", "json")
	for _, want := range []string{base64.StdEncoding.EncodeToString(picture), "blob:sha256:" + gone} {
		if !strings.Contains(res.Out, want) {
			t.Errorf("the context lacks %.80s", want)
		}
	}

	res = host.Sessctl(t, "resume", id, "--dir", t.TempDir(), "--images", filepath.Join(there, "new"))
	if res.Code != 0 || !strings.Contains(res.Err, gone) {
		t.Fatalf("resume: %v", res)
	}
	got, err := os.ReadFile(filepath.Join(there, "new", name))
	if err != nil || !bytes.Equal(got, picture) {
		t.Errorf("the image in omp's folder: %d bytes, %v", len(got), err)
	}
}
