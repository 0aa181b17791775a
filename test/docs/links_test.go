package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

const root = "../.."

var (
	link        = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading     = regexp.MustCompile(`^#{1,6} +(.*)$`)
	code        = regexp.MustCompile("`[^`]*`")
	linkText    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	punctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksResolve checks every relative link of every document: the file
// exists, and so does the heading that an anchor names.
func TestLinksResolve(t *testing.T) {
	t.Parallel()
	all := documents(t)
	if len(all) < 10 {
		t.Fatalf("found %d documents", len(all))
	}
	for path, text := range all {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(prose(text), ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") { // another site
				continue
			}
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: link to %s: no such file", path, m[1])
			} else if anchor != "" && !anchors(all[file])[anchor] {
				t.Errorf("%s: link to %s: no such heading", path, m[1])
			}
		}
	}
}

// sourceFile is the path of a file of the repository, as documents name it.
var sourceFile = regexp.MustCompile("`([a-z0-9_]+(?:/[a-z0-9_{},]+)+(?:/|\\.(?:go|ya?ml|json|md|sql)))`")

// TestNamedFilesExist checks that the files and folders that the architecture
// names exist.
func TestNamedFilesExist(t *testing.T) {
	t.Parallel()
	b := testkit.ReadFile(t, filepath.Join(root, "docs", "ARCHITECTURE.md"))
	named := sourceFile.FindAllStringSubmatch(string(b), -1)
	if len(named) < 50 {
		t.Fatalf("found %d paths", len(named))
	}
	for _, m := range named {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("docs/ARCHITECTURE.md: %v", err)
		}
	}
}

// wider are documents whose lines of prose are longer than 120 columns.
var wider = []string{"FORMAT.md", "CLI.md"}

// TestProseFitsTheScreen limits lines of prose to 120 columns. Tables and code
// may be longer.
func TestProseFitsTheScreen(t *testing.T) {
	t.Parallel()
	for path, text := range documents(t) {
		if slices.Contains(wider, filepath.Base(path)) {
			continue
		}
		for line := range strings.Lines(prose(text)) {
			line = strings.TrimRight(line, "\n")
			if len([]rune(line)) > 120 && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "    ") {
				t.Errorf("%s: more than 120 columns: %.60s…", path, line)
			}
		}
	}
}

// documents returns the text of each Markdown file of the repository by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || name == "dist" || name != ".." && strings.HasPrefix(name, ".")) && path != root {
			return filepath.SkipDir
		}
		if filepath.Ext(name) != ".md" {
			return nil
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// prose returns a document without its fenced blocks.
func prose(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		} else if !fenced {
			b.WriteString(line)
		}
	}
	return b.String()
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(prose(text)) {
		m := heading.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		name := linkText.ReplaceAllString(m[1], "$1")
		name = punctuation.ReplaceAllString(strings.ToLower(name), "")
		all[strings.ReplaceAll(name, " ", "-")] = true
	}
	return all
}
