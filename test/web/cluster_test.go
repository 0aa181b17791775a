package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// A balancer sends all requests to one node. It answers 502 if that is gone.
type balancer struct {
	*httptest.Server
	node  atomic.Value
	ended chan string // address of a stream of events, when it ends
}

func (b *balancer) choose(base string) {
	u, _ := url.Parse(base)
	b.node.Store(u)
}

func balance(t *testing.T, base string) *balancer {
	t.Helper()
	b := &balancer{ended: make(chan string, 100)}
	b.choose(base)
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(b.node.Load().(*url.URL)) },
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/live") {
			defer func() { b.ended <- r.URL.Path }()
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(b.Close)
	return b
}

// A page continues after its load balancer answered with errors, at another node if need be.
// While it is hidden it has no connection.
func TestPagesContinueAfterErrors(t *testing.T) {
	t.Parallel()
	n := start(t)
	balancer := balance(t, n.Base)
	b := open(t, balancer.URL)
	list := open(t, balancer.URL)
	id := importFile(t, n, session("errors-000001", 3))
	b.visit(t, balancer.URL+"/sessions/"+id)
	list.visit(t, balancer.URL)
	b.await(t, `document.querySelector("#follow button").textContent === "Following"`)
	balancer.choose("http://127.0.0.1:1")
	balancer.CloseClientConnections()
	b.await(t, `document.querySelector("#follow button").textContent === "Disconnected, reload"`)
	n.append(t, id, message(3, "user", "text 3"))
	balancer.choose(n.Base)
	b.await(t, `document.querySelector("#e-e3")`)

	other := start(t)
	importFile(t, other, session("errors-000002", 3))
	balancer.choose(other.Base)
	balancer.CloseClientConnections()
	list.await(t, `document.querySelector("[data-key=errors-000002]")`)

	balancer.choose(n.Base)
	balancer.CloseClientConnections()
	b.await(t, `document.querySelector("#follow button").textContent === "Following"`)
	hide := func(hidden bool) {
		eval[bool](t, b, fmt.Sprintf(`Object.defineProperty(document, "hidden", { value: %v, configurable: true }), document.dispatchEvent(new Event("visibilitychange"))`, hidden))
	}
	for len(balancer.ended) > 0 {
		<-balancer.ended
	}
	eval[bool](t, b, `window.opened = 0, window.EventSource = class extends EventSource { constructor(to) { super(to); window.opened++; } }, true`)
	hide(true)
	testkit.Equal(t, "connections that the hidden page opens", 0, eval[int](t, b, `window.opened`))
	for <-balancer.ended != "/sessions/"+id+"/live" {
	}
	n.append(t, id, message(4, "user", "text 4"))
	hide(false)
	b.await(t, `document.querySelector("#e-e4")`)
}

// A page continues at another node of its cluster after its node was killed: no entry is
// missing or there twice.
func TestPageContinuesAtAnotherNode(t *testing.T) {
	t.Parallel()
	if !*inBrowser {
		t.Skip("skipped: needs Chromium; run with -args -browser")
	}
	nodes := harness.NewCluster(t, 3, harness.StartBucket(t))
	harness.StartAll(t, nodes)
	balancer := balance(t, nodes[0].Client().Base)
	writer := client.ClientOf([]string{nodes[1].Client().Base, nodes[2].Client().Base}, "")
	file := session("cluster-000001", 3)
	_, err := writer.Import(t.Context(), strings.NewReader(file), int64(len(file)), client.ImportOptions{})
	testkit.Must(t, err)
	b := open(t, balancer.URL)
	b.visit(t, balancer.URL+"/sessions/cluster-000001")
	b.await(t, `document.querySelector("#follow button").textContent === "Following"`)
	const count, killAt = 40, 15
	for i := 3; i < count; i++ {
		if i == killAt {
			nodes[0].Kill()
			balancer.choose(nodes[1].Client().Base)
		}
		_, err := writer.Append(t.Context(), "cluster-000001", []byte(message(i, "user", fmt.Sprint("text ", i))+"\n"), client.AppendOptions{})
		testkit.Must(t, err)
	}
	b.await(t, fmt.Sprintf(`document.querySelectorAll(".entry").length >= %d`, count))
	testkit.Equal(t, "entries on the page", wantNumbers(count), eval[[]string](t, b, `[...document.querySelectorAll(".entry")].map((e) => e.dataset.n)`))
}
