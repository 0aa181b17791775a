package nova

import (
	"cmp"

	"github.com/sesslog/sesslog/core"
)

// Fold returns the state that the changes in es come to, in their order. A line
// that is no change, or one that Fill would refuse, changes nothing, so that
// one bad line never hides a session.
func Fold(h core.Header, es []core.Entry) State {
	s, _ := fold(h, es)
	return s
}

// fold also returns the text of the file that the state is, where it is one:
// nil after any change that came since.
func fold(h core.Header, es []core.Entry) (s State, text []byte) {
	s = State{SessionID: h.ID, CreatedAt: novaTime(h.Time), LastUpdated: novaTime(h.Time), Model: DefaultModel, ForkParentID: h.Parent}
	for _, e := range es {
		if _, known := membersOf[e.Type]; !known {
			continue
		}
		c, err := readChange(e.Line)
		if err != nil || c.whole != nil && h.ID != "" && c.whole.SessionID != h.ID {
			continue
		}
		s, text = c.apply(s), c.text
	}
	return s, text
}

// apply returns s changed by c.
func (c *change) apply(s State) State {
	now := novaTime(c.timestamp)
	if c.whole != nil {
		return *c.whole
	}
	if c.decision != nil {
		d := *c.decision
		d.Timestamp = cmp.Or(novaTime(d.Timestamp), now)
		s = s.addDecision(d)
	}
	switch c.kind {
	case typeArtifact:
		s = s.addArtifact(c.artifact)
	case typeTokens:
		s = s.addTokens(c.added)
	case typeTurns:
		s = s.addTurns(c.added)
	case typeTask:
		s = s.addTurns(1)
		if s.ShouldPrune(c.limits) {
			s = s.compress(c.limits, now)
		}
	case typeCompress:
		if c.onlyDue && !s.ShouldPrune(c.limits) {
			return s
		}
		s = s.compress(c.limits, now)
	case typeFork:
		s.ForkCount = plus(s.ForkCount, 1)
	case typeUpdate:
		for _, set := range c.updates {
			set(&s)
		}
	}
	s.LastUpdated = cmp.Or(now, s.LastUpdated)
	return s
}
