package engine

import (
	"time"

	"github.com/sesslog/sesslog/internal/retry"
)

const (
	// maxBurst is how long a node writes to a session without a gap.
	maxBurst = 2 * time.Second
	// contendedFor is how long a session counts as contended after a lost race.
	contendedFor = 10 * time.Second
	// The limits of a gap.
	minGap = 50 * time.Millisecond
	maxGap = time.Second
)

// fairness makes a busy node pause between records, so that other nodes can win the
// sequence check. The node that stored the last record knows the next sequence
// first; the others learn that they lost, read, and lose again while its queue is
// never empty. It pauses after each record if it has lost a race recently, and every
// two seconds otherwise, because a node that never wins is invisible from here.
type fairness struct {
	busySince time.Time     // first record after the last gap
	stored    time.Time     // the last record of this node
	took      time.Duration // to store it
	lostRace  time.Time     // when another node's record was first
}

// wait returns how long the next record must wait for other nodes.
func (c *fairness) wait(now time.Time) time.Duration {
	left := c.stored.Add(c.writeGap()).Sub(now)
	if left > 0 && now.Sub(c.busySince) < maxBurst && now.Sub(c.lostRace) >= contendedFor {
		return 0
	}
	c.busySince = now
	return max(left, 0)
}

// writeGap is the time that other nodes need for a failed attempt, a read and a
// second attempt. Each of them is shorter than storing a record.
func (c *fairness) writeGap() time.Duration {
	return min(minGap+2*c.took, maxGap)
}

// yield waits if other nodes should write now. It holds no lock.
func (s *Session) yield() {
	s.qmu.Lock()
	var left time.Duration
	if len(s.queue) > 0 {
		left = s.fairness.wait(time.Now())
	}
	s.qmu.Unlock()
	if left > 0 {
		_ = retry.Wait(s.ss.workers.closing, left) // a closing node does not wait
	}
}

// recordStored notes that a record, sent at began, was stored.
func (s *Session) recordStored(began time.Time) {
	s.qmu.Lock()
	defer s.qmu.Unlock()
	s.fairness.stored = time.Now()
	s.fairness.took = s.fairness.stored.Sub(began)
}

// recordLostRace notes that another writer's record came first, and whether more may
// follow.
func (s *Session) recordLostRace(many bool) {
	if many {
		s.qmu.Lock()
		s.fairness.lostRace = time.Now()
		s.qmu.Unlock()
	}
	s.ss.cfg.Observer.lostRace()
}
