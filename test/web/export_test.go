package web_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/web"
)

// An exported session opens from a file without a node and without a network, and shows
// what the page shows.
func TestExportOpensWithoutNetwork(t *testing.T) {
	t.Parallel()
	n := start(t)
	b := open(t, n.Base)
	session := readFile(t, "testdata/demo.jsonl")
	id := importFile(t, n, session)
	const texts = `[...document.querySelectorAll("main .text, main pre")].map((e) => e.textContent.trim()).join("\n")`
	b.visit(t, n.Base+"/sessions/"+id)
	want := eval[string](t, b, texts)

	d := dialect.All()["pi"]
	f, err := d.File([]byte(session))
	testkit.Must(t, err)
	leaf := eval[string](t, b, `[...document.querySelectorAll(".entry:not([hidden])")].at(-1).id.slice(2)`)
	path, err := d.Path(f.Entries, core.LeafAt(leaf))
	testkit.Must(t, err)
	name := filepath.Join(t.TempDir(), "session.html")
	out, err := os.Create(name)
	testkit.Must(t, err)
	testkit.Must(t, web.Export(out, d, f.Header, path))
	testkit.Must(t, out.Close())

	offline := openAs(t, "file://", "") // any request to a network fails the test
	offline.visit(t, "file://"+name)
	testkit.Equal(t, "texts of the file", want, eval[string](t, offline, texts))
	testkit.Equal(t, "images that are not shown", 0, eval[int](t, offline, `[...document.images].filter((i) => !i.src.startsWith("data:") || i.complete && !i.naturalWidth).length`))
	offline.wantQuiet(t)
}
