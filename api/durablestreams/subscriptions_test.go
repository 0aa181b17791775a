package durablestreams_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/durablestreams"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/internal/nodetest"
)

var asJSON = []string{"Content-Type", "application/json"}

func local(c *server.Config) { c.StreamWebhooks = durablestreams.WebhooksLocal }

// A wake is what a worker learns.
type wake struct {
	ID         string `json:"wake_id"`
	Generation int64  `json:"generation"`
	Token      string `json:"token"`
	Callback   string `json:"callback_token"`
	Streams    []struct {
		Path, Acked string
		Tail        string `json:"tail_offset"`
		Pending     bool   `json:"has_pending"`
	}
}

func (w *wake) work(more string) string {
	return fmt.Sprintf(`{"wake_id":%q,"generation":%d%s}`, w.ID, w.Generation, more)
}

// until calls f until it returns true.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// writer returns a token that may write the sessions whose ids begin with prefix. It waits
// until the node knows the token.
func (n node) writer(t *testing.T, prefix string) string {
	t.Helper()
	issued, err := n.CreateToken(t.Context(), api.TokenRequest{Name: prefix, Scope: access.Write, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the token", func() bool {
		res, _ := n.do(t, "GET", "absent", "", "Authorization", "Bearer "+issued.Bearer)
		return res.StatusCode != 401
	})
	return issued.Bearer
}

// subscribed makes a pull-wake subscription for events/* with the stream of its wakes.
func subscribed(t *testing.T, n node, lease int) {
	t.Helper()
	n.want(t, 201, "PUT", "wakes", "[]", asJSON...)
	n.want(t, 201, "PUT", "__ds/subscriptions/s", fmt.Sprintf(`{"type":"pull-wake","pattern":"events/*","wake_stream":"wakes","lease_ttl_ms":%d}`, lease), asJSON...)
}

func claim(t *testing.T, n node, worker string) (wake, int) {
	t.Helper()
	res, body := n.do(t, "POST", "__ds/subscriptions/s/claim", fmt.Sprintf(`{"worker":%q}`, worker), asJSON...)
	var w wake
	if err := json.Unmarshal([]byte(body), &w); err != nil {
		t.Fatalf("claim answers %s", body)
	}
	return w, res.StatusCode
}

// A stream grows through one node; a worker claims the work through another, which the wake
// reaches by the log alone. The wake is announced once.
func TestNodesShareSubscriptions(t *testing.T) {
	t.Parallel()
	conn := nodetest.Connect(t)
	first := start(t, nodetest.Config{Conn: conn})
	second := start(t, nodetest.Config{Conn: conn, Bucket: first.Bucket})
	subscribed(t, first, 600_000)
	second.want(t, 201, "PUT", "events/a", `{"n":1}`, asJSON...)
	until(t, "the event of the wake", func() bool {
		_, body := first.do(t, "GET", "wakes", "")
		return strings.Contains(body, `"generation":1`)
	})
	var w wake
	until(t, "claim", func() bool {
		var status int
		w, status = claim(t, second, "w1")
		return status == 200
	})
	if len(w.Streams) != 1 || !w.Streams[0].Pending {
		t.Fatalf("the worker gets %+v", w)
	}
	if _, status := claim(t, first, "w2"); status != 409 {
		t.Errorf("a second worker gets %d", status)
	}
	token := []string{"Authorization", "Bearer " + w.Token, "Content-Type", "application/json"}
	path := "__ds/subscriptions/s/"
	for body, code := range map[string]string{
		w.work(`,"acks":[{"stream":"events/a","offset":"0000000000000000_0000000000000999"}]`): "INVALID_OFFSET",
		w.work(`,"acks":[{"stream":"other","offset":"0000000000000000_0000000000000000"}]`):    "INVALID_OFFSET",
		w.work(`,"acks":[{"stream":"events/a","offset":"-1"}]`):                                "INVALID_OFFSET",
		`{"wake_id":"w_other","generation":1}`:                                                 "FENCED",
		`[]`:                                                                                   "INVALID_REQUEST",
	} {
		if _, got := first.do(t, "POST", path+"ack", body, token...); !strings.Contains(got, code) {
			t.Errorf("ack with %s answers %s, want %s", body, got, code)
		}
	}
	done := w.work(fmt.Sprintf(`,"acks":[{"stream":"events/a","offset":%q}],"done":true`, w.Streams[0].Tail))
	first.want(t, 401, "POST", path+"ack", done, "Authorization", "Bearer 1."+strings.Repeat("0", 48))
	if _, got := first.want(t, 200, "POST", path+"ack", done, token...); !strings.Contains(got, `"next_wake":false`) {
		t.Errorf("ack answers %s", got)
	}
	first.want(t, 409, "POST", path+"ack", done, token...)
	if _, status := claim(t, second, "w1"); status != 409 {
		t.Errorf("without work a claim gets %d", status)
	}
	if _, body := first.want(t, 200, "GET", "wakes", ""); strings.Count(body, `"type":"wake"`) != 1 {
		t.Errorf("the stream of wakes has %s", body)
	}
}

