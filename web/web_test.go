package web_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/internal/nodetest"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/web"
)

const rootToken = "the-token-of-the-test"

// A node serves a page.
type node struct {
	*nodetest.Node
	t *testing.T
}

func start(t *testing.T) node {
	t.Helper()
	return node{nodetest.Start(t, nodetest.Config{Serve: func(c *server.Config) { c.Token, c.Page = rootToken, web.New("", c.Memory) }}), t}
}

// startWith starts a node whose page makes its calls of the API through f.
func startWith(t *testing.T, f func(w http.ResponseWriter, r *http.Request, api http.Handler)) node {
	t.Helper()
	return node{nodetest.Start(t, nodetest.Config{Serve: func(c *server.Config) {
		c.Token = rootToken
		c.Page = func(api http.Handler) http.Handler {
			return web.New("", c.Memory)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f(w, r, api) }))
		}
	}}), t}
}

// get requests a page as the bearer of a token, with further headers.
func (n node) get(path, token string, header ...string) (*http.Response, string) {
	n.t.Helper()
	res := n.send(n.t.Context(), http.MethodGet, path, token, "", header...)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	testkit.Must(n.t, err)
	return res, string(body)
}

func (n node) send(ctx context.Context, method, path, token, body string, header ...string) *http.Response {
	n.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, n.Base+path, strings.NewReader(body))
	testkit.Must(n.t, err)
	if token != "" {
		req.AddCookie(&http.Cookie{Name: "sesslog", Value: url.QueryEscape(token)})
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	testkit.Must(n.t, err)
	return res
}

// make imports a session of pi with the id and messages.
func (n node) make(id string, messages ...string) {
	n.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":%q,"timestamp":"2026-01-01T00:00:00.000Z","cwd":"/home/dev/site"}`+"\n", id)
	for i, text := range messages {
		b.WriteString(message(i, text) + "\n")
	}
	_, err := n.Import(n.t.Context(), strings.NewReader(b.String()), int64(b.Len()), client.ImportOptions{})
	testkit.Must(n.t, err)
}

// message is entry i of a session, after entry i-1.
func message(i int, text string) string {
	parent := "null"
	if i > 0 {
		parent = fmt.Sprintf(`"e%d"`, i-1)
	}
	said, _ := json.Marshal(text)
	return fmt.Sprintf(`{"type":"message","id":"e%d","parentId":%s,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":%s}],"timestamp":1}}`, i, parent, said)
}

// pages are the addresses of a session's pages.
func pages(id string) []string {
	s := "/sessions/" + id
	return []string{
		s, s + "?entry=e0", s + "/entries?from=0&to=9", s + "/raw?entry=e0", s + "/image?entry=e0&n=0", s + "/tree", s + "/usage",
		"/search?session=" + id + "&q=secret", s + "/live?at=after%3D%26count%3D0%26last%3D",
	}
}

func TestNothingIsShownWithoutAToken(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("ours-000001", "the secret of the session")
	for _, path := range append(pages("ours-000001"), "/", "/live", "/search", "/search?q=secret", "/health") {
		for _, token := range []string{"", "wrong"} {
			res, body := n.get(path, token)
			if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(res.Header.Get("Location"), "/signin?back=") || strings.Contains(body, "secret of") {
				t.Errorf("%s with token %q: %s %s", path, token, res.Status, body)
			}
			res, body = n.get(path, token, "Sec-Fetch-Dest", "empty", "Sec-Fetch-Site", "same-origin")
			if res.StatusCode != http.StatusUnauthorized || strings.Contains(body, "secret of") {
				t.Errorf("a script gets %s with token %q: %s", path, token, res.Status)
			}
		}
	}
}

