package materializer

import (
	"math"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/stream"
)

// A survey is what the messages of a shard are worth, found out from their
// headers alone: how many of their bytes are still needed, and where the rest
// lies. It is an estimate that costs no reading of sessions. Whoever truncates
// proves what it does not know.
type survey struct {
	first, last core.Pos
	total       [parts]int64 // bytes of all messages, by where they lie
	sessions    map[core.SessionID]*needs
}

// parts is how many parts a shard is looked at in.
const parts = 1 << 10

// needs is what one session needs of a shard.
type needs struct {
	first  core.Pos // its first message
	pieces []piece  // what it needs, in order
}

// A piece is some messages of one session that are needed, from pos on.
type piece struct {
	pos   core.Pos
	bytes int64
}

// mostPieces bounds what is remembered of one session.
const mostPieces = 64

func newSurvey(st stream.ShardState) *survey {
	return &survey{first: st.First, last: st.Last, sessions: map[core.SessionID]*needs{}}
}

// part is the one that pos lies in.
func (v *survey) part(pos core.Pos) int {
	pos = min(max(pos, v.first), v.last)
	span := float64(v.last-v.first) + 1
	return min(int(float64(pos-v.first)/span*parts), parts-1)
}

// end is the last position of a part.
func (v *survey) end(part int) core.Pos {
	if part == parts-1 {
		return v.last
	}
	pos := v.first + core.Pos(math.Ceil((float64(v.last-v.first)+1)*float64(part+1)/parts)) - 1
	return min(pos, v.last)
}

// take takes in the next message.
func (v *survey) take(ch stream.Change) {
	v.total[v.part(ch.Pos)] += ch.Bytes
	if ch.Subject == "" {
		return
	}
	n := v.sessions[ch.Subject]
	if n == nil {
		n = &needs{first: ch.Pos}
		v.sessions[ch.Subject] = n
	}
	n.take(ch)
}

// take takes in the session's next message. A checkpoint ends the need of what
// its snapshot covers, an erase record that of everything.
func (n *needs) take(ch stream.Change) {
	switch ch.Kind {
	case core.KindCheckpoint:
		for len(n.pieces) > 0 && n.pieces[0].pos <= ch.Base {
			n.pieces = n.pieces[1:]
		}
	case core.KindErase:
		n.pieces = nil
	}
	n.pieces = append(n.pieces, piece{ch.Pos, ch.Bytes})
	if len(n.pieces) <= mostPieces {
		return
	}
	// Two pieces are one, needed as long as the first of them.
	for i := range mostPieces / 2 {
		a, b := n.pieces[2*i], n.pieces[2*i+1]
		n.pieces[i] = piece{a.pos, a.bytes + b.bytes}
	}
	n.pieces = append(n.pieces[:mostPieces/2], n.pieces[mostPieces:]...)
}

// A plan says what to do about a shard's garbage.
type plan struct {
	live, garbage int64          // bytes
	upTo          core.Pos       // drop up to here; 0 for nothing
	frees         int64          // garbage bytes that go with it
	blocked       core.SessionID // who keeps more from going, "" for nobody
}

// plan decides where to cut, so that no more is garbage than is live, and as
// much as allowance. A cut takes half of the garbage and no more: what is needed
// in it has to be stored again, and that is at most twice what goes. So what is
// stored again stays in proportion to what is appended. inWay are sessions that
// cannot be moved; a cut that would free next to nothing before the first of
// them is none.
func (v *survey) plan(allowance int64, inWay func(core.SessionID) bool) plan {
	var garbage [parts]int64
	var p plan
	limit, blocker := core.Pos(math.MaxUint64), core.SessionID("")
	for i, n := range v.total {
		garbage[i] = n
		p.garbage += n
	}
	for id, n := range v.sessions {
		for _, piece := range n.pieces {
			garbage[v.part(piece.pos)] -= piece.bytes
			p.live += piece.bytes
		}
		if n.first <= limit && inWay(id) {
			limit, blocker = n.first, id
		}
	}
	p.garbage -= p.live
	if p.garbage <= p.live+allowance {
		return p
	}
	var frees int64
	for i := range garbage {
		if v.end(i) >= limit {
			p.blocked = blocker
			break
		}
		frees += garbage[i]
		p.upTo, p.frees = v.end(i), frees
		if frees >= p.garbage/2 {
			break
		}
	}
	if p.frees < p.garbage/16 {
		p.upTo, p.frees = 0, 0
	}
	return p
}