// A worker that is gone loses its lease, and its token is fenced.
// A stream that cannot be read stops no work on the others of its subscription.
func TestUnreadableStreamLeavesItsSubscription(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{})
	n.want(t, 201, "PUT", "wakes", "[]", asJSON...)
	n.want(t, 201, "PUT", "__ds/subscriptions/s",
		`{"type":"pull-wake","streams":["events/a","events/b","events/c"],"wake_stream":"wakes","lease_ttl_ms":600000}`, asJSON...)
	pi := `{"type":"session","version":3,"id":"ds-events__b","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/lab"}` + "\n"
	if _, err := n.Import(t.Context(), strings.NewReader(pi), int64(len(pi)), client.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, status := claim(t, n, "w"); status != 409 {
		t.Errorf("without work, a claim is answered %d", status)
	}
	for _, path := range []string{"events/a", "events/c"} {
		n.want(t, 201, "PUT", path, "1", asJSON...)
	}
	var w wake
	until(t, "claim", func() bool {
		var status int
		w, status = claim(t, n, "w")
		return status == 200
	})
	var pending []string
	for _, s := range w.Streams {
		if s.Pending {
			pending = append(pending, s.Path)
		}
	}
	if !slices.Equal(pending, []string{"events/a", "events/c"}) {
		t.Errorf("the worker gets %+v", w)
	}
}

func TestRemovedSubscriptionIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{})
	subscribed(t, n, 1000)
	id := string(durablestreams.SessionID("__ds/subscriptions/s", 1))
	if err := n.Delete(t.Context(), id, api.Notice{}); err != nil {
		t.Fatal(err)
	}
	body := `{"type":"pull-wake","pattern":"events/*","wake_stream":"wakes"}`
	if _, got := n.want(t, 409, "PUT", "__ds/subscriptions/s", body, asJSON...); !strings.Contains(got, "in the trash") {
		t.Errorf("the answer is %s", got)
	}
	n.want(t, 404, "GET", "__ds/subscriptions/s", "")
	if _, err := n.Erase(t.Context(), id, api.EraseRequest{Notice: api.Notice{Why: "test"}, Now: true}); err != nil {
		t.Fatal(err)
	}
	n.want(t, 201, "PUT", "__ds/subscriptions/s", body, asJSON...)
}

