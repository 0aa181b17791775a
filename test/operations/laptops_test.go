//go:build linux

package operations_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
	"github.com/sesslog/sesslog/test/operations/blocks"
)

// greeting is a session of pi in its home.
const greeting = `{"type":"session","version":3,"id":"hello-2026","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/home/me/site"}
{"type":"message","id":"a1b2c3d4","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"Which port does the site use?"}}
`

// pi stands for the agent: it appends a prompt to the file that it is started with.
const pi = `#!/bin/sh
while [ "$1" != --session ]; do shift; done
last=$(tail -n 1 "$2" | sed 's/.*"id":"\([^"]*\)".*/\1/')
printf '{"type":"message","id":"%s","parentId":"%s","timestamp":"2026-01-05T09:01:00.000Z","message":{"role":"user","content":"Hello from %s."}}\n' "$ENTRY" "$last" "$NAME" >> "$2"
`

// TestTwoLaptops types docs/TWO-LAPTOPS.md. A session that was begun on one host
// continues on the other, and then on the first.
func TestTwoLaptops(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a node")
	}
	for _, name := range []string{"bash", "openssl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name, " is not installed")
		}
	}
	page, err := blocks.Read("../../docs/TWO-LAPTOPS.md")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	bin := filepath.Dir(harness.Binary(t, "sessctl"))
	harness.Binary(t, "sessnode")
	desk := freeNetwork(t) + "1"
	hosts := map[string]*host{}
	for name, entry := range map[string]string{"desk": "deadbeef", "couch": "c0c0c0c0"} {
		h := newHost(t, name, "NAME="+name, "ENTRY="+entry, "DESK="+desk)
		if err := os.WriteFile(h.path("pi"), []byte(pi), 0o700); err != nil {
			t.Fatal(err)
		}
		h.types(t, 0, fmt.Sprintf("export PATH=%s:%s:$PATH\n", bin, h.home))
		hosts[name] = h
	}
	for _, step := range page {
		h := hosts[step.At]
		if h == nil {
			continue
		}
		screen := h.types(t, step.Line, step.Text)
		switch {
		case strings.Contains(step.Text, "sessctl watch") && h.name == "desk": // the agent works on desk
			file := h.path(".pi/agent/sessions/--home-me-site--/2026-01-05T09-00-00-000Z_hello-2026.jsonl")
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			testkit.WriteFile(t, file, []byte(greeting))
			h.types(t, step.Line, "until sessctl tree hello-2026 | grep a1b2c3d4; do sleep 0.1; done\n")
		case strings.Contains(step.Text, "token create"):
			if err := os.MkdirAll(hosts["couch"].path(".config/sesslog"), 0o700); err != nil {
				t.Fatal(err)
			}
			testkit.WriteFile(t, hosts["couch"].path(".config/sesslog/couch-token"), []byte(h.read(".config/sesslog/couch-token")))
		case strings.Contains(step.Text, "sessctl ls") && !strings.Contains(screen, "Which port does the site use?"):
			t.Errorf("couch does not list the session of desk:\n%s", screen)
		case strings.Contains(step.Text, "resume") && h.name == "desk" && !strings.Contains(screen, "Hello from couch."):
			t.Errorf("desk does not see what couch wrote:\n%s", screen)
		}
	}
	if out := hosts["couch"].types(t, 0, "sessctl model-input hello\n"); !strings.Contains(out, "Hello from couch.") || !strings.Contains(out, "Hello from desk.") {
		t.Errorf("the context lacks prompts of the two laptops:\n%s", out)
	}
	t.Logf("from nothing to a session continued on two hosts: %v", time.Since(began).Round(100*time.Millisecond))
}
