package web_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/web"
)

var updateRights = flag.Bool("update-rights", false, "write testdata/rights.golden")

// Tries every page with every kind of caller, for a session of the caller's token and
// another one. The results are 401 and 403, "sign" for the way to the sign-in, and "in"
// for any other answer. They are in testdata/rights.golden; review every change to it. A
// new page changes the file.
func TestEveryPageNeedsRights(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("ours-000001", "the text of ours", "the secret of ours")
	n.make("other-000001", "the secret of others")
	link, secret, shared := n.share("ours-000001", "e0")
	user := func(token string) string { return "sesslog=" + url.QueryEscape(token) }
	callers := []struct{ name, cookie, site string }{
		{"nobody", "", "same-origin"},
		{"wrong", user("wrong"), "same-origin"},
		{"read", user(n.create(api.TokenRequest{Name: "r", Scope: access.Read})), "same-origin"},
		{"write", user(n.create(api.TokenRequest{Name: "w", Scope: access.Write})), "same-origin"},
		{"ours/read", user(n.create(api.TokenRequest{Name: "or", Scope: access.Read, Prefix: "ours-"})), "same-origin"},
		{"ours/write", user(n.create(api.TokenRequest{Name: "ow", Scope: access.Write, Prefix: "ours-"})), "same-origin"},
		{"link", shared.Name + "=" + shared.Value, "same-origin"},
		{"link/user", user(secret), "same-origin"},
		{"other site", user(rootToken), "cross-site"},
		{"other port", user(rootToken), "same-site"},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-46s", "PAGE")
	for _, c := range callers {
		fmt.Fprintf(&b, " %-10s", c.name)
	}
	b.WriteString("\n")
	for _, pattern := range web.Patterns() {
		for _, id := range []string{"ours-000001", "other-000001"} {
			method, path, _ := strings.Cut(pattern, " ")
			if id != "ours-000001" && !strings.Contains(path, "{id}") && path != "/search" {
				continue
			}
			path = strings.NewReplacer("{id}", id, "{share}", strings.TrimPrefix(link, "/shared/"), "{$}", "").Replace(path)
			fmt.Fprintf(&b, "%-46s", strings.Replace(method+" "+path, link, "/shared/{share}", 1))
			for _, c := range callers {
				got, body := n.visit(method, path, id, c.cookie, c.site)
				fmt.Fprintf(&b, " %-10s", got)
				isOurs := strings.HasPrefix(c.name, "ours/")
				if hides := !isOurs && c.name != "read" && c.name != "write"; hides && strings.Contains(body, "secret of") || isOurs && strings.Contains(body, "secret of others") {
					t.Errorf("%s %s shows %s: %s", method, path, c.name, body)
				}
			}
			b.WriteString("\n")
		}
	}
	const file = "testdata/rights.golden"
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	got := []byte(strings.Join(lines, "\n"))
	if *updateRights {
		testkit.Must(t, os.WriteFile(file, got, 0o644))
		return
	}
	if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs (%v); review it and update it with: go test ./web -run TestEveryPageNeedsRights -args -update-rights\n%s", file, err, got)
	}
}

// visit requests a page with all parameters that pages have, and returns the result and the page.
func (n node) visit(method, path, id, cookie, site string) (result, body string) {
	n.t.Helper()
	q := url.Values{
		"entry": {"e0"}, "n": {"0"}, "from": {"0"}, "to": {"9"}, "at": {"after=&count=0&last="}, "q": {"secret"}, "session": {id}, "with": {id},
		"days": {"7"}, "link": {"aaaaaaaaaaaa"}, "key": {"wrong"}, "token": {"wrong"},
	}
	if path == "/" || path == "/live" { // they have filters of the same names
		q = nil
	}
	ctx, cancel := context.WithTimeout(n.t.Context(), 30*time.Second)
	defer cancel()
	form := ""
	if method == http.MethodPost {
		form = q.Encode()
	} else if q != nil {
		path += "?" + q.Encode()
	}
	header := []string{"Sec-Fetch-Site", site, "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image", "Content-Type", "application/x-www-form-urlencoded"}
	if cookie != "" {
		header = append(header, "Cookie", cookie)
	}
	res := n.send(ctx, method, path, "", form, header...)
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") { // these never end
		all, err := io.ReadAll(res.Body)
		testkit.Must(n.t, err)
		body = string(all)
	}
	switch {
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		return fmt.Sprint(res.StatusCode), body
	case res.StatusCode == http.StatusSeeOther && strings.HasPrefix(res.Header.Get("Location"), "/signin"):
		return "sign", body
	}
	return "in", body
}

// Forms that arrive slowly, from callers without a token, delay no page.
func TestSlowSendersDelayNoPage(t *testing.T) {
	t.Parallel()
	n := start(t)
	for range 100 {
		var d net.Dialer
		conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(n.Base, "http://"))
		testkit.Must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = io.WriteString(conn, "POST /signin HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nt")
		testkit.Must(t, err)
	}
	for range 20 { // while these arrive
		if res, body := n.get("/", rootToken); res.StatusCode != http.StatusOK {
			t.Fatalf("%s %s", res.Status, body)
		}
	}
}