func TestTokenWithPrefixSeesItsSessions(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("ours-000001", "we said so")
	n.make("other-000001", "the secret of others")
	token := n.create(api.TokenRequest{Name: "ours", Scope: access.Read, Prefix: "ours-"})
	for _, path := range pages("ours-000001")[:2] {
		if res, body := n.get(path, token); res.StatusCode != http.StatusOK || !strings.Contains(body, "we said so") {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
	for _, path := range pages("other-000001") {
		if res, body := n.get(path, token); res.StatusCode != http.StatusForbidden && !strings.Contains(body, "Nothing found") || strings.Contains(body, "secret of") {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
	if _, body := n.get("/", token); !strings.Contains(body, "ours-000001") || strings.Contains(body, "other-") {
		t.Errorf("the list: %s", body)
	}
	if _, body := n.get("/search?q=secret", token); strings.Contains(body, "other-") {
		t.Errorf("the search: %s", body)
	}
	if res, _ := n.get("/health", token); res.StatusCode != http.StatusForbidden {
		t.Errorf("health: %s", res.Status)
	}
}

// create creates a token and waits until the node accepts it.
func (n node) create(q api.TokenRequest) string {
	n.t.Helper()
	made, err := n.CreateToken(n.t.Context(), q)
	testkit.Must(n.t, err)
	for res := (*http.Response)(nil); res == nil || res.StatusCode == http.StatusUnauthorized; {
		res = n.send(n.t.Context(), http.MethodGet, "/v1/whoami", "", "", "Authorization", "Bearer "+made.Bearer)
		_ = res.Body.Close()
	}
	return made.Bearer
}

func TestCookieIsOfNoUseToOtherOrigins(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("ours-000001", "the secret of the session")
	for name, header := range map[string][]string{
		"a script of another site":     {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"},
		"a script of another port":     {"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"},
		"a script tag of another port": {"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"},
		"a frame of another site":      {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
		"an old browser":               {"Origin", "http://elsewhere.example"},
	} {
		if res, body := n.get("/sessions/ours-000001", rootToken, header...); res.StatusCode == http.StatusOK || strings.Contains(body, "secret of") {
			t.Errorf("%s reads the page: %s", name, res.Status)
		}
	}
	// The API does not know the cookie, from any origin.
	if res, _ := n.get("/v1/sessions", rootToken, "Sec-Fetch-Site", "same-origin"); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the API with a cookie: %s", res.Status)
	}
	for _, path := range []string{"/signin", "/signout"} {
		res := n.send(t.Context(), http.MethodPost, path, "", "token="+rootToken, "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "cross-site", "Origin", "http://elsewhere.example")
		_ = res.Body.Close()
		if res.StatusCode != http.StatusForbidden || len(res.Cookies()) > 0 {
			t.Errorf("POST %s of another site: %s", path, res.Status)
		}
	}
}

func TestSignInSetsAProtectedCookie(t *testing.T) {
	t.Parallel()
	n := start(t)
	for back, want := range map[string]string{"/search?q=x": "/search?q=x", "//evil.example": "/", "https://evil.example/": "/", `/\evil.example`: "/", "": "/"} {
		form := url.Values{"token": {rootToken}, "back": {back}}.Encode()
		res := n.send(t.Context(), http.MethodPost, "/signin", "", form, "Content-Type", "application/x-www-form-urlencoded")
		_ = res.Body.Close()
		if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != want {
			t.Errorf("back %q: %s to %q, want %q", back, res.Status, res.Header.Get("Location"), want)
		}
		cookies := res.Cookies()
		if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
			t.Errorf("cookies %v", cookies)
		}
	}
	res := n.send(t.Context(), http.MethodPost, "/signin", "", "token=wrong", "Content-Type", "application/x-www-form-urlencoded")
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusUnauthorized || len(res.Cookies()) > 0 || !strings.Contains(string(body), "does not accept") {
		t.Errorf("a wrong token: %s %s", res.Status, body)
	}
}

// hostile are texts that try to be more than text.
var hostile = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg onload=alert(1)><circle/></svg>`, `"><script>alert(1)</script>`,
	`[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,<script>alert(1)</script>) <javascript:alert(1)>`,
	`![x](http://elsewhere.example/x.png) ![y](javascript:alert(1))`, "```html\n<script>alert(1)</script>\n```", "```<script>\nx\n```",
	"\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07 \x1b[31m<b>red</b>\x1b[0m \x1b[99999999999m \x1b[", "\u202Etxt.exe\u202C \u2066x",
	"&lt;script&gt; &#x6a;avascript:", "\x00\x01\x7f\u0080\u009b31m", strings.Repeat("<", 5000), strings.Repeat("[", 20000), strings.Repeat("> ", 3000) + "x",
	"a\ufffeb\U0010ffff", "<style>*{display:none}</style><base href=//elsewhere.example><meta http-equiv=refresh content=0>", "</pre></article></main><h1>x",
}

// links are the addresses that a page may have.
var links = regexp.MustCompile(`^(/[^/]|/$|\?|#|https?://|mailto:)`)

func TestHostileTextsStayTexts(t *testing.T) {
	t.Parallel()
	n := start(t)
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":"hostile-000001","timestamp":"2026-01-01T00:00:00.000Z","cwd":%s}`+"\n", quoted(hostile[3]))
	last := "null"
	add := func(kind, body string) {
		id := quoted(fmt.Sprintf(`"><script>%d`, b.Len()))
		fmt.Fprintf(&b, `{"type":%q,"id":%s,"parentId":%s,"timestamp":"2026-01-01T00:00:01.000Z",%s}`+"\n", kind, id, last, body)
		last = id
	}
	for i, text := range hostile {
		q := quoted(text)
		add("message", `"message":{"role":"user","content":[{"type":"text","text":`+q+`}],"timestamp":1}`)
		add("message", `"message":{"role":"assistant","content":[{"type":"thinking","thinking":`+q+`},{"type":"text","text":`+q+`},{"type":"toolCall","id":`+quoted(text+fmt.Sprint(i))+`,"name":`+q+`,"arguments":{"command":`+q+`,"oldText":`+q+`,"newText":"x"}}],"api":"x","provider":`+q+`,"model":`+q+`,"stopReason":"error","errorMessage":`+q+`,"timestamp":1}`)
		add("message", `"message":{"role":"toolResult","toolCallId":`+quoted(text+fmt.Sprint(i))+`,"toolName":`+q+`,"content":[{"type":"text","text":`+q+`},{"type":"image","data":"PHN2Zz48L3N2Zz4=","mimeType":`+q+`}],"isError":true,"timestamp":1}`)
		add("session_info", `"name":`+q)
		add("custom_message", `"customType":`+q+`,"content":`+q+`,"display":true`)
		add("compaction", `"summary":`+q+`,"firstKeptEntryId":"x","tokensBefore":1`)
	}
	_, err := n.Import(t.Context(), strings.NewReader(b.String()), int64(b.Len()), client.ImportOptions{})
	testkit.Must(t, err)
	s := "/sessions/hostile-000001"
	for _, path := range []string{"/", s + "?from=0", s, s + "/entries?from=0&to=100", s + "/entries?from=0&to=200", s + "/tree", s + "/share", s + "/usage", "/search?q=alert", "/search?q=" + url.QueryEscape(hostile[0])} {
		res, body := n.get(path, rootToken)
		if res.StatusCode != http.StatusOK && !strings.Contains(path, "%3C") {
			t.Errorf("%s: %s", path, res.Status)
		}
		checkHTML(t, path, body)
		if strings.ContainsAny(body, "\u202E\u2066\x00\x1b") {
			t.Errorf("%s has characters that hide or turn text", path)
		}
	}
	// An image that is a program is not shown.
	if res, _ := n.get(s+"/image?n=0&entry="+url.QueryEscape(`x`), rootToken); res.StatusCode == http.StatusOK {
		t.Error("an SVG is served as an image")
	}
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// checkHTML fails the test if a page has an element, an attribute or an address that
// the templates do not write.
func checkHTML(t *testing.T, path, body string) {
	t.Helper()
	allowed := strings.Fields("html head meta title link script body a header nav img form button main h1 h2 h3 h4 h5 h6 p span div section article " +
		"details summary b small code pre time ol ul li input label select option table thead tbody tr th td mark del ins em strong blockquote hr br dialog dl dt dd kbd")
	for z := html.NewTokenizer(strings.NewReader(body)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			e := z.Token()
			if !slices.Contains(allowed, e.Data) {
				t.Errorf("%s has an element %s", path, e)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" {
					t.Errorf("%s has %s", path, e)
				}
				if (a.Key == "href" || a.Key == "src" || a.Key == "action") && !links.MatchString(a.Val) {
					t.Errorf("%s has a link to %q", path, a.Val)
				}
				if a.Key == "src" && !strings.HasPrefix(a.Val, "/") {
					t.Errorf("%s loads %q", path, a.Val)
				}
			}
		}
	}
}

func TestEveryAnswerForbidsForeignCode(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("ours-000001", "text")
	for _, path := range []string{"/", "/signin", "/sessions/ours-000001", "/sessions/none", "/sessions/ours-000001/raw?entry=e0", "/static/app.js", "/health"} {
		res, _ := n.get(path, rootToken)
		csp := res.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; ") || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") ||
			res.Header.Get("X-Content-Type-Options") != "nosniff" || res.Header.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("%s: %v", path, res.Header)
		}
	}
	if res, _ := n.get("/sessions/ours-000001/raw?entry=e0", rootToken); !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("a raw entry is %s", res.Header.Get("Content-Type"))
	}
}

