package fire_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

// A flaw is a source change that breaks a promise.
type flaw struct {
	file     string // below the module's root
	from, to string // source text and its replacement
}

var flaws = map[string]flaw{
	"a fence is ignored": {
		"core/admit.go",
		"if claim == nil && !holds || claim != nil && claim.Writer == writer {", "if true {",
	},
	"an expected place is ignored": {
		"core/admit.go",
		"if h.Seq <= after.Seq && after.Seq < s.Seq || after == s.Cursor() {", "if h.Seq < 1<<62 {",
	},
	"an append is answered before it is stored": {
		"api/server/append.go",
		"return sess.Append(r.Context(), a)", "go sess.Append(context.WithoutCancel(r.Context()), a)\n\treturn core.Receipt{}, nil",
	},
}

// The test detects a node that breaks a promise.
func TestBrokenBuildIsDetected(t *testing.T) {
	if !*long {
		t.Skip("skipped: it takes minutes; ask for it with -long")
	}
	for name, f := range flaws {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestOneNodeUnderFire$", "-for=5s")
			cmd.Env = append(os.Environ(), "GOFLAGS=-overlay="+f.overlay(t))
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "is not linearizable") {
				t.Errorf("the broken build gets through, %v:\n%s", err, out)
			}
		})
	}
}

// overlay writes the go command's overlay for a build with the flaw.
func (f flaw) overlay(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", "..", f.file))
	if err != nil {
		t.Fatal(err)
	}
	source := testkit.ReadFile(t, file)
	if strings.Count(string(source), f.from) != 1 {
		t.Fatalf("%s has no %q any more; break it in another way", f.file, f.from)
	}
	dir := t.TempDir()
	broken, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
	testkit.WriteFile(t, broken, []byte(strings.Replace(string(source), f.from, f.to, 1)))
	b, err := json.Marshal(map[string]map[string]string{"Replace": {file: broken}})
	if err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, overlay, b)
	return overlay
}
