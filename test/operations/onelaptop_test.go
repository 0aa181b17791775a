//go:build linux

package operations_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
	"github.com/sesslog/sesslog/test/operations/blocks"
)

const resume = "sessctl resume hello --cwd ~/site -- pi"

// TestOneLaptop types docs/ONE-LAPTOP.md on a machine with a session of pi.
func TestOneLaptop(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a node")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	page, err := blocks.Read("../../docs/ONE-LAPTOP.md")
	if err != nil {
		t.Fatal(err)
	}
	addr := testkit.FreeAddrs(t, 1)[0]
	h := newHost(t, "laptop", "NAME=laptop", "ENTRY=deadbeef", "SESS_LISTEN="+addr, "SESS_URL=http://"+addr)
	file := h.path(".pi/agent/sessions/--home-me-site--/2026-01-05T09-00-00-000Z_hello-2026.jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{file: greeting, h.path("pi"): pi} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Dir(harness.Binary(t, "sessctl"))
	harness.Binary(t, "sessnode")
	h.types(t, 0, "export PATH="+bin+":"+h.home+":$PATH\n")
	for _, step := range page {
		if step.At != "laptop" {
			continue
		}
		// Tests of other packages start agents of that name, which watch cannot tell from one
		// that still works with the session.
		text := strings.ReplaceAll(step.Text, resume, "until "+resume+"; do [ $? = 6 ]; sleep 0.2; done")
		screen := h.types(t, step.Line, text)
		if strings.Contains(step.Text, "sessctl ls") && strings.Count(screen, "Which port does the site use?") < 3 {
			t.Errorf("ls, search or tree lacks the session that was imported:\n%s", screen)
		}
	}
	if out := h.types(t, 0, "sessctl model-input hello\n"); !strings.Contains(out, "Hello from laptop.") {
		t.Errorf("the context lacks the prompt after resume:\n%s", out)
	}
}