func TestInvalidQueryIsABadRequest(t *testing.T) {
	t.Parallel()
	n := start(t)
	for _, path := range []string{"/?text=%zz", "/search?q=%zz", "/sessions/none?entry=%zz"} {
		res, _ := n.get(path, rootToken)
		testkit.Equal(t, path, http.StatusBadRequest, res.StatusCode)
	}
}

func TestLargeTextsAreCut(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("large-000001", strings.Repeat("word ", 2<<20), "after it")
	res, body := n.get("/sessions/large-000001", rootToken)
	if res.StatusCode != http.StatusOK || len(body) > 1<<20 || !strings.Contains(body, "are not shown") || !strings.Contains(body, "after it") {
		t.Errorf("%s, %d bytes", res.Status, len(body))
	}
}

var numbers = regexp.MustCompile(`data-n="(\d+)"`)

// The parts of a transcript have every entry once, wherever the page begins.
func TestPartsOfATranscriptJoin(t *testing.T) {
	t.Parallel()
	n := start(t)
	texts := make([]string, 457)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	n.make("long-000001", texts...)
	if r, _ := n.get("/sessions/long-000001/entries?from=0&to=9223372036854775807", rootToken); r.StatusCode != http.StatusBadRequest {
		t.Errorf("a part without an end: %s", r.Status)
	}
	parts := regexp.MustCompile(`<section class="chunk" data-from="(\d+)" data-to="(\d+)">`)
	for _, query := range []string{"", "?from=0", "?from=123", "?from=456", "?entry=e0", "?entry=e300", "?entry=e456"} {
		_, body := n.get("/sessions/long-000001"+query, rootToken)
		seen := map[string]int{}
		for _, m := range numbers.FindAllStringSubmatch(body, -1) {
			seen[m[1]]++
		}
		for _, p := range parts.FindAllStringSubmatch(body, -1) {
			_, more := n.get("/sessions/long-000001/entries?from="+p[1]+"&to="+p[2], rootToken)
			for _, m := range numbers.FindAllStringSubmatch(more, -1) {
				seen[m[1]]++
			}
		}
		if len(seen) != len(texts) || slices.Max(slices.Collect(maps.Values(seen))) != 1 {
			t.Errorf("%q has %d entries of %d, some %d times", query, len(seen), len(texts), slices.Max(slices.Collect(maps.Values(seen))))
		}
	}
}

