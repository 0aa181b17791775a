package capabilities

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

var (
	mutate = flag.Bool("mutate", false, "remove capabilities from the programs, one by one; each time a scenario must fail")
	only   = flag.String("only", "", "with -mutate: only the mutations whose scenario and capability match `REGEXP`")
)

// A mutation removes one capability from the source.
type mutation struct {
	scenario string // that must fail; in "name/PI-30", the steps of that capability must fail
	what     string
	file     string
	old, new string
}

var mutations = slices.Concat(generalMutations, admitMutations, piMutations, ompMutations, opMutations, novaMutations, fleetMutations)

var generalMutations = []mutation{
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
		"nova_compress", "nothing is compressed", "engine/fill.go",
		"if !ok || q.Loose ||", "if true || !ok || q.Loose ||",
	},
	{
		"nova_compress", "a task's limits are ignored", "core/dialect/nova/complete.go",
		"l := r.limits()", "r.limits()\n\tl := DefaultLimits",
	},
	{
		"nova_compress/NOVA-12", "a limit that a task does not set is none", "core/dialect/nova/complete.go",
		"l := DefaultLimits\n", "var l Limits\n",
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
		"es, err = d.renumbered(frame.Rows(es))", "es, err = d.renumbered(es)",
	},
	{
		"openrath_derived", "every header is that of a fork", "core/optional/derive.go",
		"case ok && len(from)+len(kind) > 0:", "case ok && len(from) > 1<<30:",
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
		"time_travel/FLEET-22", "every moment is now", "api/server/read.go",
		"if at == \"\" {\n\t\treturn sess.View(f)", "if at != \"-\" {\n\t\treturn sess.View(f)",
	},
	{
		"time_travel/FLEET-22", "a record of another history is the same", "engine/viewat.go",
		"(m.Cursor.Seq == 0 || st.Cursor() == m.Cursor)", "(m.Cursor.Seq == 0 || st.Seq == m.Seq)",
	},
	{
		"time_travel/FLEET-17", "unknown query parameters are ignored", "api/server/query.go",
		"if !slices.Contains(known, name) {", "if false {",
	},
	{
		"usage/FLEET-23", "every head has all answers", "core/usage/report.go",
		"u.Agent == \"\" && (u.Total || counted[i])", "u.Agent == \"\"",
	},
	{
		"usage/FLEET-23", "models are not told apart", "core/usage/report.go",
		"p.models[u.Model].add(u)", "p.models[\"p/claude\"].add(u)",
	},
	{
		"usage/FLEET-23", "each line of an answer counts", "core/usage/fold.go",
		"case known && u.Answer != \"\":", "case false:",
	},
	{
		"usage/FLEET-23", "sub-agents are the session's own agent", "core/dialect/claude/meter.go",
		"	u.Agent = agent\n", "",
	},
	{
		"usage/FLEET-23", "what a fork took over is not told", "core/usage/report.go",
		"if u.Inherited || shared[i] {", "if u.Inherited || shared[i] && false {",
	},
	{
		"usage/FLEET-23", "prices of the caller are ignored", "core/usage/price.go",
		"	maps.Copy(models, more.Models)\n", "",
	},
	{
		"dangling/PI-02", "headers are entries", "core/dialect/internal/tree/admit.go",
		"slices.Contains(headers, e.Type) {", "slices.Contains(headers, e.Type) && false {",
	},
	{
		"dangling", "targets need not exist", "core/dialect/internal/tree/admit.go",
		"!s.Has(it.Target):", "!s.Has(it.Target) && false:",
	},
}

func TestEachMutationMatchesItsSourceOnce(t *testing.T) {
	t.Parallel()
	for _, m := range mutations {
		if err := m.check(); err != nil {
			t.Error(err)
		}
		if name, id := m.target(); id != "" && !slices.Contains(idsOf(t, name), id) {
			t.Errorf("scenario %s does not name %s", name, id)
		}
	}
}

// TestMutationsAreKilled prints which scenario fails without which capability.
func TestMutationsAreKilled(t *testing.T) {
	if !*mutate {
		t.Skip("it plays a scenario for each mutation; only with -mutate")
	}
	dir := buildMutants(t)
	var numbers []int
	var names []string
	for i, m := range mutations {
		if name, _ := m.target(); regexp.MustCompile(*only).MatchString(m.scenario) {
			numbers, names = append(numbers, i), append(names, name)
		}
	}
	slices.Sort(names)
	if out, err := play(t, dir, "("+strings.Join(slices.Compact(names), "|")+")", ""); err != nil {
		t.Fatalf("scenarios fail without a mutation: %v\n%s", err, out)
	}
	var killed atomic.Int32
	t.Run("each", func(t *testing.T) {
		for _, i := range numbers {
			m := mutations[i]
			t.Run(strings.ReplaceAll(m.scenario+" "+m.what, " ", "_"), func(t *testing.T) {
				t.Parallel()
				name, _ := m.target()
				out, err := play(t, dir, name, strconv.Itoa(i))
				switch {
				case err == nil:
					t.Errorf("%s passes although %s", m.scenario, m.what)
				case !m.kills(t, out):
					t.Errorf("%s failed for another reason:\n%s", m.scenario, out)
				default:
					killed.Add(1)
				}
			})
		}
	})
	t.Logf("%d of %d mutations are killed", killed.Load(), len(numbers))
}

// target returns the scenario, and the capability whose steps must fail, if the
// mutation names one.
func (m mutation) target() (name, id string) {
	name, id, _ = strings.Cut(m.scenario, "/")
	return name, id
}

// kills reports whether the scenario failed at steps of the capability.
func (m mutation) kills(t *testing.T, out string) bool {
	t.Helper()
	name, id := m.target()
	failed := regexp.MustCompile(`(?m)FAIL: .*/` + name + `\.txtar:(\d+): `)
	for _, at := range failed.FindAllStringSubmatch(out, -1) {
		line, err := strconv.Atoi(at[1])
		if err != nil {
			t.Fatal(err)
		}
		if id == "" || slices.Contains(idsAt(t, name, line), id) {
			return true
		}
	}
	return false
}

// idsAt returns the capabilities that the last comment before a line names.
func idsAt(t *testing.T, name string, line int) (ids []string) {
	t.Helper()
	for n, text := range strings.Split(readScenario(t, name), "\n") {
		if found := scenarioID.FindAllString(text, -1); n < line && strings.HasPrefix(text, "#") && found != nil {
			ids = found
		}
	}
	return ids
}

// check checks that the source has the text of the mutation once.
func (m mutation) check() error {
	path := filepath.Join(root, filepath.FromSlash(m.file))
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if n := strings.Count(string(src), m.old); n != 1 {
		return fmt.Errorf("%s has the source text of %q %d times, want once", m.file, m.what, n)
	}
	return nil
}