func TestEndedLeaseIsFenced(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{})
	subscribed(t, n, 1000)
	n.want(t, 201, "PUT", "events/a", `{"n":1}`, asJSON...)
	var lost, next wake
	until(t, "claim", func() bool { w, status := claim(t, n, "gone"); lost = w; return status == 200 })
	until(t, "the second claim", func() bool { w, status := claim(t, n, "next"); next = w; return status == 200 })
	if next.Generation <= lost.Generation {
		t.Errorf("wake %d follows %d", next.Generation, lost.Generation)
	}
	_, got := n.want(t, 409, "POST", "__ds/subscriptions/s/ack", lost.work(`,"done":true`), "Authorization", "Bearer "+lost.Token)
	if !strings.Contains(got, "FENCED") {
		t.Errorf("the lost lease answers %s", got)
	}
	// Without a token, a call does not reveal whether the subscription exists.
	for _, token := range []string{"0", "0.a", "1." + strings.Repeat("0", 48), strings.Repeat("0", 48)} {
		_, exists := n.want(t, 401, "POST", "__ds/subscriptions/s/ack", "{}", "Authorization", "Bearer "+token)
		if _, got := n.want(t, 401, "POST", "__ds/subscriptions/none/ack", "{}", "Authorization", "Bearer "+token); got != exists {
			t.Errorf("%s: %s differs from %s", token, exists, got)
		}
	}
}

// A webhook that fails is called again with a later wake. Its answer acknowledges what it
// was told of.
func TestFailedWebhookIsCalledAgain(t *testing.T) {
	t.Parallel()
	calls := make(chan wake, 10)
	var failed atomic.Bool
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got wake
		if b, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(b, &got) != nil || r.Header.Get("Webhook-Signature") == "" {
			t.Errorf("the webhook gets %s, %v", b, err)
		}
		if !failed.Swap(true) {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, `{"done":true}`)
		calls <- got
	}))
	t.Cleanup(hook.Close)
	n := start(t, nodetest.Config{}, local)
	n.want(t, 201, "PUT", "__ds/subscriptions/h", fmt.Sprintf(`{"type":"webhook","pattern":"a/**","webhook":{"url":%q}}`, hook.URL), asJSON...)
	n.want(t, 201, "PUT", "a/b/c", `1`, asJSON...)
	for generation := range int64(2) {
		select {
		case w := <-calls:
			if w.Generation != generation+1 || len(w.Streams) != 1 || !w.Streams[0].Pending {
				t.Errorf("call %d has %+v", generation, w)
			}
		case <-time.After(time.Minute):
			t.Fatal("the webhook is not called")
		}
	}
	until(t, "the ack", func() bool {
		_, body := n.want(t, 200, "GET", "__ds/subscriptions/h", "")
		return strings.Contains(body, "0000000000000002") && strings.Contains(body, `"active"`)
	})
}

