package web_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// axe returns the script of axe-core, which npm fetches. The test is skipped if it
// cannot.
func axe(t *testing.T) string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("skipped: npm is not installed, which fetches axe-core")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), npm, "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "axe-core@4.14.1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%v\n%s", err, out)
		t.Skip("skipped: npm cannot fetch axe-core")
	}
	return readFile(t, filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
}

// axe-core finds nothing serious on any page, light or dark.
func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	n := start(t)
	b := open(t, n.Base)
	script := axe(t)
	id := importFile(t, n, readFile(t, "testdata/demo.jsonl"))
	for _, path := range pages(id) {
		for kind, action := range map[string]chromedp.Action[chromedp.Void]{"light": look(1200, "light"), "dark": look(1200, "dark")} {
			b.do(t, action)
			b.visit(t, n.Base+path)
			eval[bool](t, b, `(() => { for (const d of document.querySelectorAll("details")) d.open = true; return true })()`)
			eval[bool](t, b, script+"; true")
			for _, found := range eval[[]string](t, b, `axe.run({ resultTypes: ["violations"] }).then((r) =>
				r.violations.filter((v) => ["serious", "critical"].includes(v.impact)).flatMap((v) => v.nodes.map((n) => v.id + ": " + v.help + ": " + n.html + " " + n.failureSummary)))`) {
				t.Errorf("%s, %s: %s", path, kind, found)
			}
		}
	}
}

// pages are the addresses of all pages, about the session of testdata/demo.jsonl.
func pages(id string) []string {
	return []string{
		"/", "/?state=open", "/sessions/" + id, "/sessions/" + id + "/tree", "/sessions/" + id + "/usage", "/sessions/" + id + "/share", "/sessions/" + id + "/edits",
		"/sessions/" + id + "/diff", "/sessions/" + id + "/diff?withLeaf=e0000002", "/shared/none", "/search?q=header", "/health", "/signin", "/sessions/none",
	}
}

// No page is wider than a phone, and what it shows can be printed.
func TestPagesFitAPhoneAndPaper(t *testing.T) {
	t.Parallel()
	n := start(t)
	b := open(t, n.Base)
	id := importFile(t, n, readFile(t, "testdata/demo.jsonl"))
	for _, path := range pages(id) {
		b.do(t, look(phone, "light"))
		b.visit(t, n.Base+path)
		eval[bool](t, b, `(() => { for (const d of document.querySelectorAll("details")) d.open = true; return true })()`)
		if width := eval[int](t, b, `document.documentElement.scrollWidth`); width > phone {
			t.Errorf("%s is %d pixels wide on a phone", path, width)
		}
		shown := eval[string](t, b, `document.querySelector("main").innerText`)
		b.do(t, onPaper)
		if printed := eval[string](t, b, `document.querySelector("main").innerText`); len(printed) < len(shown)/2 {
			t.Errorf("%s shows %d characters, and prints %d", path, len(shown), len(printed))
		}
	}
}