// An event is one of a stream.
type event struct{ kind, id, data string }

// follow reads events until f returns false.
func (n node) follow(path, last string, f func(event) bool) {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	defer cancel()
	header := []string{"Accept", "text/event-stream"}
	if last != "" {
		header = append(header, "Last-Event-ID", last)
	}
	res := n.send(ctx, http.MethodGet, path, rootToken, "", header...)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		n.t.Fatalf("%s: %s", path, res.Status)
	}
	var ev event
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			ev.kind = value
		case "id":
			ev.id = value
		case "data":
			ev.data += value + "\n"
		case "":
			if ev.kind != "" && !f(ev) {
				return
			}
			ev = event{}
		}
	}
	n.t.Fatalf("%s ended", path)
}

func (n node) append(id string, i int, text string) {
	n.t.Helper()
	_, err := n.Append(n.t.Context(), id, []byte(message(i, text)+"\n"), client.AppendOptions{})
	testkit.Must(n.t, err)
}

func TestFollowersGetEachEntryOnce(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("live-000001", "first", "second")
	live := n.live("/sessions/live-000001")
	var seen []string
	last := ""
	for i := 2; i < 30; {
		for range min(i%4+1, 30-i) { // while no one follows
			n.append("live-000001", i, fmt.Sprint("text ", i))
			i++
		}
		n.follow(live, last, func(ev event) bool {
			if ev.kind != "entries" {
				t.Fatalf("event %+v", ev)
			}
			last = ev.id
			for _, m := range numbers.FindAllStringSubmatch(ev.data, -1) {
				seen = append(seen, m[1])
			}
			return len(seen) < i-2
		})
	}
	for i, number := range seen {
		if number != fmt.Sprint(i+2) {
			t.Fatalf("followers got %v", seen)
		}
	}
}

