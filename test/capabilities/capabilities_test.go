package capabilities

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

const root = "../.."

// capabilities has the number of each agent's capabilities.
var capabilities = map[string]int{"OP": 43, "OMP": 46, "NOVA": 40, "PI": 42, "RATH": 58}

func allIDs() (ids []string) {
	for agent, most := range capabilities {
		for n := range most {
			ids = append(ids, fmt.Sprintf("%s-%02d", agent, n+1))
		}
	}
	return ids
}

var (
	row      = regexp.MustCompile(`(?m)^\| ((?:OP|OMP|NOVA|PI|RATH)-\d\d) \| (.*?) \| (.*?) \|$`)
	quoted   = regexp.MustCompile("`([^`]+)`")
	testName = regexp.MustCompile(`^((Test|Fuzz)\w+|sessiontest\.\w+)$`)
	testDecl = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	suiteRow = regexp.MustCompile(`(?m)^\t\{"(\w+)", \w+\},$`) // of session/sessiontest
	anyID    = regexp.MustCompile(`\b(OP|OMP|NOVA|PI|RATH)-(\d\d)\b(?: to (?:OP|OMP|NOVA|PI|RATH)-(\d\d)\b)?`)
)

func TestEveryCapabilityHasAValidRow(t *testing.T) {
	t.Parallel()
	doc := testkit.ReadFile(t, filepath.Join(root, "docs", "DIALECTS.md"))
	tests, named := readTests(t)
	rows := map[string]int{}
	for _, m := range row.FindAllStringSubmatch(string(doc), -1) {
		id, where, shown := m[1], m[2], m[3]
		rows[id]++
		checkPaths(t, id, where)
		if !named[id] {
			t.Errorf("no test names %s", id)
		}
		checkTests(t, id, shown, tests)
	}
	for _, id := range allIDs() {
		if rows[id] != 1 {
			t.Errorf("%s has %d rows, want 1", id, rows[id])
		}
		delete(rows, id)
	}
	for id := range rows {
		t.Errorf("%s is not a capability", id)
	}
}

// checkPaths checks that the paths in a cell exist.
func checkPaths(t *testing.T, id, cell string) {
	t.Helper()
	for _, q := range quoted.FindAllStringSubmatch(cell, -1) {
		if !strings.Contains(q[1], "/") {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(q[1]))); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// checkTests checks that a cell names tests, and that they exist.
func checkTests(t *testing.T, id, cell string, tests map[string]bool) {
	t.Helper()
	found := 0
	for _, q := range quoted.FindAllStringSubmatch(cell, -1) {
		if !testName.MatchString(q[1]) {
			continue
		}
		found++
		if !tests[q[1]] {
			t.Errorf("%s: test %s does not exist", id, q[1])
		}
	}
	if found == 0 {
		t.Errorf("%s: the row names no test and no reason why not", id)
	}
}

// readTests returns the names of all tests, and the capabilities that the test
// files mention.
func readTests(t *testing.T) (tests, named map[string]bool) {
	t.Helper()
	tests, named = map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		suite := filepath.Base(filepath.Dir(path)) == "sessiontest"
		scenario := strings.HasSuffix(path, ".txtar") && filepath.Base(filepath.Dir(path)) == "scenarios"
		if err != nil || !scenario && !strings.HasSuffix(path, "_test.go") && !(suite && strings.HasSuffix(path, ".go")) {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range testDecl.FindAllSubmatch(src, -1) {
			tests[string(m[1])] = true
		}
		if suite {
			for _, m := range suiteRow.FindAllSubmatch(src, -1) {
				tests["sessiontest."+string(m[1])] = true
			}
		}
		for _, m := range anyID.FindAllStringSubmatch(string(src), -1) {
			nameSpan(named, m[1], m[2], m[3])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests, named
}

// nameSpan records "PI-05", or each of "PI-05 to PI-11".
func nameSpan(named map[string]bool, agent, from, to string) {
	first, _ := strconv.Atoi(from)
	last, err := strconv.Atoi(to)
	if err != nil {
		last = first
	}
	for n := first; n <= last; n++ {
		named[fmt.Sprintf("%s-%02d", agent, n)] = true
	}
}
