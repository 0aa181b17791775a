package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testName = regexp.MustCompile("`(?:([a-z0-9]+)\\.)?((?:Test|Fuzz|Benchmark)\\w+)`")
	testDecl = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)

	goTest  = regexp.MustCompile("go test\\b[^`\n#]*")
	ofFlag  = regexp.MustCompile(`-(?:run|bench) '?([^ ']+)`)
	pkgPath = regexp.MustCompile(` \./(\S+)`)
)

// TestNamedTestsExist checks that each test that a document names exists, in the
// package that stands before its name.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	known := tests(t)
	for path, text := range current(t) {
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			dirs := known[m[2]]
			if len(dirs) == 0 || m[1] != "" && !slices.ContainsFunc(dirs, func(dir string) bool { return filepath.Base(dir) == m[1] }) {
				t.Errorf("%s: there is no test %s in %q, but in %v", path, m[2], m[1], dirs)
			}
		}
	}
}

// TestCommandsRunTests checks the go test commands of documents: the package
// exists, and -run and -bench match a test of it.
func TestCommandsRunTests(t *testing.T) {
	t.Parallel()
	known, checked := tests(t), 0
	for path, text := range current(t) {
		for _, command := range goTest.FindAllString(text, -1) {
			m := pkgPath.FindStringSubmatch(command)
			if m == nil || strings.Contains(m[1], "...") || strings.Contains(command, " -C ") {
				continue
			}
			checked++
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: %s: %v", path, command, err)
			}
			for _, f := range ofFlag.FindAllStringSubmatch(command, -1) {
				pattern, err := regexp.Compile(f[1])
				if err != nil {
					t.Errorf("%s: %s: %v", path, command, err)
				} else if f[1] != "-" && !matches(known, filepath.Join(root, m[1]), pattern) {
					t.Errorf("%s: %s: no test of the package matches %s", path, command, f[1])
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("checked only %d commands", checked)
	}
}

func matches(known map[string][]string, dir string, pattern *regexp.Regexp) bool {
	for name, dirs := range known {
		if slices.Contains(dirs, dir) && pattern.MatchString(name) {
			return true
		}
	}
	return false
}

// current returns all documents but the changelog, which is history.
func current(t *testing.T) map[string]string {
	t.Helper()
	all := documents(t)
	delete(all, filepath.Join(root, "CHANGELOG.md"))
	return all
}

// tests returns the directories of each test by its name.
func tests(t *testing.T) map[string][]string {
	t.Helper()
	known := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		for _, m := range testDecl.FindAllSubmatch(src, -1) {
			known[string(m[1])] = append(known[string(m[1])], filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return known
}
