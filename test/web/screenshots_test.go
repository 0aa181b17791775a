package web_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sesslog/sesslog/internal/testkit"
)

var screenshots = flag.String("screenshots", "", "write a picture of each page to `DIR`")

// With -screenshots it writes a picture of each page: dark, light and on a phone.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("skipped: writes pictures only with -args -browser -screenshots DIR")
	}
	testkit.Must(t, os.MkdirAll(*screenshots, 0o755))
	n := start(t)
	id := importFile(t, n, readFile(t, "testdata/demo.jsonl"))
	others, err := filepath.Glob("testdata/others/*.jsonl")
	testkit.Must(t, err)
	for _, name := range others {
		importFile(t, n, readFile(t, name))
	}
	b := open(t, n.Base)
	for name, path := range map[string]string{
		"sessions": "/", "transcript": "/sessions/" + id + "?from=0", "end": "/sessions/" + id, "tree": "/sessions/" + id + "/tree",
		"usage": "/sessions/" + id + "/usage", "share": "/sessions/" + id + "/share", "changes": "/sessions/" + id + "/edits", "compare": "/sessions/" + id + "/diff?withLeaf=e0000018", "search": "/search?q=header", "health": "/health", "signin": "/signin",
	} {
		for kind, action := range map[string]chromedp.Action[chromedp.Void]{"light": look(1200, "light"), "dark": look(1200, "dark"), "phone": look(phone, "light")} {
			b.do(t, action)
			b.visit(t, n.Base+path)
			eval[bool](t, b, `(() => { document.querySelector(".bar").style.position = "static"; for (const d of document.querySelectorAll(".call")) d.open ||= Boolean(d.querySelector(".diff, img")); return true })()`)
			picture, err := chromedp.Run(b, chromedp.FullScreenshot(100))
			testkit.Must(t, err)
			testkit.Must(t, os.WriteFile(filepath.Join(*screenshots, fmt.Sprintf("%s-%s.png", name, kind)), picture, 0o644))
		}
	}
}
