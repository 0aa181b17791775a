package sim

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// A broker is a NATS server with JetStream, as far as package stream uses it: streams
// that check the last sequence of a subject, reads from leader and replicas,
// republishing, purges, ordered consumers. It is one stream leader; answers of replicas
// and leaders without a quorum are an older view of it.
type broker struct {
	mu       sync.Mutex
	conns    []*conn
	nextConn int
	streams  map[string]*jstream
	// A gated broker leaves the clients' messages in their queues; the world takes them
	// from there.
	gated bool
	// Faults of a broken server, which the test must detect: it stores without the check,
	// or answers without storing.
	unchecked, lying bool
	hasty            bool // flushes nothing before it answers
	// loses decides which answers of a broker without a gate are lost, and twists changes
	// answers.
	loses  func(*delivery) bool
	twists func(*pub) *twist
	// stored is called for every message that a stream stores, purged for every purge. The
	// caller holds b.mu.
	stored func(s *jstream, m *message)
	purged func(s *jstream, upTo uint64)
}

type jstream struct {
	name      string
	config    json.RawMessage
	prefix    string // of its subjects
	created   time.Time
	first     uint64
	last      uint64
	msgs      []*message // by seq
	consumers map[string]*consumer
	made      int // consumers, ever
}

type message struct {
	seq     uint64
	subject string
	header  []byte
	data    []byte
	at      time.Time
}

func newBroker() *broker { return &broker{streams: map[string]*jstream{}} }

// receive handles a message of a client.
func (b *broker) receive(p *pub) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.from.dead {
		return
	}
	if b.gated {
		p.from.in = append(p.from.in, p)
		return
	}
	var tw *twist
	if b.twists != nil {
		tw = b.twists(p)
	}
	for _, d := range b.handle(p, tw) {
		if b.loses == nil || !b.loses(d) {
			b.send(d)
		}
	}
}

// A twist changes the answer to a request. The zero twist changes nothing.
type twist struct {
	code, status int    // an error for nothing
	text         string // of that error
	lag          int    // number of the last messages that the answering server lacks
}

// handle executes p. It returns the answers and the messages for other clients. The
// caller holds b.mu.
func (b *broker) handle(p *pub, tw *twist) []*delivery {
	if tw == nil {
		tw = &twist{}
	}
	verb, name, rest := api(p.subject)
	if verb == "" {
		if s := b.capturing(p.subject); s != nil {
			return b.publish(s, p, tw)
		}
		return noResponders(p)
	}
	if verb == "STREAM.CREATE" {
		return answer(p, b.create(name, p.data))
	}
	s := b.streams[name]
	if s == nil {
		return answer(p, failed(404, 10059, "stream not found"))
	}
	if tw.code != 0 {
		return answer(p, failed(tw.status, tw.code, tw.text))
	}
	switch verb {
	case "STREAM.INFO":
		return answer(p, s.info())
	case "STREAM.DELETE":
		delete(b.streams, name)
		return answer(p, map[string]any{"success": true})
	case "STREAM.PURGE":
		return answer(p, b.purge(s, p.data))
	case "STREAM.MSG.GET":
		return answer(p, s.view(tw.lag).get(p.data))
	case "DIRECT.GET":
		return s.view(tw.lag).direct(p)
	case "CONSUMER.CREATE":
		return answer(p, s.consume(rest, p.data))
	case "CONSUMER.DELETE":
		delete(s.consumers, rest)
		return answer(p, map[string]any{"success": true})
	case "CONSUMER.MSG.NEXT":
		return s.pull(rest, p)
	}
	return noResponders(p)
}

// api splits a subject of the JetStream API.
func api(subject string) (verb, stream, rest string) {
	s, ok := strings.CutPrefix(subject, "$JS.API.")
	if !ok {
		return "", "", ""
	}
	for _, v := range []string{
		"STREAM.CREATE", "STREAM.INFO", "STREAM.DELETE", "STREAM.PURGE", "STREAM.MSG.GET", "DIRECT.GET",
		"CONSUMER.CREATE", "CONSUMER.DELETE", "CONSUMER.MSG.NEXT",
	} {
		if r, ok := strings.CutPrefix(s, v+"."); ok {
			stream, rest, _ = strings.Cut(r, ".")
			return v, stream, rest
		}
	}
	return "?", "", ""
}

func answer(p *pub, v any) []*delivery {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return []*delivery{{to: p.reply, data: b}}
}

