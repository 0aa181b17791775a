package web_test

import (
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

// The page makes a link; the browser of a reader without a token opens it, follows it,
// and keeps its secret out of the address. Revoking it ends what is shown.
func TestSharedSessionIsShownUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	n := start(t)
	owner := open(t, n.Base)
	id := importFile(t, n, session("shared-000001", 3))
	owner.visit(t, n.Base+"/sessions/"+id+"/share")
	owner.await(t, `document.querySelector("main").textContent.includes("3 entries")`)
	eval[bool](t, owner, `document.querySelector("form.stack button").click(), true`)
	owner.await(t, `document.querySelector("[data-link]")`)
	link := eval[string](t, owner, `document.querySelector("[data-link]").href`)

	reader := openAs(t, n.Base, "")
	reader.visit(t, link)
	reader.await(t, `document.querySelectorAll(".entry").length === 3`)
	testkit.Equal(t, "the fragment", "", eval[string](t, reader, `location.hash`))
	testkit.Equal(t, "the cookie that scripts see", "", eval[string](t, reader, `document.cookie`))
	testkit.Equal(t, "links to other pages", 0, eval[int](t, reader, `document.querySelectorAll("a[href^='/sessions'], a[href='/'], a[href^='/search']").length`))
	reader.await(t, `document.querySelector("#follow button").textContent === "Following"`)
	n.append(t, id, message(3, "user", "text 3"))
	reader.await(t, `document.querySelectorAll(".entry").length === 4`)

	owner.visit(t, n.Base+"/sessions/"+id+"/share")
	owner.await(t, `document.querySelector("form[action$=revoke] button")`)
	eval[bool](t, owner, `document.querySelector("form[action$=revoke] button").click(), true`)
	reader.await(t, `document.querySelector("#follow button").textContent === "Disconnected, reload"`)
	reader.visit(t, n.Base+"/signin")
	reader.visit(t, link)
	reader.await(t, `document.querySelector("[data-open] [role=alert]")`)
	testkit.Equal(t, "entries after it was revoked", 0, eval[int](t, reader, `document.querySelectorAll(".entry").length`))
	owner.wantQuiet(t)
}
