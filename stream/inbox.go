package stream

import (
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
)

// An inbox receives the answers to requests that have several. It has one subscription:
// servers tell each other of every new one.
type inbox struct {
	nc *nats.Conn

	mu      sync.Mutex
	sub     *nats.Subscription // nil until it is needed
	prefix  string             // of the subjects
	last    uint64             // the number of the last request
	waiting map[string]chan *nats.Msg
}

// open returns the subject for the answers to a request, and a channel that receives up
// to most of them. The caller must close the subject.
func (b *inbox) open(most int) (reply string, answers <-chan *nats.Msg, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sub == nil {
		b.prefix, b.waiting = b.nc.NewInbox()+".", map[string]chan *nats.Msg{}
		if b.sub, err = b.nc.Subscribe(b.prefix+"*", b.receive); err != nil {
			b.sub = nil
			return "", nil, err
		}
	}
	b.last++
	ch := make(chan *nats.Msg, most)
	reply = b.prefix + strconv.FormatUint(b.last, 36)
	b.waiting[reply] = ch
	return reply, ch, nil
}

func (b *inbox) close(reply string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, reply)
}

// receive drops answers beyond those that were asked for, and those that are late.
func (b *inbox) receive(m *nats.Msg) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.waiting[m.Subject] <- m: // blocks on a nil channel
	default:
	}
}
