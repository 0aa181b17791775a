package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// shareCookie is the cookie with the secret of a share link. It is sent to the pages of
// that link only.
const shareCookie = "sesslog-share"

// A Preview says what a share link would show.
type Preview struct {
	Entries int      `json:"entries"`
	Secrets []Secret `json:"secrets,omitempty"`
	Last    string   `json:"-"` // the last of the entries
}

// A Secret is something in an entry that looks like one.
type Secret struct {
	Entry string `json:"entry,omitempty"`
	Rule  string `json:"rule"`
}

// PreviewOf reads the path to an entry of a session, or to main if until is empty, and
// searches it by rules for what looks like a secret.
func PreviewOf(ctx context.Context, c *client.Client, rules *secrets.Rules, id, until string) (Preview, error) {
	var p Preview
	info, err := c.Info(ctx, id)
	if err != nil {
		return p, err
	}
	d, err := dialect.Named(info.Log.Dialect)
	if err != nil {
		return p, err
	}
	const all = 1 << 30
	_, err = c.ReadWindow(ctx, id, client.View{Leaf: until}, 0, all, func(line []byte) error {
		p.Entries++
		p.Last = ""
		if e, err := d.Entry(line); err == nil {
			p.Last = e.ID
		}
		for _, f := range rules.Find(line) {
			p.Secrets = append(p.Secrets, Secret{p.Last, f.Rule})
		}
		return nil
	})
	return p, err
}

// A sharePage shows what a link would show, and the links that exist.
type sharePage struct {
	*session
	Preview
	Until string
	Links []access.Token
	Made  string // the address of a new link, below the node's
}

// Main reports whether the page is about main, and not about one entry.
func (s sharePage) Main() bool { return s.Until == "" }

func (p *page) sharePreview(w http.ResponseWriter, r *http.Request) error {
	return p.showShare(w, r, http.StatusOK, "")
}

// showShare shows the links of a session, and the address of a new one if made is not
// empty.
func (p *page) showShare(w http.ResponseWriter, r *http.Request, status int, made string) error {
	s, src, err := p.open(r, "share")
	if err != nil {
		return err
	}
	view := sharePage{session: s, Until: r.FormValue("until"), Made: made}
	if view.Links, err = src.Shares(r.Context(), src.id); err != nil {
		return err
	}
	if made == "" {
		rules, err := p.rules()
		if err != nil {
			return err
		}
		if view.Preview, err = PreviewOf(r.Context(), src.Client, rules, src.id, view.Until); err != nil {
			return err
		}
	}
	return p.show(w, status, "share.html", view)
}

// lifetimes are the choices of how long a link is valid.
var lifetimes = map[string]time.Duration{"1": 24 * time.Hour, "7": 7 * 24 * time.Hour, "30": 30 * 24 * time.Hour}

func (p *page) share(w http.ResponseWriter, r *http.Request) error {
	q := api.ShareRequest{Until: r.PostFormValue("until")}
	if days := r.PostFormValue("days"); days != "never" {
		life, ok := lifetimes[days]
		if !ok {
			return fmt.Errorf("days must be 1, 7, 30 or never: %w", core.ErrInvalid)
		}
		q.Expires = time.Now().Add(life)
	}
	made, err := p.client(r).Share(r.Context(), r.PathValue("id"), q)
	if err != nil {
		return err
	}
	return p.showShare(w, r, http.StatusCreated, api.ShareLink("", made))
}

func (p *page) unshare(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if _, err := p.client(r).Unshare(r.Context(), id, r.PostFormValue("link"), api.Notice{}); err != nil {
		return err
	}
	http.Redirect(w, r, "/sessions/"+url.PathEscape(id)+"/share", http.StatusSeeOther)
	return nil
}

// shared shows the transcript of a share link. Without its cookie, it asks for the
// secret, which the script takes from the fragment of the address.
func (p *page) shared(w http.ResponseWriter, r *http.Request) error {
	err := p.transcript(w, r)
	if unauthorized(err) {
		return p.show(w, http.StatusUnauthorized, "open.html", "")
	}
	return err
}

// openShare exchanges the secret of a share link for its cookie.
func (p *page) openShare(w http.ResponseWriter, r *http.Request) error {
	key := strings.TrimSpace(r.PostFormValue("key"))
	link := r.PathValue("share")
	c := p.client(r)
	c.Token = cmp.Or(key, "none")
	if s, err := c.Shared(r.Context()); unauthorized(err) || err == nil && s.ID != link {
		return p.show(w, http.StatusUnauthorized, "open.html", "This link is not valid: it was revoked, it expired, or it is incomplete.")
	} else if err != nil {
		return err
	}
	path := sharedBase(link)
	setCookie(w, r, shareCookie, path, key, 30*24*60*60)
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}