func noResponders(p *pub) []*delivery {
	if p.reply == "" {
		return nil
	}
	return []*delivery{{to: p.reply, header: []byte("NATS/1.0 503\r\n\r\n")}}
}

func failed(status, code int, text string) map[string]any {
	return map[string]any{"error": map[string]any{"code": status, "err_code": code, "description": text}}
}

func (b *broker) capturing(subject string) *jstream {
	for _, s := range b.streams {
		rest, ok := strings.CutPrefix(subject, s.prefix)
		if ok && rest != "" && !strings.Contains(rest, ".") {
			return s
		}
	}
	return nil
}

func (b *broker) create(name string, config []byte) any {
	if b.streams[name] != nil {
		return failed(400, 10058, "stream name already in use")
	}
	var c struct{ Subjects []string }
	if err := json.Unmarshal(config, &c); err != nil || len(c.Subjects) != 1 {
		return failed(400, 10025, "invalid JSON")
	}
	s := &jstream{
		name: name, config: config, prefix: strings.TrimSuffix(c.Subjects[0], "*"), created: time.Now(),
		first: 1, consumers: map[string]*consumer{},
	}
	b.streams[name] = s
	return s.info()
}

func (s *jstream) info() any {
	subjects := map[string]bool{}
	bytes := 0
	for _, m := range s.msgs {
		subjects[m.subject] = true
		bytes += len(m.data) + len(m.header)
	}
	return map[string]any{
		"type": "io.nats.jetstream.api.v1.stream_info_response", "config": s.config, "created": s.created,
		"state": map[string]any{
			"messages": len(s.msgs), "bytes": bytes, "first_seq": s.first, "last_seq": s.last,
			"num_subjects": len(subjects), "consumer_count": len(s.consumers),
		},
	}
}

// lastSeq returns the sequence of the last message of a subject, or 0.
func (s *jstream) lastSeq(subject string) uint64 {
	if m := s.lastOn(subject); m != nil {
		return m.seq
	}
	return 0
}

func (s *jstream) lastOn(subject string) *message {
	for i := len(s.msgs) - 1; i >= 0; i-- {
		if s.msgs[i].subject == subject {
			return s.msgs[i]
		}
	}
	return nil
}

// publish stores p if the sequence that it expects is the last one of its subject.
func (b *broker) publish(s *jstream, p *pub, tw *twist) []*delivery {
	refuse := func(status, code int, text string) []*delivery {
		v := failed(status, code, text)
		v["stream"], v["seq"] = s.name, 0
		return answer(p, v)
	}
	if tw.code != 0 {
		return refuse(tw.status, tw.code, tw.text)
	}
	h, err := nats.DecodeHeadersMsg(p.header)
	if len(p.header) > 0 && err != nil {
		return refuse(400, 10000, "bad headers")
	}
	if want := h.Get("Nats-Expected-Stream"); want != "" && want != s.name {
		return refuse(400, 10060, "expected stream does not match")
	}
	last := s.lastSeq(p.subject)
	guarded := last
	if other := h.Get("Nats-Expected-Last-Subject-Sequence-Subject"); other != "" { // a barrier
		guarded = s.lastSeq(other)
	}
	if want := h.Get("Nats-Expected-Last-Subject-Sequence"); !b.unchecked && want != "" && want != strconv.FormatUint(guarded, 10) {
		return refuse(400, 10071, fmt.Sprintf("wrong last sequence: %d", guarded))
	}
	if b.lying && s.last%50 == 49 {
		return answer(p, map[string]any{"stream": s.name, "seq": s.last + 1})
	}
	s.last++
	m := &message{seq: s.last, subject: p.subject, header: p.header, data: p.data, at: time.Now().UTC()}
	s.msgs = append(s.msgs, m)
	if b.stored != nil && !strings.HasSuffix(p.subject, ".~read") {
		b.stored(s, m)
	}
	all := answer(p, map[string]any{"stream": s.name, "seq": m.seq})
	all = append(all, &delivery{
		to: "live." + m.subject, data: m.data,
		header: withHeaders(m.header, "Nats-Stream", s.name, "Nats-Subject", m.subject, "Nats-Sequence", strconv.FormatUint(m.seq, 10),
			"Nats-Time-Stamp", m.at.Format(time.RFC3339Nano), "Nats-Last-Sequence", strconv.FormatUint(last, 10)),
	})
	return append(all, s.feed()...)
}

