package materializer

import (
	"math/rand/v2"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/stream"
)

// A tape is the messages of a shard.
type tape []stream.Change

func (t *tape) put(id core.SessionID, kind core.Kind, base core.Pos, bytes int64) core.Pos {
	pos := core.Pos(len(*t) + 1)
	*t = append(*t, stream.Change{Session: id, Subject: id, Kind: kind, Pos: pos, Base: base, Bytes: bytes})
	return pos
}

func (t tape) survey() *survey {
	v := newSurvey(stream.ShardState{First: 1, Last: core.Pos(len(t))})
	for _, ch := range t {
		v.take(ch)
	}
	return v
}

func none(core.SessionID) bool { return false }

func TestSurveyCountsCoveredRecordsAsGarbage(t *testing.T) {
	t.Parallel()
	var s tape
	s.put("a", core.KindOpen, 0, 100)
	last := s.put("a", core.KindAppend, 1, 1000)
	s.put("a", core.KindAppend, 1, 10) // between the snapshot and its record
	s.put("a", core.KindCheckpoint, last, 1)
	s.put("b", core.KindOpen, 0, 5)
	s.put("b", core.KindErase, 0, 2)
	s.put("", "", 0, 1000) // a barrier
	p := s.survey().plan(1<<30, none)
	if p.live != 10+1+2 || p.garbage != 100+1000+5+1000 || p.upTo != 0 {
		t.Errorf("live %d, garbage %d, cut at %d", p.live, p.garbage, p.upTo)
	}
}

// For random shards, the plan's numbers are exact if no session has many records; a
// cut frees what it says, at least half of the garbage if no session is excluded,
// and rewrites at most twice what it frees.
func TestCutFreesHalfOfGarbageAndRewritesLittle(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var s tape
		need := map[core.SessionID][]core.Pos{}
		for range 100 + rng.IntN(5000) {
			id := core.SessionID(rune('a' + rng.IntN(26)))
			if n := need[id]; len(n) > 0 && (rng.IntN(10) == 0 || len(n) >= mostPieces-1) {
				covered := n[rng.IntN(len(n))]
				pos := s.put(id, core.KindCheckpoint, covered, 1+rng.Int64N(100))
				for len(n) > 0 && n[0] <= covered {
					n = n[1:]
				}
				need[id] = append(n, pos)
				continue
			}
			need[id] = append(need[id], s.put(id, core.KindAppend, 0, 1+rng.Int64N(1000)))
		}
		isLive := map[core.Pos]bool{}
		for _, n := range need {
			for _, pos := range n {
				isLive[pos] = true
			}
		}
		var live, garbage int64
		for _, ch := range s {
			if isLive[ch.Pos] {
				live += ch.Bytes
			} else {
				garbage += ch.Bytes
			}
		}
		p := s.survey().plan(0, none)
		if p.live != live || p.garbage != garbage {
			t.Fatalf("seed %d: live %d, garbage %d; want %d and %d", seed, p.live, p.garbage, live, garbage)
		}
		if garbage <= live {
			if p.upTo != 0 {
				t.Fatalf("seed %d: cuts at %d for %d of %d bytes", seed, p.upTo, garbage, live)
			}
			continue
		}
		var frees, again int64
		for _, ch := range s[:p.upTo] {
			if isLive[ch.Pos] {
				again += ch.Bytes
			} else {
				frees += ch.Bytes
			}
		}
		if frees != p.frees || frees < garbage/2 || again > 2*frees {
			t.Fatalf("seed %d: cut at %d frees %d of %d (says %d) and stores %d again", seed, p.upTo, frees, garbage, p.frees, again)
		}
	}
}

func TestSurveyOverestimatesLiveBytes(t *testing.T) {
	t.Parallel()
	var s tape
	for range 100_000 {
		s.put("a", core.KindAppend, 0, 10)
	}
	s.put("a", core.KindCheckpoint, 99_990, 10)
	v := s.survey()
	if n := len(v.sessions["a"].pieces); n > mostPieces {
		t.Errorf("%d pieces are remembered", n)
	}
	p := v.plan(0, none)
	if p.live < 110 || p.garbage+p.live != 1_000_010 || p.garbage < 900_000 {
		t.Errorf("live %d, garbage %d", p.live, p.garbage)
	}
}

func TestCutEndsBeforeExcludedSession(t *testing.T) {
	t.Parallel()
	var s tape
	for range 1000 {
		s.put("gone", core.KindAppend, 0, 100)
	}
	bad := s.put("bad", core.KindAppend, 0, 1)
	for range 100_000 {
		s.put("gone", core.KindAppend, 0, 100)
	}
	s.put("gone", core.KindCheckpoint, core.Pos(len(s)), 1)
	inWay := func(id core.SessionID) bool { return id == "bad" }
	if p := s.survey().plan(0, none); p.upTo <= bad || p.blocked != "" {
		t.Errorf("no session is excluded: %+v", p)
	}
	p := s.survey().plan(0, inWay)
	if p.upTo != 0 || p.blocked != "bad" {
		t.Errorf("a hundredth is no cut: %+v", p)
	}
	p = append(s[:1001:1001], tape{{Subject: "gone", Kind: core.KindCheckpoint, Pos: 1002, Base: 1000, Bytes: 1}}...).survey().plan(0, inWay)
	if p.upTo == 0 || p.upTo >= bad {
		t.Errorf("nearly all of it is garbage: %+v", p)
	}
}

func TestShardOwnersAreStable(t *testing.T) {
	t.Parallel()
	members := []string{"n0", "n1", "n2", "n3", "n4"}
	count := map[string]int{}
	for shard := range 1000 {
		of := owner("main", shard, members)
		count[of]++
		for i, gone := range members {
			rest := append(append([]string{}, members[:i]...), members[i+1:]...)
			now := owner("main", shard, rest)
			if of != gone && now != of || now == gone {
				t.Fatalf("shard %d is %s's; without %s, %s's", shard, of, gone, now)
			}
		}
	}
	for _, node := range members {
		if count[node] < 150 || count[node] > 250 {
			t.Errorf("%s has %d of 1000 shards", node, count[node])
		}
	}
	if owner("main", 1, nil) != "" {
		t.Error("a shard without nodes has an owner")
	}
}
