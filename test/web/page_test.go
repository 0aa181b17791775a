package web_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/catalog"
)

// message is entry i of a session of pi, after entry i-1.
func message(i int, role, text string) string {
	parent := "null"
	if i > 0 {
		parent = fmt.Sprintf(`"e%d"`, i-1)
	}
	said, _ := json.Marshal(text)
	return fmt.Sprintf(`{"type":"message","id":"e%d","parentId":%s,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":%q,"content":[{"type":"text","text":%s}],"timestamp":1}}`, i, parent, role, said)
}

// session is a file of pi with n messages.
func session(id string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":%q,"timestamp":"2026-01-01T00:00:00.000Z","cwd":"/home/dev/site"}`+"\n", id)
	for i := range n {
		b.WriteString(message(i, "user", fmt.Sprint("text ", i)) + "\n")
	}
	return b.String()
}

func TestAppendsAppear(t *testing.T) {
	t.Parallel()
	n := start(t)
	b := open(t, n.Base)
	id := importFile(t, n, session("live-000001", 3))
	b.visit(t, n.Base+"/sessions/"+id)
	b.await(t, `document.querySelector("#follow button").textContent === "Following"`)
	// Note when each entry appears, by the clock that the test uses, too.
	eval[bool](t, b, `(() => {
		window.at = {};
		new MutationObserver(() => { for (const e of document.querySelectorAll(".entry")) window.at[e.id] ||= Date.now(); }).observe(document.querySelector("#transcript"), { childList: true, subtree: true });
		return true;
	})()`)
	const count = 100
	sent := map[string]int64{}
	for i := 3; i < count; i++ {
		sent[fmt.Sprint("e-e", i)] = time.Now().UnixMilli()
		_, err := n.Append(t.Context(), id, []byte(message(i, "user", fmt.Sprint("text ", i))+"\n"), client.AppendOptions{})
		testkit.Must(t, err)
	}
	b.await(t, fmt.Sprintf(`document.querySelectorAll(".entry").length >= %d`, count))
	testkit.Equal(t, "entries on the page", wantNumbers(count), eval[[]string](t, b, `[...document.querySelectorAll(".entry")].map((e) => e.dataset.n)`))
	var took []int64
	for entry, at := range eval[map[string]int64](t, b, `window.at`) {
		if began := sent[entry]; began > 0 {
			took = append(took, at-began)
		}
	}
	slices.Sort(took)
	n50, n99 := len(took)/2, (len(took)*99-1)/100
	t.Logf("%d appends appeared after p50 %d ms, p99 %d ms, at most %d ms", len(took), took[n50], took[n99], took[len(took)-1])
	b.wantQuiet(t)
}

func wantNumbers(n int) (want []string) {
	for i := range n {
		want = append(want, fmt.Sprint(i))
	}
	return want
}

func TestHostileSessionsDoNothing(t *testing.T) {
	t.Parallel()
	n := start(t)
	b := open(t, n.Base)
	file := session("hostile-000001", 0)
	for i, text := range []string{
		`<script>alert(1)</script><img src=x onerror=alert(1)>`, `<svg onload=alert(1)></svg>`, `</pre></article></main><iframe src="http://elsewhere.example">`,
		`[a](javascript:alert(1)) ![b](http://elsewhere.example/b.png)`, "\u202Eevil\u2066", "\x1b]8;;javascript:alert(1)\x07x\x1b[31mred", strings.Repeat("A", 10<<20),
		`<link rel=stylesheet href=http://elsewhere.example/x.css><style>body{display:none}</style>`, strings.Repeat("\u0301", 5000), `<a ping=http://elsewhere.example href=#>x</a>`,
	} {
		file += message(i, "user", text) + "\n"
	}
	id := importFile(t, n, file)
	for _, path := range []string{"/", "/sessions/" + id, "/sessions/" + id + "/tree", "/sessions/" + id + "/usage", "/search?q=alert"} {
		b.visit(t, n.Base+path)
		if wide := eval[int](t, b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			t.Errorf("%s is %d pixels too wide", path, wide)
		}
		if eval[bool](t, b, `[...document.scripts].some((s) => s.src !== location.origin + "/static/app.js") || Boolean(document.querySelector("iframe, svg:not(.chart), object, embed"))`) {
			t.Errorf("%s has foreign elements", path)
		}
	}
	b.wantQuiet(t)
}

