package web_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
)

// post sends a form as the bearer of a token.
func (n node) post(path, token string, form url.Values) (*http.Response, string) {
	n.t.Helper()
	res := n.send(n.t.Context(), http.MethodPost, path, token, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	testkit.Must(n.t, err)
	return res, string(body)
}

var newLink = regexp.MustCompile(`href="(/shared/[a-z0-9]+)#(sesslog_[A-Za-z0-9_]+)"`)

// share creates a link on the page, and returns its path, its secret, and the cookie
// for which a browser exchanges the secret.
func (n node) share(id, until string) (path, secret string, cookie *http.Cookie) {
	n.t.Helper()
	res, body := n.post("/sessions/"+id+"/share", rootToken, url.Values{"days": {"7"}, "until": {until}})
	found := newLink.FindStringSubmatch(body)
	if res.StatusCode != http.StatusCreated || found == nil {
		n.t.Fatalf("share: %s %s", res.Status, body)
	}
	path, secret = found[1], found[2]
	for {
		res, body := n.post(path, "", url.Values{"key": {secret}})
		if res.StatusCode == http.StatusSeeOther && len(res.Cookies()) == 1 {
			return path, secret, res.Cookies()[0]
		}
		if res.StatusCode != http.StatusUnauthorized { // the node learns of it in moments
			n.t.Fatalf("open: %s %s", res.Status, body)
		}
	}
}

// as returns the headers of a request with a cookie.
func as(c *http.Cookie) []string { return []string{"Cookie", c.Name + "=" + c.Value} }

func TestShareLinkOpensItsPartOnly(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("ours-000001", "the first text", "the second text", "the secret of the session")
	n.make("other-000001", "the secret of others")
	path, secret, cookie := n.share("ours-000001", "e1")
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != path {
		t.Errorf("cookie %v of %s", cookie, path)
	}
	res, body := n.get(path, "", as(cookie)...)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, "the second text") || strings.Contains(body, "secret of") || strings.Contains(body, "/sessions/") {
		t.Errorf("the shared page: %s %s", res.Status, body)
	}
	testkit.Equal(t, "Referrer-Policy", "same-origin", res.Header.Get("Referrer-Policy"))
	if strings.Contains(body, secret) {
		t.Error("the page has the secret of its link")
	}
	shown := 0
	for _, at := range []string{"", "/entries?from=0&to=9", "/raw?entry=e0", "/raw?entry=e2", "/image?entry=e2&n=0", "?entry=e2", "?leaf=e2", "?head=main", "/live?at=after%3D%26count%3D3%26last%3D", "?from=2"} {
		for _, with := range [][]string{nil, as(cookie), {"Cookie", "sesslog=" + url.QueryEscape(secret)}, {"Cookie", "sesslog-share=wrong"}} {
			if strings.HasPrefix(at, "/live") && len(with) > 0 && with[1] == as(cookie)[1] {
				continue // a stream; see below
			}
			res, body := n.get(path+at, "", with...)
			if strings.Contains(body, "secret of") || with == nil && res.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s with %q: %s %s", at, with, res.Status, body)
			}
			if res.StatusCode == http.StatusOK {
				shown++
			}
		}
	}
	testkit.Equal(t, "answers with content", 6, shown)
	for _, foreign := range append(pages("ours-000001"), append(pages("other-000001"), "/", "/search?q=secret", "/health", "/sessions/ours-000001/share", "/v1/sessions")...) {
		for _, name := range []string{cookie.Name, "sesslog"} {
			if res, body := n.get(foreign, "", "Cookie", name+"="+cookie.Value); res.StatusCode == http.StatusOK || strings.Contains(body, "secret of") {
				t.Errorf("%s with the cookie as %s: %s %s", foreign, name, res.Status, body)
			}
		}
	}
	// A script of another origin cannot use the cookie.
	if res, _ := n.get(path, "", append(as(cookie), "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty")...); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("another origin reads the shared page: %s", res.Status)
	}
}

func TestSharedPageFollowsUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("ours-000001", "the first text")
	path, _, cookie := n.share("ours-000001", "")
	_, body := n.get(path, "", as(cookie)...)
	live := regexp.MustCompile(`data-live="([^"]+)"`).FindStringSubmatch(body)
	if live == nil {
		t.Fatalf("the page does not follow: %s", body)
	}
	res := n.send(t.Context(), http.MethodGet, strings.ReplaceAll(live[1], "&amp;", "&"), "", "", as(cookie)...)
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	_, err := n.Append(t.Context(), "ours-000001", []byte(message(1, "the second text")+"\n"), client.AppendOptions{})
	testkit.Must(t, err)
	for lines.Scan() && !strings.Contains(lines.Text(), "the second text") {
	}
	links, err := n.Shares(t.Context(), "ours-000001")
	testkit.Must(t, err)
	if res, body := n.post("/sessions/ours-000001/share/revoke", rootToken, url.Values{"link": {links[0].ID}}); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("revoke: %s %s", res.Status, body)
	}
	for lines.Scan() { // the stream ends
	}
	if res, body := n.get(path, "", as(cookie)...); res.StatusCode != http.StatusUnauthorized || strings.Contains(body, "text") && strings.Contains(body, "the first text") {
		t.Errorf("a revoked link: %s %s", res.Status, body)
	}
}

// A part of a transcript and an image cost one call of the API, which reads the entries.
// In particular, they summarize no session.
func TestPartsReadOnlyTheirEntries(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var calls []string
	n := startWith(t, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		mu.Lock()
		calls = append(calls, r.URL.Path)
		mu.Unlock()
		api.ServeHTTP(w, r)
	})
	demo, err := os.ReadFile("../test/web/testdata/demo.jsonl")
	testkit.Must(t, err)
	made, err := n.Import(t.Context(), bytes.NewReader(demo), int64(len(demo)), client.ImportOptions{})
	testkit.Must(t, err)
	path, _, cookie := n.share(string(made.ID), "")
	for base, want := range map[string]string{"/sessions/" + string(made.ID): "/v1/sessions/" + string(made.ID) + "/entries", path: "/v1/shared/entries"} {
		header := as(cookie)
		if base != path {
			header = []string{"Cookie", "sesslog=" + rootToken}
		}
		_, body := n.get(base+"?from=0", "", header...)
		image, dialect := regexp.MustCompile(`src="(/[^"]+/image[^"]+)"`).FindStringSubmatch(body), regexp.MustCompile(`data-dialect="(\w+)"`).FindStringSubmatch(body)
		if image == nil || dialect == nil {
			t.Fatalf("%s has no image: %s", base, body)
		}
		for _, part := range []string{html.UnescapeString(image[1]), base + "/entries?from=0&to=3&dialect=" + dialect[1]} {
			mu.Lock()
			calls = nil
			mu.Unlock()
			res, body := n.get(part, "", header...)
			if res.StatusCode != http.StatusOK {
				t.Errorf("%s: %s %s", part, res.Status, body)
			}
			if keep := res.Header.Get("Cache-Control"); keep != "no-store" && keep != "private, max-age=60" {
				t.Errorf("%s is kept: %s", part, keep)
			}
			mu.Lock()
			testkit.Equal(t, part, []string{want}, calls)
			mu.Unlock()
			if res, _ := n.get(part, ""); res.StatusCode == http.StatusOK {
				t.Errorf("%s without a token: %s", part, res.Status)
			}
		}
	}
}

func TestSharePreviewNamesSecrets(t *testing.T) {
	t.Parallel()
	n := start(t)
	key := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	n.make("ours-000001", "hello", "use the key "+key, "bye")
	_, body := n.get("/sessions/ours-000001/share", rootToken)
	if !strings.Contains(body, "3 entries") || !strings.Contains(body, "github-pat") || !strings.Contains(body, "entry=e1") || strings.Contains(body, key) {
		t.Errorf("the preview: %s", body)
	}
	if _, body := n.get("/sessions/ours-000001/share?until=e0", rootToken); !strings.Contains(body, "1 entries") || strings.Contains(body, "github-pat") {
		t.Errorf("the preview up to e0: %s", body)
	}
	// A token that only reads may not share.
	token := n.create(api.TokenRequest{Name: "reader", Scope: access.Read})
	if res, _ := n.post("/sessions/ours-000001/share", token, url.Values{"days": {"7"}}); res.StatusCode != http.StatusForbidden {
		t.Errorf("a reader shares: %s", res.Status)
	}
}
