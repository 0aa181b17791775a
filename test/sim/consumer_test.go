package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// A consumer delivers a stream's messages to a client that pulls.
type consumer struct {
	name        string
	n           int    // number of earlier consumers of the stream
	next        uint64 // the first sequence that was not delivered
	handed      uint64
	headersOnly bool
	inbox       string // of the last pull
	left        int    // messages that it still expects
}

func (s *jstream) consume(rest string, ask []byte) any {
	var q struct {
		Config struct {
			Name        string
			Start       uint64 `json:"opt_start_seq"`
			HeadersOnly bool   `json:"headers_only"`
		}
	}
	var config struct {
		Config json.RawMessage
	}
	if json.Unmarshal(ask, &q) != nil || json.Unmarshal(ask, &config) != nil {
		return failed(400, 10025, "invalid JSON")
	}
	c := &consumer{name: q.Config.Name, next: max(q.Config.Start, 1), headersOnly: q.Config.HeadersOnly}
	if c.name == "" {
		c.name = rest
	}
	s.made++
	c.n = s.made
	s.consumers[c.name] = c
	return map[string]any{
		"type": "io.nats.jetstream.api.v1.consumer_create_response", "stream_name": s.name, "name": c.name,
		"created": time.Now(), "config": config.Config, "num_pending": len(s.msgs) - s.view(0).from(c.next),
	}
}

func (s *jstream) pull(name string, p *pub) []*delivery {
	c := s.consumers[name]
	if c == nil {
		return noResponders(p)
	}
	var q struct{ Batch int }
	if json.Unmarshal(p.data, &q) != nil {
		return nil
	}
	c.inbox, c.left = p.reply, c.left+max(q.Batch, 1)
	return s.feed()
}

// feed returns the messages that the waiting clients can get now.
func (s *jstream) feed() []*delivery {
	var all []*delivery
	for _, c := range s.sortedConsumers() {
		msgs := s.msgs[s.view(0).from(c.next):]
		for len(msgs) > 0 && c.left > 0 {
			m := msgs[0]
			msgs = msgs[1:]
			c.next, c.left, c.handed = m.seq+1, c.left-1, c.handed+1
			d := &delivery{
				to: c.inbox, subject: m.subject, header: m.header, data: m.data,
				reply: fmt.Sprintf("$JS.ACK.%s.%s.1.%d.%d.%d.%d", s.name, c.name, m.seq, c.handed, m.at.UnixNano(), len(msgs)),
			}
			if c.headersOnly {
				d.header, d.data = withHeaders(m.header, "Nats-Msg-Size", strconv.Itoa(len(m.data))), nil
			}
			all = append(all, d)
		}
	}
	return all
}

func (s *jstream) sortedConsumers() []*consumer {
	var cs []*consumer
	for _, c := range s.consumers {
		cs = append(cs, c)
	}
	slices.SortFunc(cs, func(a, b *consumer) int { return a.n - b.n }) // their names are random
	return cs
}
