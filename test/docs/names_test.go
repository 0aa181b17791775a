package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testName = regexp.MustCompile("`(?:[a-z0-9]+\\.)?((?:Test|Fuzz|Benchmark)\\w+)`")
	testDecl = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
)

// TestNamedTestsExist checks that each test that a document names is there. The
// changelog is history.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	known := tests(t)
	for path, text := range documents(t) {
		if filepath.Base(path) == "CHANGELOG.md" {
			continue
		}
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			if !known[m[1]] {
				t.Errorf("%s: there is no test %s", path, m[1])
			}
		}
	}
}

// tests returns the names of all tests of the repository.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") && filepath.Base(filepath.Dir(path)) != "blobstoretest" {
			return err
		}
		src, err := os.ReadFile(path)
		for _, m := range testDecl.FindAllSubmatch(src, -1) {
			known[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return known
}
