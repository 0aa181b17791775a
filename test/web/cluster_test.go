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

// A page continues at another node of its cluster after its node was killed: no entry is
// missing or there twice.
func TestPageContinuesAtAnotherNode(t *testing.T) {
	t.Parallel()
	if !*inBrowser {
		t.Skip("skipped: needs Chromium; run with -args -browser")
	}
	nodes := harness.NewCluster(t, 3, harness.StartBucket(t))
	harness.StartAll(t, nodes)
	// A load balancer that sends all requests to one node.
	var chosen atomic.Int32
	balancer := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			u, _ := url.Parse(nodes[chosen.Load()].Client().Base)
			r.SetURL(u)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(balancer.Close)
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
			chosen.Store(1)
		}
		_, err := writer.Append(t.Context(), "cluster-000001", []byte(message(i, "user", fmt.Sprint("text ", i))+"\n"), client.AppendOptions{})
		testkit.Must(t, err)
	}
	b.await(t, fmt.Sprintf(`document.querySelectorAll(".entry").length >= %d`, count))
	testkit.Equal(t, "entries on the page", wantNumbers(count), eval[[]string](t, b, `[...document.querySelectorAll(".entry")].map((e) => e.dataset.n)`))
}
