package follow

import "time"

// A step is what to do with a file that was examined.
type step int

const (
	skip    step = iota // the file is in step
	grow                // append what was added, and compare if anything else changed
	compare             // compare the file with the log
)

// An observation is a file as it was found, and why it was examined.
type observation struct {
	stat       stat
	document   bool          // it is one JSON object
	final      bool          // a last line without a newline counts as complete
	force      bool          // compare it even if it seems unchanged
	unacked    bool          // a request may still arrive, and a fence is due
	unverified bool          // it grew, and its earlier bytes were not all read again
	verified   time.Duration // how long ago they were
}

// next decides what to do with a file. verify says to read all of its earlier
// bytes again.
func next(p place, o observation) (do step, verify bool) {
	verify = o.unverified && (o.final || o.stat.unchangedFor() > lastLineDelay || o.verified > verifyInterval)
	incomplete := o.final && p.Offset < o.stat.size
	switch {
	case o.force || o.unacked:
		return compare, verify
	case !incomplete && !verify && p.matches(o.stat):
		return skip, false
	case p.inStep() && !o.document:
		return grow, verify
	}
	return compare, verify
}

// isDue reports whether a file must be examined, given its published place.
func isDue(p place, o observation) bool {
	switch {
	case o.force, o.unacked:
		return true
	case o.unverified && o.stat.unchangedFor() > lastLineDelay:
		return true
	}
	return !p.matches(o.stat)
}

// A backoff is a delay that doubles with each failure, from a minute to an hour.
type backoff time.Duration

func (b backoff) next() backoff {
	return min(max(2*b, backoff(time.Minute)), backoff(time.Hour))
}
