package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

const (
	expectLast    = "Nats-Expected-Last-Subject-Sequence"
	expectSubject = "Nats-Expected-Last-Subject-Sequence-Subject"
	expectStream  = "Nats-Expected-Stream"
)

// An answersRow is one client request and the answer of JetStream. The rows of
// answersTable are one conversation: each depends on those before it.
type answersRow struct {
	step string
	do   func(*wire) string
	r1   string
	r3   string // if it differs from r1
	lags bool   // any replica answers, and it may lag
}

var answersTable = []answersRow{
	{"the first record expects 0", put("a", "1", expectLast, "0"), "stored 1", "", false},
	{"and again, identical", put("a", "1", expectLast, "0"), "10071 wrong last sequence: 1", "", false},
	{"the second follows it", put("a", "2", expectLast, "1"), "stored 2", "", false},
	{"another after the first", put("a", "x", expectLast, "1"), "10071 wrong last sequence: 2", "", false},
	{"one after a record to come", put("a", "x", expectLast, "9"), "10071 wrong last sequence: 2", "", false},
	{"another subject has an order of its own", put("b", "1", expectLast, "0"), "stored 3", "", false},
	{"guarded by another subject, rightly", put("c", "1", expectLast, "3", expectSubject, "b"), "stored 4", "", false},
	{"guarded by another subject, wrongly", put("c", "x", expectLast, "2", expectSubject, "b"), "10071 wrong last sequence: 3", "", false},
	{"guarded by a subject without messages", put("c", "x", expectLast, "3", expectSubject, "none"), "10071 wrong last sequence: 0", "", false},
	{"for another stream", put("a", "x", expectLast, "2", expectStream, "OTHER"), "10060 expected stream does not match", "", false},
	{"expecting no number", put("a", "x", expectLast, "?"), "10071 wrong last sequence: 2", "", false},
	{"a record as it was stored", get(`{"seq":2}`), "2 2 expected 1", "", false},
	{"the last of a subject", get(`{"last_by_subj":"sess.main.00.a"}`), "2 2 expected 1", "", false},
	{"the next of a subject", get(`{"seq":3,"next_by_subj":"sess.main.00.c"}`), "4 1 expected 3", "", false},
	{"a sequence that is not there", get(`{"seq":99}`), "10037 no message found", "", false},
	{"the last of a subject without messages", get(`{"last_by_subj":"sess.main.00.none"}`), "10037 no message found", "", false},
	{
		"a batch of one subject", direct(`{"seq":1,"batch":9,"next_by_subj":"sess.main.00.a"}`),
		"1 last 0 pending 1, 2 last 1 pending 0, 204 EOB last 2 pending 0", "", true,
	},
	{
		"a batch smaller than what is there", direct(`{"seq":1,"batch":1,"next_by_subj":"sess.main.00.a"}`),
		"1 last 0 pending 1, 204 EOB last 1 pending 1", "", true,
	},
	{"a batch of nothing", direct(`{"seq":1,"batch":9,"next_by_subj":"sess.main.00.none"}`), "404 Message Not Found", "", true},
	{"what followers are sent", republished, "SESS_main_00 sess.main.00.a 5 after 2 expected 2", "", false},
	{"a prefix is dropped", purge(`{"seq":6}`), "purged 5", "", false},
	{"after it, expecting the old last", put("a", "x", expectLast, "5"), "10071 wrong last sequence: 0", "", false},
	{"after it, expecting 0", put("a", "4", expectLast, "0"), "stored 6", "", false},
	{"everything is dropped", purge(`{}`), "purged 1", "", false},
	{"sequences go on", put("a", "5", expectLast, "0"), "stored 7", "", false},
	{"two in flight on one subject", inFlight, "both stored", "10164", false},
}

// The protocol depends on these answers of a single server and of a cluster. The test
// fails if a new server version answers differently.
func TestJetStreamAnswers(t *testing.T) {
	t.Parallel()
	t.Run("R1", func(t *testing.T) {
		t.Parallel()
		answersHold(t, streamtest.Connect(t, embeddedtest.Start(t)), 1)
	})
	t.Run("R3", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("three servers; not with -short")
		}
		answersHold(t, streamtest.Connect(t, embeddedtest.StartCluster(t, 3)[0]), 3)
	})
}

