package notify_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer/notify"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

var key = []byte("0123456789abcdef0123456789abcdef")

// A receiver is a webhook that checks what it gets.
type receiver struct {
	t   *testing.T
	url string

	mu     sync.Mutex
	answer []int    // statuses of the next answers; then 204
	got    []string // the types of what was accepted
	ids    []string // of all requests
	came   chan struct{}
}

func newReceiver(t *testing.T, answer ...int) *receiver {
	r := &receiver{t: t, answer: answer, came: make(chan struct{}, 100)}
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	r.url = srv.URL + "/hook"
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	id, at := q.Header.Get("webhook-id"), q.Header.Get("webhook-timestamp")
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + at + "." + string(body)))
	if got, want := q.Header.Get("webhook-signature"), "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)); got != want {
		r.t.Errorf("signature %q, want %q", got, want)
	}
	var m struct {
		Type      string
		Timestamp time.Time
		Data      struct{ Session, Text string }
	}
	if err := json.Unmarshal(body, &m); err != nil || m.Timestamp.IsZero() || m.Data.Session == "" || m.Data.Text == "" {
		r.t.Errorf("body %s: %v", body, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids = append(r.ids, id)
	status := http.StatusNoContent
	if len(r.answer) > 0 {
		status, r.answer = r.answer[0], r.answer[1:]
	}
	if status < 300 {
		r.got = append(r.got, m.Type)
	}
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(status)
	r.came <- struct{}{}
}

// requests waits for n requests.
func (r *receiver) requests(n int) (types, ids []string) {
	r.t.Helper()
	for range n {
		select {
		case <-r.came:
		case <-time.After(time.Minute):
			r.t.Fatal("no request came")
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got), slices.Clone(r.ids)
}

// rows are the current rows of sessions.
type rows struct {
	mu   sync.Mutex
	byID map[core.SessionID]catalog.Row
}

func (r *rows) row(_ context.Context, id core.SessionID) (catalog.Row, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row, ok := r.byID[id]
	return row, ok, nil
}

func start(t *testing.T, js jetstream.JetStream, rs *rows, urls ...string) *notify.Notifier {
	t.Helper()
	n := notify.New(notify.Config{JetStream: js, Log: "main", URLs: urls, Key: key, Row: rs.row, Settle: 10 * time.Millisecond, Pause: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
	return n
}

func openStream(t *testing.T) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(streamtest.Connect(t, embeddedtest.Start(t)))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func held(id core.SessionID, seq uint64, writer string) *catalog.Row {
	return &catalog.Row{ID: id, Dialect: "pi", Seq: seq, Holder: &core.Claim{Agent: "pi", Host: writer, Writer: writer, Epoch: seq}}
}

func report(t *testing.T, n *notify.Notifier, before, now *catalog.Row) {
	t.Helper()
	if err := n.Changed(t.Context(), before, now); err != nil {
		t.Fatal(err)
	}
}

func TestClosedStreamDelaysOneNoticeOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := notify.New(notify.Config{Log: "main", Key: key, Logger: slog.New(slog.DiscardHandler)})
		report(t, n, held("s1", 1, "desk"), held("s1", 2, "couch"))
		began := time.Now()
		report(t, n, held("s2", 1, "desk"), held("s2", 2, "couch"))
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the second notice waits %v", waited)
		}
	})
}

// lateStream opens its stream at a time, and counts what is published. It has no
// consumers.
type lateStream struct {
	jetstream.JetStream
	opens     time.Time
	published chan string
}

func (s *lateStream) CreateOrUpdateStream(context.Context, jetstream.StreamConfig) (jetstream.Stream, error) {
	if time.Now().Before(s.opens) {
		return nil, errors.New("no leader")
	}
	return nil, nil
}

func (s *lateStream) CreateOrUpdateConsumer(context.Context, string, jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return nil, errors.New("no consumers")
}

func (s *lateStream) PublishMsg(_ context.Context, m *nats.Msg, _ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	s.published <- m.Subject
	return &jetstream.PubAck{}, nil
}

// A stream that opens after a notice was given up takes the next one at once.
func TestNoticesAreStoredOnceTheStreamIsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &lateStream{opens: time.Now().Add(6 * time.Second), published: make(chan string, 9)}
		n := notify.New(notify.Config{JetStream: s, Log: "main", URLs: []string{"http://127.0.0.1:9/hook"}, Logger: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		report(t, n, held("s-0001", 1, "a"), held("s-0001", 2, "b"))
		if len(s.published) > 0 {
			t.Error("a notice is published before the stream is open")
		}
		time.Sleep(10 * time.Second)
		report(t, n, held("s-0001", 2, "b"), held("s-0001", 3, "c"))
		if len(s.published) != 1 {
			t.Errorf("%d notices are published", len(s.published))
		}
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
}

func TestChangeIsReportedAgainIfTheNodeStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := notify.New(notify.Config{Log: "main", Key: key})
	if err := n.Changed(ctx, held("s1", 1, "desk"), held("s1", 2, "couch")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNoticeOfAllNodesIsSentOnceToEachURL(t *testing.T) {
	t.Parallel()
	js := openStream(t)
	a, b := newReceiver(t), newReceiver(t)
	nodes := []*notify.Notifier{start(t, js, &rows{}, a.url, b.url), start(t, js, &rows{}, a.url, b.url)}
	for _, n := range nodes {
		report(t, n, held("s1", 1, "desk"), held("s1", 2, "couch"))
	}
	report(t, nodes[0], held("s2", 1, "desk"), held("s2", 2, "couch")) // after the others
	for _, r := range []*receiver{a, b} {
		types, ids := r.requests(2)
		if len(types) != 2 || types[0] != "session.taken_over" || ids[0] == ids[1] {
			t.Errorf("got %v with the ids %v", types, ids)
		}
	}
}

// A redirect could lead to an address that the operator did not choose. It counts as
// a refusal.
func TestRefusedNoticeIsSentAgainWithItsID(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, http.StatusTemporaryRedirect)
	n := start(t, openStream(t), &rows{}, r.url)
	report(t, n, held("s1", 1, "desk"), held("s1", 2, "couch"))
	types, ids := r.requests(2)
	if len(types) != 1 || len(ids) != 2 || ids[0] != ids[1] || !strings.HasPrefix(ids[0], "msg_") {
		t.Errorf("accepted %v, the ids of the requests are %v", types, ids)
	}
}

func TestAgentThatContinuedIsNotReportedAsWaiting(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	waits := func(id core.SessionID) (before, now *catalog.Row) {
		now = held(id, 2, "desk")
		now.Waits = "answer"
		return held(id, 1, "desk"), now
	}
	rs := &rows{byID: map[core.SessionID]catalog.Row{"continued": *held("continued", 3, "desk")}}
	_, still := waits("waits")
	rs.byID["waits"] = *still
	n := start(t, openStream(t), rs, r.url)
	for _, id := range []core.SessionID{"continued", "waits"} {
		before, now := waits(id)
		report(t, n, before, now)
	}
	before, now := held("last", 1, "desk"), held("last", 2, "couch")
	report(t, n, before, now)
	types, _ := r.requests(2)
	slices.Sort(types)
	if !slices.Equal(types, []string{"session.taken_over", "session.waiting"}) {
		t.Errorf("got %v", types)
	}
}
