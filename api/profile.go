package api

import (
	"context"
	"net/http"
	"net/url"

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

// InfoBy is Info by the rules of a profile, such as "pi@0.73"; empty for the
// session's own.
func (c *Client) InfoBy(ctx context.Context, id, profile string) (Info, error) {
	return get[Info](ctx, c, c.session(id, ""), byProfile(profile))
}

// TreeBy is Tree by the rules of a profile; empty for the session's own.
func (c *Client) TreeBy(ctx context.Context, id, profile string) ([]core.TreeNode, error) {
	return get[[]core.TreeNode](ctx, c, c.session(id, "/tree"), byProfile(profile))
}

func byProfile(profile string) url.Values {
	q := url.Values{}
	setIf(q, "profile", profile)
	return q
}