// live returns the address of the events of a page.
func (n node) live(path string) string {
	n.t.Helper()
	_, body := n.get(path, rootToken)
	m := regexp.MustCompile(`data-live="([^"]+)"`).FindStringSubmatch(body)
	if m == nil {
		n.t.Fatalf("%s follows nothing: %s", path, body)
	}
	return html.UnescapeString(m[1])
}

// A page that shows a call gets its result, and every later entry.
func TestFollowersGetTheResultOfACallThatTheyHave(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("live-000001", "make it")
	add := func(line string) {
		_, err := n.Append(t.Context(), "live-000001", []byte(line+"\n"), client.AppendOptions{})
		testkit.Must(t, err)
	}
	add(`{"type":"message","id":"e1","parentId":"e0","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"make"}}],"timestamp":1}}`)
	live := n.live("/sessions/live-000001")
	add(`{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"it was made"}],"isError":false,"timestamp":2}}`)
	n.append("live-000001", 3, "thanks")
	var got strings.Builder
	n.follow(live, "", func(ev event) bool {
		got.WriteString(ev.data)
		return !strings.Contains(ev.data, "thanks")
	})
	if text := got.String(); !strings.Contains(text, `data-result="c1"`) || !strings.Contains(text, "it was made") || strings.Contains(text, `data-call="c1"`) {
		t.Errorf("followers got %s", text)
	}
}

func TestFollowersLoadAgainIfTheHeadMoves(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("live-000001", "first", "second", "third")
	live := n.live("/sessions/live-000001")
	_, err := n.Branch(t.Context(), "live-000001", api.BranchRequest{At: core.LeafAt("e0")}, client.AppendOptions{})
	testkit.Must(t, err)
	n.follow(live, "", func(ev event) bool {
		if ev.kind != "reload" {
			t.Errorf("event %+v", ev)
		}
		return false
	})
}

