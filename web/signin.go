package web

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/inside"
)

// cookieName is the cookie with the user's token.
const cookieName = "sesslog"

// client returns a client of the API with the rights of the request: those of the
// cookie if it is the page's own request, else those of its certificate. A page of a
// share link has the rights of that link only.
func (p *page) client(r *http.Request) *client.Client {
	c := &client.Client{Base: "http://localhost", HTTP: &http.Client{Transport: inside.Transport{API: p.api, Of: r}}}
	name := cookieName
	if r.PathValue("share") != "" {
		name, c.Token = shareCookie, "none"
	}
	if cookie, err := r.Cookie(name); err == nil && ownRequest(r) {
		c.Token, _ = url.QueryUnescape(cookie.Value)
	}
	return c
}

// callerName returns the name under which the limiter counts the requests of a caller: its
// cookie, or its address.
func callerName(r *http.Request) string {
	name := cookieName
	if r.PathValue("share") != "" {
		name = shareCookie
	}
	if cookie, err := r.Cookie(name); err == nil {
		token, _ := url.QueryUnescape(cookie.Value)
		return token
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host
}

// ownRequest reports whether a request came from this page, or from a person who opened
// it. Another origin may not use the cookie, not even one on another port of this host,
// to which browsers send it as well.
func ownRequest(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return true
	case "":
		from := r.Header.Get("Origin")
		if from == "" {
			return true // no browser, or an old one that follows a link
		}
		u, err := url.Parse(from)
		return err == nil && u.Host == r.Host
	}
	// A link on another page. The answer is shown, and that page cannot read it.
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

func (p *page) signInForm(w http.ResponseWriter, r *http.Request) error {
	return p.show(w, http.StatusOK, "signin.html", signIn{Back: backOf(r)})
}

type signIn struct {
	Back  string // where to continue
	Wrong string // why the token was refused
}

func (p *page) signIn(w http.ResponseWriter, r *http.Request) error {
	token := strings.TrimSpace(r.PostFormValue("token"))
	c := p.client(r)
	c.Token = token
	_, err := c.Whoami(r.Context())
	if unauthorized(err) {
		return p.show(w, http.StatusUnauthorized, "signin.html", signIn{backOf(r), "The node does not accept this token."})
	}
	if err != nil {
		return err
	}
	setCookie(w, r, cookieName, "/", token, 30*24*60*60)
	http.Redirect(w, r, backOf(r), http.StatusSeeOther)
	return nil
}

func (p *page) signOut(w http.ResponseWriter, r *http.Request) error {
	setCookie(w, r, cookieName, "/", "", -1)
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
	return nil
}

func setCookie(w http.ResponseWriter, r *http.Request, name, path, token string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: url.QueryEscape(token), Path: path, MaxAge: age,
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

// backOf returns the path to continue at after the sign-in: one of this page.
func backOf(r *http.Request) string {
	back := r.FormValue("back")
	u, err := url.Parse(back)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(back, "/") || strings.HasPrefix(back, "//") || strings.ContainsAny(back, "\\\r\n") {
		return "/"
	}
	return back
}

// unauthorized reports whether err says that the caller must sign in.
func unauthorized(err error) bool { return errors.Is(err, api.ErrUnauthorized) }