func answersHold(t *testing.T, nc *nats.Conn, replicas int) {
	streamtest.Open(t, nc, stream.LogConfig{Shards: 1, Replicas: replicas})
	w := &wire{t: t, nc: nc, replicas: replicas}
	for _, row := range answersTable {
		want := row.r1
		if replicas > 1 && row.r3 != "" {
			want = row.r3
		}
		got := row.do(w)
		for end := time.Now().Add(30 * time.Second); row.lags && got != want && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
			got = row.do(w)
		}
		if got != want {
			t.Errorf("%s: answer is %q, want %q", row.step, got, want)
		}
	}
}

// A full stream rejects appends and still serves reads. The client does not send a
// message that is too large.
func TestFullStreamAnswers(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprintf("R%d", replicas), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && replicas > 1 {
				t.Skip("three servers; not with -short")
			}
			nc := streamtest.Connect(t, brokers(t, replicas))
			streamtest.Open(t, nc, stream.LogConfig{Shards: 1, Replicas: replicas, MaxBytes: 64 << 10})
			w := &wire{t: t, nc: nc, replicas: replicas}
			answer := ""
			for i := 0; i < 100 && !strings.HasPrefix(answer, "10"); i++ {
				answer = put(fmt.Sprint("s", i), strings.Repeat("x", 8<<10), expectLast, "0")(w)
			}
			testkit.Equal(t, "answer of a full stream", "10077 maximum bytes exceeded", answer)
			if err := nc.PublishMsg(message00("large", strings.Repeat("x", embedded.MaxPayload+1))); !errors.Is(err, nats.ErrMaxPayload) {
				t.Errorf("a message that is too large: %v", err)
			}
			testkit.Equal(t, "first stored message", "1 8192 bytes expected 0", get(`{"seq":1}`)(w))
		})
	}
}

// A wire speaks to the stream SESS_main_00 without a client library.
type wire struct {
	t        *testing.T
	nc       *nats.Conn
	replicas int
}

func message00(session, body string, headers ...string) *nats.Msg {
	m := nats.NewMsg("sess.main.00." + session)
	m.Data = []byte(body)
	for i := 0; i+1 < len(headers); i += 2 {
		value := headers[i+1]
		if headers[i] == expectSubject {
			value = "sess.main.00." + value
		}
		m.Header.Set(headers[i], value)
	}
	return m
}

