package server

import (
	"net/http"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// profileOf returns the profile that ?profile= names, the zero Profile where
// there is none.
func profileOf(r *http.Request) (dialect.Profile, error) {
	return dialect.NamedProfile(r.URL.Query().Get("profile"))
}

// seen returns the session of st, standing at leaf, as p reads it.
func seen(st *core.State, p dialect.Profile, leaf core.Leaf) (dialect.Session, error) {
	return p.View(dialect.Session{ID: st.ID, Dialect: st.Dialect, Header: st.Header, Entries: st.Entries, Leaf: leaf})
}
