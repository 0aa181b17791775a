package capabilities

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var mutate = flag.Bool("mutate", false, "remove capabilities from the programs, one by one; each time a scenario must fail")

// A mutation removes one capability from the source.
type mutation struct {
	scenario string // that must fail
	what     string
	file     string
	old, new string
}

var mutations = []mutation{
	{
		"nova_file", "a file that Nova changed has diverged", "engine/diverged.go",
		"return d.Succession(st.Header, st.Entries, f.Entries)", "return min(optional.Diverged, d.Succession(st.Header, st.Entries, f.Entries))",
	},
	{
		"nova_file", "a file may undo what the log has", "core/dialect/nova/succession.go",
		"case next.follows(now.State):", "case next.follows(now.State) || true:",
	},
	{
		"nova_file", "resume does not know what Nova added", "agent/localonly.go",
		"== optional.Later {", "== -1 {",
	},
	{
		"nova_file", "the header of a file is compared byte for byte", "core/dialect/nova/line.go",
		"return errA == nil && errB == nil && ha.ID == hb.ID", "return errA == nil && errB == nil && d == Dialect{} && ha.ID != hb.ID",
	},
	{
		"nova_admission", "lines are not checked", "engine/append.go",
		"ok && err == nil && !loose {", "ok && err != nil && !loose {",
	},
	{
		"nova_admission", "unknown members are not measured", "core/dialect/nova/check.go",
		"if len(extra) > maxName {", "if false {",
	},
	{
		"nova_admission", "the state of another session is taken", "core/dialect/nova/check.go",
		"if id != s.Header.ID {", "if false {",
	},
	{
		"nova_compress", "nothing is compressed", "engine/complete.go",
		"if !ok || q.Loose ||", "if true || !ok || q.Loose ||",
	},
	{
		"nova_compress", "a task's limits are ignored", "core/dialect/nova/complete.go",
		"l = Limits{Decisions: int(min(", "_ = Limits{Decisions: int(min(",
	},
	{
		"nova_fork", "forks are not counted", "engine/fork.go",
		"if err == nil && f.Kind != lineage.Detach {", "if false {",
	},
	{
		"nova_fork", "a detached copy counts", "engine/fork.go",
		"if err == nil && f.Kind != lineage.Detach {", "if err == nil {",
	},
	{
		"openrath_closed", "a closed session takes lines", "core/dialect/openrath/rules.go",
		"if !s.Last.Aside {", "if true {",
	},
	{
		"openrath_derived", "a whole fork of a closed session is closed", "core/dialect/openrath/derive.go",
		"es, err = d.renumbered(chunks(es))", "es, err = d.renumbered(es)",
	},
	{
		"openrath_derived", "every header is that of a fork", "core/optional/derive.go",
		"if v, ok := d.(Deriver); ok && len(from) > 0 {", "if v, ok := d.(Deriver); ok && len(from) > 1<<30 {",
	},
	{
		"openrath_derived", "usage is lost", "core/dialect/openrath/derive.go",
		"if s.Usage != nil {", "if false {",
	},
	{
		"openrath_derived", "chunks keep their numbers", "core/dialect/openrath/derive.go",
		"if bytes.Equal(line, es[i].Line) {", "if bytes.Equal(line, es[i].Line) || true {",
	},
	{
		"time_travel", "every moment is now", "api/server/read.go",
		"if at == \"\" {\n\t\treturn sess.View(f)", "if at != \"-\" {\n\t\treturn sess.View(f)",
	},
	{
		"time_travel", "unknown query parameters are ignored", "api/server/query.go",
		"if !slices.Contains(known, name) {", "if false {",
	},
	{
		"dangling", "targets need not exist", "core/dialect/internal/tree/admit.go",
		"!s.Has(it.Target) {", "!s.Has(it.Target) && false {",
	},
}

func TestEachMutationMatchesItsSourceOnce(t *testing.T) {
	t.Parallel()
	for _, m := range mutations {
		if _, _, err := m.mutated(); err != nil {
			t.Error(err)
		}
		idsOf(t, m.scenario)
	}
}

// TestMutationsAreKilled prints which scenario fails without which capability.
func TestMutationsAreKilled(t *testing.T) {
	if !*mutate {
		t.Skip("it builds both programs again for each mutation; only with -mutate")
	}
	killed := 0
	for _, m := range mutations {
		t.Run(strings.ReplaceAll(m.scenario+" "+m.what, " ", "_"), func(t *testing.T) {
			out, err := m.play(t)
			switch {
			case err == nil:
				t.Errorf("%s passes although %s", describe(t, m.scenario), m.what)
			case !strings.Contains(out, "--- FAIL: TestScenarios/"+m.scenario):
				t.Errorf("%s failed for another reason:\n%s", m.scenario, out)
			default:
				killed++
			}
		})
	}
	t.Logf("%d of %d mutations are killed", killed, len(mutations))
}

// mutated returns the path of the file, and its text with the mutation.
func (m mutation) mutated() (path, text string, err error) {
	path, err = filepath.Abs(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return "", "", err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	if n := strings.Count(string(b), m.old); n != 1 {
		return "", "", fmt.Errorf("%s has the source text of %q %d times, want once", m.file, m.what, n)
	}
	return path, strings.Replace(string(b), m.old, m.new, 1), nil
}

// play plays the scenario with mutated programs and returns what the test said.
func (m mutation) play(t *testing.T) (string, error) {
	t.Helper()
	path, text, err := m.mutated()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	broken, overlay := filepath.Join(dir, filepath.Base(path)), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{path: broken}})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{broken: []byte(text), overlay: list} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", dir+string(filepath.Separator), "./cmd/sessnode", "./cmd/sessctl")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the programs do not compile without it: %v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), self, "-test.run", "^TestScenarios$/^"+m.scenario+"$", "-programs", dir).CombinedOutput()
	return string(out), err
}