func TestBadSubscriptionsAreRefusedWhole(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{}, local)
	for body, code := range map[string]string{
		``:               "INVALID_REQUEST",
		`[]`:             "INVALID_REQUEST",
		`{"type":"x"}`:   "INVALID_REQUEST",
		"{\"type\":\xff": "INVALID_REQUEST",
		`{"type":"webhook","webhook":{"url":"http://127.0.0.1/"}}`:                                        "INVALID_REQUEST",
		`{"type":"webhook","pattern":"a"}`:                                                                "INVALID_REQUEST",
		`{"type":"pull-wake","pattern":"a"}`:                                                              "INVALID_REQUEST",
		`{"type":"pull-wake","pattern":"a","wake_stream":"__ds/x"}`:                                       "INVALID_REQUEST",
		`{"type":"pull-wake","streams":["__ds/subscriptions/x"],"wake_stream":"w"}`:                       "INVALID_REQUEST",
		`{"type":"pull-wake","pattern":"a","wake_stream":"w","lease_ttl_ms":1}`:                           "INVALID_REQUEST",
		`{"type":"pull-wake","pattern":"**/**/**/**/a","wake_stream":"w"}`:                                "INVALID_REQUEST",
		`{"type":"pull-wake","pattern":"` + strings.Repeat("a", 2000) + `","wake_stream":"w"}`:            "INVALID_REQUEST",
		`{"type":"pull-wake","streams":[` + strings.Repeat(`"a",`, 1000) + `"b"],"wake_stream":"w"}`:      "INVALID_REQUEST",
		`{"type":"webhook","pattern":"a","webhook":{"url":"https://10.1.2.3/"}}`:                          "WEBHOOK_URL_REJECTED",
		`{"type":"webhook","pattern":"a","webhook":{"url":"https://[::1]/"}}`:                             "WEBHOOK_URL_REJECTED",
		`{"type":"webhook","pattern":"a","webhook":{"url":"https://[::ffff:169.254.1.1]/"}}`:              "WEBHOOK_URL_REJECTED",
		`{"type":"webhook","pattern":"a","webhook":{"url":"http://example.com/"}}`:                        "WEBHOOK_URL_REJECTED",
		`{"type":"webhook","pattern":"a","webhook":{"url":"https://user:pass@example.com/"}}`:             "WEBHOOK_URL_REJECTED",
		`{"type":"webhook","pattern":"a","webhook":{"url":"file:///etc/passwd"}}`:                         "WEBHOOK_URL_REJECTED",
		`{"type":"webhook","pattern":"a","webhook":{"url":"https://` + strings.Repeat("x", 2000) + `/"}}`: "WEBHOOK_URL_REJECTED",
	} {
		if res, got := n.do(t, "PUT", "__ds/subscriptions/bad", body, asJSON...); res.StatusCode != 400 || !strings.Contains(got, code) {
			t.Errorf("%.80s answers %s %s, want %s", body, res.Status, got, code)
		}
	}
	for _, path := range []string{"__ds", "__ds/", "__ds/other", "__ds/subscriptions/", "__ds/subscriptions/bad", "__ds/subscriptions/%00"} {
		if _, got := n.want(t, 404, "GET", path, ""); !strings.Contains(got, "SUBSCRIPTION_NOT_FOUND") {
			t.Errorf("%s answers %s", path, got)
		}
	}
	n.want(t, 401, "POST", "__ds/subscriptions/bad/ack", "{}", "Authorization", "Bearer 1.x")
	n.want(t, 401, "POST", "__ds/subscriptions/bad/ack", "{}")
	n.want(t, 404, "DELETE", "__ds/subscriptions/bad", "")
}

// A node sends no webhooks unless it was told to.
func TestWebhooksAreOffByDefault(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{})
	n.want(t, 400, "PUT", "__ds/subscriptions/h", `{"type":"webhook","pattern":"a","webhook":{"url":"https://example.com/"}}`, asJSON...)
}

