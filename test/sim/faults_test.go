package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
)

// A weather is the probabilities of faults of messages in transit. The zero weather has
// no faults.
type weather struct {
	lostRequest, lostReply, lostInBatch, lostLive float64
	late, copied, lateReply                       float64
	refused                                       float64 // an error answer without a cause
	lag, oldLeader                                float64 // reads from a lagging replica, from a leader without a quorum
	cut, frozen, crash                            float64 // per step: a connection breaks, freezes, a node is killed
	objectFails, objectLies                       float64
	powerCut, restored                            float64 // per step: the broker loses records
	blackout                                      float64 // per step: the power of a single node is cut
}

// storm is the worst weather without losses by the broker.
var storm = weather{
	lostRequest: 0.015, lostReply: 0.03, lostInBatch: 0.003, lostLive: 0.1,
	late: 0.04, copied: 0.03, lateReply: 0.1,
	refused: 0.03, lag: 0.2,
	cut: 0.0006, frozen: 0.0006, crash: 0.0006,
	objectFails: 0.04, objectLies: 0.02,
}

// forecast draws the weather of a world.
func (w *world) forecast(forget bool) {
	all := []float64{0, 0.3, 1, 1, 2}
	f := func() float64 { return all[w.rng.IntN(len(all))] }
	s := storm
	net, objects, life := f(), f(), f()
	w.weather = weather{
		lostRequest: s.lostRequest * net, lostReply: s.lostReply * net, lostInBatch: s.lostInBatch * net, lostLive: s.lostLive * net,
		late: s.late * f(), copied: s.copied * f(), lateReply: s.lateReply * f(),
		refused: s.refused * f(), lag: s.lag * f(),
		cut: s.cut * life, frozen: s.frozen * f(), crash: s.crash * f(),
		objectFails: s.objectFails * objects, objectLies: s.objectLies * objects,
	}
	if w.rng.IntN(3) == 0 {
		w.weather.oldLeader = 0.03
	}
	if w.flushing {
		w.weather.blackout = 0.002
	}
	if forget {
		w.weather.powerCut, w.weather.restored = 0.0005, 0.0001
	}
}

// happens draws whether an event of that probability happens now. If so, it counts and
// records it under name.
func (w *world) happens(p float64, name string) bool {
	if p == 0 || w.rng.Float64() >= p {
		return false
	}
	w.count(name)
	w.note("! %s", name)
	return true
}

// refusals are the error answers after which nothing was stored.
var refusals = []twist{
	{code: 10071, status: 400, text: "wrong last sequence: 0"},
	{code: 10164, status: 400, text: "wrong last sequence: another message is on its way"},
	{code: 10167, status: 429, text: "too many requests"},
	{code: 10008, status: 503, text: "JetStream system temporarily unavailable"},
	{code: 10077, status: 503, text: "maximum bytes exceeded"},
}

// deliver takes a client's message to the broker and the answers back, unless they are
// lost.
func (w *world) deliver(p *pub) {
	publish := strings.HasPrefix(p.subject, "sess.")
	w.note("%s %s", p.from.name, describe(p))
	switch {
	case w.happens(w.weather.lostRequest, "request lost"):
		return
	case w.happens(w.weather.late, "request late"):
		w.later(w.between(5, 800), "a late request", func() { w.arrive(p) })
		return
	case publish && w.happens(w.weather.copied, "request doubled"):
		w.later(w.between(1, 3000), "a second copy", func() { w.arrive(p) })
	}
	w.arrive(p)
}

func describe(p *pub) string {
	if strings.HasPrefix(p.subject, "sess.") {
		return fmt.Sprintf("%s %.90q", p.subject, strings.ReplaceAll(headerLine(p.header, "Sess-Kind")+" "+headerLine(p.header, "Sess-Seq")+" "+headerLine(p.header, "Sess-Head")+" behind "+headerLine(p.header, "Nats-Expected-Last-Subject-Sequence"), "\r\n", " "))
	}
	verb, stream, _ := api(p.subject)
	if strings.HasPrefix(verb, "CONSUMER") {
		return verb + " " + stream
	}
	return fmt.Sprintf("%s %s %.120s", verb, stream, p.data)
}

func headerLine(h []byte, key string) string {
	_, rest, _ := strings.Cut(string(h), key+": ")
	v, _, _ := strings.Cut(rest, "\r\n")
	return v
}

// arrive handles p at the broker.
func (w *world) arrive(p *pub) {
	tw := &twist{}
	publish := strings.HasPrefix(p.subject, "sess.")
	verb, _, _ := api(p.subject)
	switch {
	case publish && w.happens(w.weather.refused, "refused for nothing"):
		*tw = refusals[w.rng.IntN(len(refusals))]
		w.count(fmt.Sprintf("refused for nothing: %d", tw.code))
	case verb != "" && !strings.HasPrefix(verb, "CONSUMER") && w.happens(w.weather.refused/2, "read refused for nothing"):
		*tw = refusals[2+w.rng.IntN(2)]
	case verb == "DIRECT.GET" && w.happens(w.weather.lag, "read from a replica that lags"):
		tw.lag = 1 + w.rng.IntN(8)
	case verb == "STREAM.MSG.GET" && w.happens(w.weather.oldLeader, "read from an old leader"):
		tw.lag = 1 + w.rng.IntN(4)
	}
	w.b.mu.Lock()
	answers := w.b.handle(p, tw)
	w.b.mu.Unlock()
	w.answer(p, answers)
}