// An append and an amendment that are stored before the page's events are read: the read
// for the append has both, and the page still loads again, also if it reconnects between
// their events. Nor does it miss a claim.
func TestFollowersMissNoChangeThatAReadHadAlready(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("live-000001", "first", "second")
	live := n.live("/sessions/live-000001")
	n.append("live-000001", 2, "third")
	claim, err := n.Claim(t.Context(), "live-000001", core.ClaimRequest{Agent: "pi of the test"})
	testkit.Must(t, err)
	_, err = n.Amend(t.Context(), "live-000001", "e0", []byte(message(0, "amended")), client.AppendOptions{Writer: claim.Writer})
	testkit.Must(t, err)
	want := []string{"entries", "writer", "reload"}
	var got []string
	last := ""
	n.follow(live, "", func(ev event) bool {
		got = append(got, ev.kind)
		last = cmp.Or(ev.id, last)
		return len(got) < len(want)
	})
	testkit.Equal(t, "events", want, got)
	got = nil
	n.follow(live, last, func(ev event) bool {
		got = append(got, ev.kind)
		return len(got) < len(want[1:])
	})
	testkit.Equal(t, "events after the entries", want[1:], got)
}

func TestListFollowsSessions(t *testing.T) {
	t.Parallel()
	n := start(t)
	live := n.live("/")
	n.make("live-000001", "the first message")
	n.follow(live, "", func(ev event) bool {
		return !(ev.kind == "row" && strings.Contains(ev.data, "the first message"))
	})
}

// A load balancer sends the page of one node to another one, which does not know its
// position in the list: it sends the list, and then changes.
func TestListOfAnotherNodeIsFollowed(t *testing.T) {
	t.Parallel()
	live := start(t).live("/")
	n := start(t)
	n.make("live-000001", "the first message")
	n.follow(live, "", func(ev event) bool {
		return !(ev.kind == "row" && strings.Contains(ev.data, "the first message"))
	})
	n.make("live-000002", "the second message")
	n.follow(live, "", func(ev event) bool {
		return !(ev.kind == "row" && strings.Contains(ev.data, "the second message"))
	})
}

// While a node starts or stops, its streams of events are unavailable: pages ask again later.
func TestFollowersOfABusyNodeGetAnError(t *testing.T) {
	t.Parallel()
	n := startWith(t, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		api.ServeHTTP(w, r)
	})
	n.make("live-000001", "first")
	for _, path := range []string{"/", "/sessions/live-000001"} {
		res, _ := n.get(n.live(path), rootToken)
		testkit.Equal(t, path, http.StatusServiceUnavailable, res.StatusCode)
	}
}

// After a redaction the log lacks the records before it, at which a page may be.
func TestFollowersLoadAgainIfTheirPositionIsGone(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("live-000001", "first", "second")
	live := n.live("/sessions/live-000001")
	_, err := n.Redact(t.Context(), "live-000001", api.RedactRequest{Notice: api.Notice{Why: "a test"}, Entries: []string{"e0"}})
	testkit.Must(t, err)
	n.follow(live, "", func(ev event) bool {
		testkit.Equal(t, "event", "reload", ev.kind)
		return false
	})
}

// An exported session has its images in it and loads nothing.
func TestExportIsOneFile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../test/web/testdata/demo.jsonl")
	testkit.Must(t, err)
	d := dialect.All()["pi"]
	f, err := d.File(data)
	testkit.Must(t, err)
	path, err := d.Path(f.Entries, d.Leaf(f.Entries))
	testkit.Must(t, err)
	var b strings.Builder
	testkit.Must(t, web.Export(&b, d, f.Header, path))
	page := b.String()
	for _, want := range []string{"The header of the site jumps", "<code>size-adjust</code> on a fallback", `src="data:image/png;base64,iVBOR`, "default-src 'none'", "failed"} {
		if !strings.Contains(page, want) {
			t.Errorf("the file lacks %q", want)
		}
	}
	for _, foreign := range []string{"<script", "<link", `src="/`, "@import", "url("} {
		if strings.Contains(page, foreign) {
			t.Errorf("the file has %q", foreign)
		}
	}
}
