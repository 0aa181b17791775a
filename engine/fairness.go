package engine

import (
	"time"

	"github.com/sesslog/sesslog/internal/retry"
)

const (
	// aloneFor is how long a session's line writes without a gap before it makes
	// one, in case that somebody else waits for one.
	maxBurst = 2 * time.Second
	// sharedFor is how long a session counts as written by others, too, once a
	// record of theirs came before one from here.
	contendedFor = 10 * time.Second
	// A gap is at least so long, and at most.
	minGap = 50 * time.Millisecond
	maxGap = time.Second
)

// A courtesy is what keeps the line of one node from having a session to itself.
// Whoever has just stored a record knows at once where the next one goes. Others
// hear only that they came too late, have to read, and are too late again, for as
// long as that one's line is never empty: their appends would wait until they are
// given up. So a line leaves a gap behind a record in which others can read and
// send theirs: each time where it knows of others, and every two seconds where it
// does not, for one who never gets in is not to be seen from here.
type fairness struct {
	busySince time.Time     // of the first record without a gap before it
	stored    time.Time     // when the last record from here was
	took      time.Duration // to store that one
	lostRace  time.Time     // when another's record came before one from here
}

// rest returns how long the next record must wait for the sake of others.
func (c *fairness) wait(now time.Time) time.Duration {
	left := c.stored.Add(c.writeGap()).Sub(now)
	if left > 0 && now.Sub(c.busySince) < maxBurst && now.Sub(c.lostRace) >= contendedFor {
		return 0
	}
	c.busySince = now
	return max(left, 0)
}

// gap is the time that others need: one more try that fails, a reading, and a try
// that does not, each of which is quicker than to store a record.
func (c *fairness) writeGap() time.Duration {
	return min(minGap+2*c.took, maxGap)
}

// letOthers waits where it is the turn of other nodes. Nothing is held meanwhile.
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

// noteStored notes that a record from here was stored, which was sent at began.
func (s *Session) recordStored(began time.Time) {
	s.qmu.Lock()
	defer s.qmu.Unlock()
	s.fairness.stored = time.Now()
	s.fairness.took = s.fairness.stored.Sub(began)
}

// notePassed notes that a record of others came before one from here, and whether
// it may be one of many.
func (s *Session) recordLostRace(many bool) {
	if many {
		s.qmu.Lock()
		s.fairness.lostRace = time.Now()
		s.qmu.Unlock()
	}
	s.ss.cfg.Observer.lostRace()
}
