package web_test

import (
	"context"
	"flag"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/internal/nodetest"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/web"
)

var inBrowser = flag.Bool("browser", false, "run the tests that need Chromium")

// start runs a node with a page, whose token is rootToken.
func start(t *testing.T) testNode {
	t.Helper()
	return testNode{nodetest.Start(t, nodetest.Config{Serve: func(c *server.Config) { c.Token, c.Page = rootToken, web.New("", c.Memory) }})}
}

const rootToken = "the-token-of-the-test"

// giveUp is when a test stops waiting for a page. It is long: other tests may have the
// machine for minutes.
const giveUp = 5 * time.Minute

// importFile imports the lines of a session.
func importFile(t *testing.T, n testNode, file string) string {
	t.Helper()
	got, err := n.Import(t.Context(), strings.NewReader(file), int64(len(file)), client.ImportOptions{})
	testkit.Must(t, err)
	return string(got.ID)
}

// A testNode is a node with a page.
type testNode struct{ *nodetest.Node }

// append appends a line to main.
func (n testNode) append(t *testing.T, id, line string) {
	t.Helper()
	_, err := n.Append(t.Context(), id, []byte(line+"\n"), client.AppendOptions{})
	testkit.Must(t, err)
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	testkit.Must(t, err)
	return string(b)
}

// A browser is a tab that is signed in.
type browser struct {
	context.Context
	mu    sync.Mutex
	heard []string // errors, dialogs, reports, and requests to other origins
}

// open starts a browser. The test is skipped if there is none.
func open(t *testing.T, base string) *browser {
	t.Helper()
	return openAs(t, base, rootToken)
}

// openAs starts a browser that has a token, or none if token is empty. Its name node.test
// is of this machine.
func openAs(t *testing.T, base, token string) *browser {
	t.Helper()
	if !*inBrowser {
		t.Skip("skipped: needs Chromium; run with -args -browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("skipped: Chromium is not installed")
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1200, 900), chromedp.Flag("host-resolver-rules", "MAP node.test 127.0.0.1"))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{Context: ctx}
	testkit.Must(t, chromedp.Listen(ctx, func(ev any) { b.listen(ev, base) }))
	b.do(t, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		if _, err := cdp.Call(ctx, tab, log.Enable, cdp.Empty{}); err != nil {
			return err
		}
		if _, err := cdp.Call(ctx, tab, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		if token == "" {
			return nil
		}
		yes := true
		_, err := cdp.Call(ctx, tab, network.SetCookie, network.SetCookieParams{
			Name: "sesslog", Value: url.QueryEscape(token), URL: base, HTTPOnly: &yes, SameSite: network.CookieSameSiteStrict,
		})
		return err
	}))
	return b
}

// listen notes what a page must not do.
func (b *browser) listen(ev any, base string) {
	note := func(words ...string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.heard = append(b.heard, strings.Join(words, " "))
	}
	switch ev := ev.(type) {
	case *page.EventJavascriptDialogOpening:
		note("dialog:", ev.Message)
	case *runtime.EventExceptionThrown:
		note("exception:", ev.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		if ev.Entry.Level == log.EntryLevelError {
			note("console:", ev.Entry.Text, ev.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if to := ev.Request.URL; !strings.HasPrefix(to, base) && !strings.HasPrefix(to, "about:") && !strings.HasPrefix(to, "data:") { // data: icons of the browser's own fields
			note("request:", to)
		}
	}
}

// wantQuiet fails the test if the page did what it must not do.
func (b *browser) wantQuiet(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, what := range b.heard {
		t.Error(what)
	}
}

func (b *browser) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	testkit.Must(t, chromedp.Do(b, steps...))
}

// visit opens a page and waits until it is loaded.
func (b *browser) visit(t *testing.T, address string) {
	t.Helper()
	b.do(t, chromedp.Navigate(address))
}

// eval returns the value of a JavaScript expression.
func eval[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	testkit.Must(t, err)
	return v
}

// await waits until an expression is true.
func (b *browser) await(t *testing.T, expression string) {
	t.Helper()
	for {
		_, err := chromedp.Run(b, chromedp.Poll[bool]("Boolean("+expression+")", chromedp.WithPollingTimeout(giveUp), chromedp.WithPollingInterval(20*time.Millisecond)))
		if err == nil {
			return
		}
		if text := err.Error(); !strings.Contains(text, "navigated") && !strings.Contains(text, "context was destroyed") && !strings.Contains(text, "Cannot find context") {
			t.Fatalf("%s: %v", expression, err)
		}
	}
}

// phone is the width of a small phone in pixels.
const phone = 390

// onPaper shows the page as it is printed.
var onPaper = chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
	_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	return err
})

// look sets the width of the window and the colors, and turns animations off.
func look(width int64, scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		if _, err := cdp.Call(ctx, tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1, Mobile: width < 600}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	})
}