// put stores a message. Like the protocol, it retries while the previous one is in
// progress in the server.
func put(session, body string, headers ...string) func(*wire) string {
	return func(w *wire) string {
		for {
			answer := stored(w.request(message00(session, body, headers...)))
			if !strings.HasPrefix(answer, "10164") {
				return answer
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
}

func (w *wire) request(m *nats.Msg) []byte {
	w.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		res, err := w.nc.RequestMsg(m, 10*time.Second)
		if err == nil {
			return res.Data
		}
		// A cluster may not have a leader yet for a new stream.
		if !errors.Is(err, nats.ErrNoResponders) || time.Now().After(end) {
			w.t.Fatalf("%s: %v", m.Subject, err)
		}
	}
}

// api sends a JSON request to the server and returns the answer.
func (w *wire) api(subject, request string) []byte {
	m := nats.NewMsg("$JS.API." + subject)
	m.Data = []byte(request)
	return w.request(m)
}

type answerError struct {
	Code int    `json:"err_code"`
	Text string `json:"description"`
}

func (e *answerError) String() string { return fmt.Sprintf("%d %s", e.Code, e.Text) }

func stored(answer []byte) string {
	var a struct {
		Seq   uint64
		Error *answerError
	}
	switch err := json.Unmarshal(answer, &a); {
	case err != nil:
		return err.Error()
	case a.Error != nil:
		return a.Error.String()
	}
	return fmt.Sprint("stored ", a.Seq)
}

// get reads from the stream's leader.
func get(request string) func(*wire) string {
	return func(w *wire) string {
		var a struct {
			Message struct {
				Seq        uint64
				Hdrs, Data []byte
			}
			Error *answerError
		}
		if err := json.Unmarshal(w.api("STREAM.MSG.GET.SESS_main_00", request), &a); err != nil {
			return err.Error()
		}
		if a.Error != nil {
			return a.Error.String()
		}
		body := string(a.Message.Data)
		if len(body) > 100 {
			body = fmt.Sprint(len(body), " bytes")
		}
		_, expected, _ := bytes.Cut(a.Message.Hdrs, []byte(expectLast+": "))
		expected, _, _ = bytes.Cut(expected, []byte("\r\n"))
		return fmt.Sprintf("%d %s expected %s", a.Message.Seq, body, expected)
	}
}

// direct reads a batch from the replica that answers first.
func direct(request string) func(*wire) string {
	return func(w *wire) string {
		inbox := w.nc.NewInbox()
		sub, err := w.nc.SubscribeSync(inbox)
		if err != nil {
			w.t.Fatal(err)
		}
		defer func() { _ = sub.Unsubscribe() }()
		if err := w.nc.PublishRequest("$JS.API.DIRECT.GET.SESS_main_00", inbox, []byte(request)); err != nil {
			w.t.Fatal(err)
		}
		var all []string
		for {
			m, err := sub.NextMsg(10 * time.Second)
			if err != nil {
				w.t.Fatalf("%s: %v after %q", request, err, all)
			}
			h := m.Header
			state := fmt.Sprintf(" last %s pending %s", h.Get("Nats-Last-Sequence"), h.Get("Nats-Num-Pending"))
			switch status := h.Get("Status"); status {
			case "":
				all = append(all, h.Get("Nats-Sequence")+state)
			case "204":
				return strings.Join(append(all, "204 "+h.Get("Description")+state), ", ")
			default:
				return status + " " + h.Get("Description")
			}
		}
	}
}

// republished stores a message and returns what a follower sees of it.
func republished(w *wire) string {
	sub, err := w.nc.SubscribeSync("live.sess.main.00.*")
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := w.nc.Flush(); err != nil {
		w.t.Fatal(err)
	}
	if answer := put("a", "3", expectLast, "2")(w); answer != "stored 5" {
		return answer
	}
	m, err := sub.NextMsg(10 * time.Second)
	if err != nil {
		return err.Error()
	}
	h := m.Header
	return fmt.Sprintf("%s %s %s after %s expected %s", h.Get("Nats-Stream"), h.Get("Nats-Subject"), h.Get("Nats-Sequence"), h.Get("Nats-Last-Sequence"), h.Get(expectLast))
}

func purge(request string) func(*wire) string {
	return func(w *wire) string {
		var a struct {
			Purged uint64
			Error  *answerError
		}
		if err := json.Unmarshal(w.api("STREAM.PURGE.SESS_main_00", request), &a); err != nil {
			return err.Error()
		}
		if a.Error != nil {
			return a.Error.String()
		}
		return fmt.Sprint("purged ", a.Purged)
	}
}

// inFlight sends two messages, the second before the first is answered. A cluster
// rejects the second unless the first is already complete.
func inFlight(w *wire) string {
	for range 100 {
		last := w.last("a")
		var inboxes [2]*nats.Subscription
		for i := range inboxes {
			sub, err := w.nc.SubscribeSync(w.nc.NewInbox())
			if err != nil {
				w.t.Fatal(err)
			}
			defer func() { _ = sub.Unsubscribe() }()
			m := message00("a", "y", expectLast, fmt.Sprint(last+uint64(i)))
			m.Reply = sub.Subject
			if err := w.nc.PublishMsg(m); err != nil {
				w.t.Fatal(err)
			}
			inboxes[i] = sub
		}
		var answers [2]string
		for i, sub := range inboxes {
			m, err := sub.NextMsg(10 * time.Second)
			if err != nil {
				return err.Error()
			}
			answers[i] = stored(m.Data)
		}
		switch {
		case strings.HasPrefix(answers[1], "10164"):
			return "10164"
		case !strings.HasPrefix(answers[1], "stored"):
			return fmt.Sprint(answers)
		case w.replicas == 1:
			return "both stored"
		}
	}
	return "both stored"
}

// last is the sequence of the session's last message.
func (w *wire) last(session string) uint64 {
	var a struct{ Message struct{ Seq uint64 } }
	if err := json.Unmarshal(w.api("STREAM.MSG.GET.SESS_main_00", `{"last_by_subj":"sess.main.00.`+session+`"}`), &a); err != nil {
		w.t.Fatal(err)
	}
	return a.Message.Seq
}

// brokers returns a server: a single one, or one of a cluster.
func brokers(t *testing.T, n int) *embedded.Server {
	if n == 1 {
		return embeddedtest.Start(t)
	}
	return embeddedtest.StartCluster(t, n)[0]
}