// Over HTTP and with a name that is not of loopback, as in a tailnet, browsers say less of
// where a request is from. People sign in and out there, too, and after that no part of a
// transcript is loaded.
func TestSignInOverHTTP(t *testing.T) {
	t.Parallel()
	n := start(t)
	id := importFile(t, n, session("http-000001", 2000))
	base := strings.Replace(n.Base, "127.0.0.1", "node.test", 1)
	b := openAs(t, base, "")
	b.visit(t, base+"/sessions/"+id+"?from=0")
	testkit.Equal(t, "the origin is trustworthy", false, eval[bool](t, b, `isSecureContext`))
	b.await(t, `document.querySelector("#token")`)
	eval[bool](t, b, fmt.Sprintf(`document.querySelector("#token").value = %q, document.querySelector("form.stack button").click(), true`, rootToken))
	b.await(t, `document.querySelector("#e-e0")`)
	eval[bool](t, b, `fetch("/signout", { method: "POST" }).then(() => scrollTo(0, document.documentElement.scrollHeight)).then(() => true)`)
	b.await(t, `document.querySelector(".chunk[data-tries]")`)
	testkit.Equal(t, "forms in the transcript", 0, eval[int](t, b, `document.querySelectorAll("#transcript form").length`))
}

// A session that changes stays at its place in a list by name, and is the first in a list
// by time. More of a list that cannot be loaded stays a link.
func TestListKeepsItsOrder(t *testing.T) {
	t.Parallel()
	n := start(t)
	b := open(t, n.Base)
	const count = 120
	for i := range count {
		importFile(t, n, session(fmt.Sprintf("list-%06d", i), 1))
	}
	for list, err := n.List(t.Context(), catalog.Filter{Limit: 1000}); len(list.Sessions) < count; list, err = n.List(t.Context(), catalog.Filter{Limit: 1000}) {
		testkit.Must(t, err) // until the node's directory has read the sessions
	}
	place := func() int {
		b.await(t, `document.querySelector("[data-key=list-000005].fresh")`)
		return eval[int](t, b, `[...document.querySelectorAll(".row")].findIndex((r) => r.dataset.key === "list-000005")`)
	}
	for i, sort := range []string{"created", "modified"} {
		b.visit(t, n.Base+"/?sort="+sort)
		// The first try to load more fails, the next one does not.
		eval[bool](t, b, `window.load = window.load || fetch, window.fetch = () => (window.fetch = load, load("/sessions/none")), scrollTo(0, document.documentElement.scrollHeight), true`)
		b.await(t, `window.fetch === load && document.querySelector(".more:not([data-state])")`)
		eval[bool](t, b, `scrollTo(0, 0), true`)
		b.await(t, fmt.Sprintf(`scrollTo(0, scrollY ? 0 : document.documentElement.scrollHeight), document.querySelectorAll(".row").length === %d`, count))
		n.append(t, "list-000005", message(i+1, "user", "text"))
		if got := place(); (got == 0) != (sort == "modified") {
			t.Errorf("by %s, the session that changed has place %d", sort, got)
		}
	}
}

func TestKeysMoveAndUnfold(t *testing.T) {
	t.Parallel()
	n := start(t)
	b := open(t, n.Base)
	id := importFile(t, n, readFile(t, "testdata/demo.jsonl"))
	b.visit(t, n.Base+"/sessions/"+id)
	press := func(key string) {
		eval[bool](t, b, fmt.Sprintf(`dispatchEvent.call(document.body, new KeyboardEvent("keydown", { key: %q, bubbles: true }))`, key))
	}
	press("g")
	press("j")
	first := eval[string](t, b, `document.querySelector(".current").id`)
	press("j")
	press("k")
	testkit.Equal(t, "entry after j and k", first, eval[string](t, b, `document.querySelector(".current").id`))
	press("e")
	testkit.Equal(t, "folded calls", 0, eval[int](t, b, `document.querySelectorAll("details.call:not([open])").length`))
	press("?")
	testkit.Equal(t, "help is open", true, eval[bool](t, b, `document.querySelector("#help").open`))
	b.wantQuiet(t)
}
