package fire_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// pulseEvery is the pause of a pulse between an answer and the next append.
const pulseEvery = 15 * time.Millisecond

// A pulse is one writer that appends line after line to a separate session and retries each
// on one node after the other until it has an answer. Its time without an answer is the
// cost of a fault.
type pulse struct {
	run     *run
	session string
	node    int // of the next try

	mu    sync.Mutex
	ids   []string // acknowledged, in order
	acked []time.Duration
	doubt int    // lines that were sent more than once
	fault string // an answer that no fault explains
}

func (p *pulse) beat(ctx context.Context) {
	if !p.run.create(ctx, p.session) {
		return
	}
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("p%07x", n)
		line := []byte(entryLine(id, fmt.Sprintf("line %d", n)))
		for try := 0; ; try++ {
			err := p.send(p.run.clients[p.node], line)
			if err == nil {
				p.answered(id, try > 0)
				break
			}
			if !p.excused(err) || ctx.Err() != nil {
				return // a line without an answer is not a loss
			}
			p.node = (p.node + 1) % len(p.run.clients)
			pause(ctx, 20*time.Millisecond)
		}
		pause(ctx, pulseEvery)
	}
}

func (p *pulse) send(c *client.Client, line []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
	defer cancel()
	_, err := c.Append(ctx, p.session, line, client.AppendOptions{})
	return err
}

func (p *pulse) answered(id string, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids = append(p.ids, id)
	p.acked = append(p.acked, p.run.history.now())
	if again {
		p.doubt++
	}
}

// excused reports whether a fault explains that error. A server without a quorum may not
// know the session yet.
func (p *pulse) excused(err error) bool {
	if errors.Is(err, core.ErrUncertain) || errors.Is(err, core.ErrUnavailable) {
		return true
	}
	now := p.run.history.now()
	if errors.Is(err, core.ErrNotFound) && p.run.mayBeStale(now, now) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = err.Error()
	return false
}

// since reports whether an append that was sent after t was acknowledged, or whether the
// pulse has stopped.
func (p *pulse) since(t time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.acked)
	return p.fault != "" || n > 1 && p.acked[n-2] > t // the one before it was answered at that time
}

// gap returns the longest time without an answer that overlaps from and to.
func (p *pulse) gap(from, to time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, _ := slices.BinarySearch(p.acked, from)
	last := from
	if i > 0 {
		last = p.acked[i-1]
	}
	longest := time.Duration(0)
	for _, at := range p.acked[i:] {
		longest = max(longest, at-last)
		if last = at; at >= to {
			return longest
		}
	}
	return max(longest, to-last)
}

// after returns the time of the first answer after t.
func (p *pulse) after(t time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, _ := slices.BinarySearch(p.acked, t)
	if i == len(p.acked) {
		return t
	}
	return p.acked[i]
}
