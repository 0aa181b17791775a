package materializer

import (
	"math"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/stream"
)

// A survey estimates from message headers how many bytes of a shard are live, and
// where its garbage lies. It reads no sessions. Truncation proves what the survey
// cannot know.
type survey struct {
	first, last core.Pos
	total       [parts]int64 // bytes of all messages, by part of the shard
	sessions    map[core.SessionID]*needs
}

// parts is the number of parts into which a survey divides a shard.
const parts = 1 << 10

// needs is what is live of one session in a shard.
type needs struct {
	first  core.Pos // its first message
	pieces []piece  // what is live, in order
}

// A piece is a run of live messages of one session, from pos on.
type piece struct {
	pos   core.Pos
	bytes int64
}

// mostPieces limits what is remembered of one session.
const mostPieces = 64

func newSurvey(st stream.ShardState) *survey {
	return &survey{first: st.First, last: st.Last, sessions: map[core.SessionID]*needs{}}
}

// part returns the part that pos is in.
func (v *survey) part(pos core.Pos) int {
	pos = min(max(pos, v.first), v.last)
	span := float64(v.last-v.first) + 1
	return min(int(float64(pos-v.first)/span*parts), parts-1)
}

// end returns the last position of a part.
func (v *survey) end(part int) core.Pos {
	if part == parts-1 {
		return v.last
	}
	pos := v.first + core.Pos(math.Ceil((float64(v.last-v.first)+1)*float64(part+1)/parts)) - 1
	return min(pos, v.last)
}

// take adds the next message.
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

// take adds the session's next message. After a checkpoint, what its snapshot
// covers is garbage; after an erase record, everything is.
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
	// Merge pairs of pieces; a pair is live as long as its first piece.
	for i := range mostPieces / 2 {
		a, b := n.pieces[2*i], n.pieces[2*i+1]
		n.pieces[i] = piece{a.pos, a.bytes + b.bytes}
	}
	n.pieces = append(n.pieces[:mostPieces/2], n.pieces[mostPieces:]...)
}

// A plan says where to truncate a shard.
type plan struct {
	live, garbage int64          // bytes
	upTo          core.Pos       // truncate up to here; 0 for nowhere
	frees         int64          // bytes of garbage up to there
	blocked       core.SessionID // the session that prevents more, "" if none
}

// plan decides where to truncate, so that garbage does not exceed the live bytes
// plus allowance. A truncation removes half of the garbage only: what is live
// before the cut must be stored again, which is at most twice what is removed. So
// rewriting is proportional to what is appended. inWay reports sessions that cannot
// be moved; a cut before the first of them that frees next to nothing is not made.
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