func (b *broker) purge(s *jstream, ask []byte) any {
	var q struct{ Seq uint64 }
	if len(ask) > 0 {
		if err := json.Unmarshal(ask, &q); err != nil {
			return failed(400, 10025, "invalid JSON")
		}
	}
	upTo := s.last
	if q.Seq > 0 {
		upTo = min(q.Seq-1, s.last)
	}
	before := len(s.msgs)
	for len(s.msgs) > 0 && s.msgs[0].seq <= upTo {
		s.msgs = s.msgs[1:]
	}
	s.first = max(s.first, upTo+1)
	if b.purged != nil {
		b.purged(s, upTo)
	}
	return map[string]any{"success": true, "purged": before - len(s.msgs)}
}

// A view is the state of a stream on one server.
type view struct {
	name string
	msgs []*message
}

func (s *jstream) view(lag int) view {
	return view{s.name, s.msgs[:max(0, len(s.msgs)-lag)]}
}

// from returns the index of the first message from seq on.
func (v view) from(seq uint64) int {
	lo, hi := 0, len(v.msgs)
	for lo < hi {
		if mid := (lo + hi) / 2; v.msgs[mid].seq < seq {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (v view) get(ask []byte) any {
	var q struct {
		Seq  uint64
		Last string `json:"last_by_subj"`
	}
	if err := json.Unmarshal(ask, &q); err != nil {
		return failed(400, 10025, "invalid JSON")
	}
	var m *message
	if q.Last != "" {
		m = (&jstream{msgs: v.msgs}).lastOn(q.Last)
	} else if i := v.from(q.Seq); i < len(v.msgs) && v.msgs[i].seq == q.Seq {
		m = v.msgs[i]
	}
	if m == nil {
		return failed(404, 10037, "no message found")
	}
	return map[string]any{
		"type":    "io.nats.jetstream.api.v1.stream_msg_get_response",
		"message": map[string]any{"subject": m.subject, "seq": m.seq, "hdrs": m.header, "data": m.data, "time": m.at},
	}
}

// directOne answers a direct get of one message.
func (v view) directOne(p *pub, seq uint64) []*delivery {
	i := v.from(seq)
	if i == len(v.msgs) || v.msgs[i].seq != seq {
		return []*delivery{{to: p.reply, header: []byte("NATS/1.0 404 Message Not Found\r\n\r\n")}}
	}
	m := v.msgs[i]
	return []*delivery{{to: p.reply, data: m.data, header: withHeaders(
		m.header, "Nats-Stream", v.name, "Nats-Subject", m.subject, "Nats-Sequence", strconv.FormatUint(m.seq, 10),
		"Nats-Time-Stamp", m.at.Format(time.RFC3339Nano))}}
}

// direct answers a direct get.
func (v view) direct(p *pub) []*delivery {
	var q struct {
		Seq      uint64
		Next     string `json:"next_by_subj"`
		Batch    int
		MaxBytes int `json:"max_bytes"`
	}
	if err := json.Unmarshal(p.data, &q); err == nil && q.Next == "" && q.Batch == 0 {
		return v.directOne(p, q.Seq)
	}
	if q.Next == "" || q.Batch == 0 {
		return []*delivery{{to: p.reply, header: []byte("NATS/1.0 408 Bad Request\r\n\r\n")}}
	}
	var hits []*message
	for _, m := range v.msgs[v.from(q.Seq):] {
		if m.subject == q.Next {
			hits = append(hits, m)
		}
	}
	if len(hits) == 0 {
		return []*delivery{{to: p.reply, header: []byte("NATS/1.0 404 Message Not Found\r\n\r\n")}}
	}
	var all []*delivery
	pending, sent, last := len(hits), 0, uint64(0)
	for _, m := range hits[:min(len(hits), q.Batch)] {
		pending--
		all = append(all, &delivery{to: p.reply, data: m.data, header: withHeaders(
			m.header, "Nats-Stream", v.name, "Nats-Subject", m.subject, "Nats-Sequence", strconv.FormatUint(m.seq, 10),
			"Nats-Time-Stamp", m.at.Format(time.RFC3339Nano), "Nats-Num-Pending", strconv.Itoa(pending),
			"Nats-Last-Sequence", strconv.FormatUint(last, 10))})
		last = m.seq
		if sent += len(m.subject) + len(m.header) + len(m.data); q.MaxBytes > 0 && sent >= q.MaxBytes {
			break
		}
	}
	return append(all, &delivery{to: p.reply, header: fmt.Appendf(nil, "NATS/1.0 204 EOB\r\nNats-Num-Pending: %d\r\nNats-Last-Sequence: %d\r\n\r\n", pending, last)})
}