// A token for some sessions cannot subscribe to others, and a worker's call needs no token
// of the node.
func TestSubscriptionsNeedRights(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{}, func(c *server.Config) { c.Token = "the-bootstrap-token" })
	as := []string{"Authorization", "Bearer " + n.writer(t, "ds-ours"), "Content-Type", "application/json"}
	n.want(t, 201, "PUT", "ours", "", as...)
	n.want(t, 403, "PUT", "__ds/subscriptions/s", `{"type":"pull-wake","pattern":"events/*","wake_stream":"wakes"}`, as...)
	n.want(t, 401, "GET", "__ds/subscriptions/s", "", "Authorization", "Bearer wrong")
	n.want(t, 200, "GET", "__ds/jwks.json", "", "Authorization", "none")
	subscribed(t, n, 600_000)
	for _, c := range []struct{ method, path, body string }{
		{"GET", "s", ""},
		{"DELETE", "s", ""},
		{"PUT", "s", `{"type":"pull-wake","streams":["ours"],"wake_stream":"ours-wakes"}`},
		{"POST", "s/streams", `{"streams":["ours"]}`},
		{"DELETE", "s/streams/ours", ""},
		{"POST", "s/claim", `{"worker":"w"}`},
	} {
		n.want(t, 403, c.method, "__ds/subscriptions/"+c.path, c.body, as...)
	}
	mine := n.writer(t, "ds-_5f_5fds__subscriptions__mine")
	asMine := []string{"Authorization", "Bearer " + mine, "Content-Type", "application/json"}
	for _, q := range []string{`"streams":["ours"],"wake_stream":"wakes"`, `"pattern":"ours","wake_stream":"wakes"`} {
		n.want(t, 403, "PUT", "__ds/subscriptions/mine", `{"type":"pull-wake",`+q+`}`, asMine...)
	}
	// Other calls must not store lines that link more streams.
	id := string(durablestreams.SessionID("__ds/subscriptions/mine", 1))
	n.want(t, 201, "PUT", "__ds/subscriptions/mine", `{"type":"pull-wake","streams":["ours"],"wake_stream":"ours-wakes"}`, asJSON...)
	c := &client.Client{Base: n.Base, Token: mine}
	line := bytestream.NewValues([]json.RawMessage{json.RawMessage(`{"links":{"events/a":{"acked":0}}}`)}).Encode()
	if _, err := c.Append(t.Context(), id, line, client.AppendOptions{}); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("append to a subscription: %v", err)
	}
	later := string(durablestreams.SessionID("__ds/subscriptions/mine-2", 1))
	header := bytestream.Config{ID: later, Time: "2026-01-02T03:04:05.000Z", Path: "__ds/subscriptions/mine-2", ContentType: bytestream.ContentJSON}.Line()
	if _, err := c.Import(t.Context(), bytes.NewReader(header), int64(len(header)), client.ImportOptions{}); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("import of a subscription: %v", err)
	}
	n.want(t, 200, "GET", "__ds/subscriptions/mine", "", asMine...)
	n.want(t, 201, "PUT", "events/a", `{"n":1}`, asJSON...)
	var w wake
	until(t, "claim", func() bool { got, status := claim(t, n, "w"); w = got; return status == 200 })
	for _, stream := range []string{"ours", "absent"} { // the worker does not learn which exists
		res, body := n.do(t, "POST", "__ds/subscriptions/s/ack", w.work(`,"acks":[{"stream":"`+stream+`","offset":"0000000000000000_0000000000000001"}]`), "Authorization", "Bearer "+w.Token)
		if res.StatusCode != 409 || !strings.Contains(body, "is not a stream of the subscription") {
			t.Errorf("ack of the stream %s: %d %s", stream, res.StatusCode, body)
		}
	}
	n.want(t, 204, "POST", "__ds/subscriptions/s/release", w.work(""), "Authorization", "Bearer "+w.Token)
}

// A subscription that another program wrote to the log is checked like a request.
func TestForgedSubscriptionsAreIgnored(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called <- struct{}{} }))
	t.Cleanup(hook.Close)
	n := start(t, nodetest.Config{}) // without webhooks
	for i, value := range []string{
		`{"created":{"type":"webhook","pattern":"**"}}`,
		`{"created":{"type":"webhook","pattern":"**","lease_ttl_ms":1000,"webhook":{"url":"` + hook.URL + `"}},"lease":{"generation":-9,"failures":-40}}`,
		`{"created":{"type":"pull-wake","pattern":"**","lease_ttl_ms":1000,"wake_stream":"__ds/subscriptions/x"},"links":{"\u0000":{"acked":-5}}}`,
		`[1,null,{"lease":null},{"links":{"a":null}}]`,
	} {
		path := fmt.Sprintf("__ds/subscriptions/forged%d", i)
		id := string(durablestreams.SessionID(path, 1))
		header := bytestream.Config{ID: id, Time: "2026-01-02T03:04:05.000Z", Path: path, ContentType: bytestream.ContentJSON}.Line()
		line := bytestream.NewValues([]json.RawMessage{json.RawMessage(value)})
		line.ID, line.Time = "e1", "2026-01-02T03:04:05.000Z"
		file := string(header) + "\n" + string(line.Encode()) + "\n"
		if _, err := n.Import(t.Context(), strings.NewReader(file), int64(len(file)), client.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	subscribed(t, n, 600_000)
	n.want(t, 201, "PUT", "events/a", `1`, asJSON...)
	until(t, "claim", func() bool { _, status := claim(t, n, "w"); return status == 200 })
	if len(called) > 0 {
		t.Error("a forged webhook is called")
	}
}