// answer sends answers to their clients.
func (w *world) answer(p *pub, answers []*delivery) {
	if len(answers) > 0 && answers[0].to == p.reply && p.reply != "" {
		if w.happens(w.weather.lostReply, "reply lost") {
			answers = slices.DeleteFunc(answers, func(d *delivery) bool { return d.to == p.reply })
		}
	}
	answers = slices.DeleteFunc(answers, func(d *delivery) bool {
		if d.to == p.reply {
			return len(answers) > 1 && !strings.HasPrefix(p.subject, "sess.") && w.happens(w.weather.lostInBatch, "message of a batch lost")
		}
		return strings.HasPrefix(d.to, "live.") && w.happens(w.weather.lostLive, "live message dropped")
	})
	if len(answers) == 0 {
		return
	}
	send := func() {
		w.b.mu.Lock()
		defer w.b.mu.Unlock()
		for _, d := range answers {
			w.b.send(d)
		}
	}
	if w.happens(w.weather.lateReply, "reply late") {
		w.later(w.between(1, 300), "a late reply", send)
		return
	}
	send()
}

// A thing is in transit and arrives at its time.
type thing struct {
	due  time.Time
	what string
	do   func()
}

func (w *world) later(d time.Duration, what string, do func()) {
	w.things = append(w.things, thing{time.Now().Add(d), what, do})
}

func (w *world) between(low, high int) time.Duration {
	return time.Duration(low)*time.Millisecond + time.Duration(w.rng.Int64N(int64(time.Duration(high-low)*time.Millisecond)))
}

// disaster breaks and freezes connections, kills nodes, and makes the broker lose records.
func (w *world) disaster() {
	if w.happens(w.weather.cut, "connection cut") {
		w.cut(w.nodes[w.rng.IntN(len(w.nodes))].name)
	}
	if w.happens(w.weather.frozen, "node paused") {
		name := w.nodes[w.rng.IntN(len(w.nodes))].name
		w.frozen[name] = time.Now().Add(w.between(50, 20000))
	}
	if w.happens(w.weather.crash, "node killed") {
		w.kill(w.rng.IntN(len(w.nodes)))
	}
	w.blackout()
	w.forget()
}

// cut breaks a node's connection. Messages that it has sent may still arrive.
func (w *world) cut(name string) {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	for _, c := range w.b.conns {
		if c.name != name || c.closed {
			continue
		}
		for _, p := range c.in {
			if w.rng.IntN(2) == 0 {
				w.later(w.between(0, 2000), "sent before the cut", func() { w.arrive(p) })
			}
		}
		c.in, c.seen = nil, 0
		c.closeLocked()
	}
}

// forget loses what a broker's disk had not flushed, or restores an older copy.
func (w *world) forget() {
	if w.weather.powerCut == 0 {
		return
	}
	for _, s := range w.b.sorted() {
		d := w.disks[s.name]
		if d == nil {
			d = &disk{}
			w.disks[s.name] = d
		}
		if w.rng.IntN(60) == 0 {
			d.synced = s.last
		}
		if w.rng.IntN(400) == 0 {
			d.copy, d.copied = &jstream{first: s.first, last: s.last, msgs: slices.Clone(s.msgs)}, w.recordsOf(s)
		}
		switch {
		case s.last > d.synced && w.happens(w.weather.powerCut*4, "power cut that forgets a tail"):
			n := 1 + w.rng.IntN(min(int(s.last-d.synced), 6))
			w.rewind(s, &jstream{first: s.first, last: s.last - uint64(n), msgs: s.msgs[:s.view(0).from(s.last-uint64(n)+1)]}, w.recordsOf(s))
		case d.copy != nil && s.last > d.copy.last && w.happens(w.weather.restored, "stream restored from an older copy"):
			w.rewind(s, d.copy, d.copied)
			d.synced, d.copy, d.copied = s.last, nil, nil
		}
	}
}

// A disk is the durable part of a stream.
type disk struct {
	synced uint64
	copy   *jstream
	// copied are all records that the log had when the copy was made. Records of the copy
	// may have been lost since, and others stored in their place.
	copied map[core.SessionID][]*core.Record
}

// rewind restores s to a state in which the log had at least these records.
func (w *world) rewind(s *jstream, was *jstream, had map[core.SessionID][]*core.Record) {
	w.note("! %s ends at %d, not %d", s.name, was.last, s.last)
	w.b.mu.Lock()
	s.first, s.last, s.msgs = was.first, was.last, slices.Clone(was.msgs)
	s.consumers = map[string]*consumer{}
	w.b.mu.Unlock()
	w.lossAt = append(w.lossAt, w.step)
	w.lost(s, had)
	if w.rng.IntN(2) == 0 { // a restarted server has no connections
		for _, n := range w.nodes {
			w.cut(n.name)
		}
	}
	w.things = slices.DeleteFunc(w.things, func(thing) bool { return w.rng.IntN(2) == 0 })
}
