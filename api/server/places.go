package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// places say how far a follower of several sessions is: by shard, nil for one
// that has none of them. Written as text they mean the same on every node.
type places []*place

// A place is a message of a shard, and the chain of the record that it is: zero
// for what is none.
type place struct {
	pos   core.Pos
	chain core.Chain
}

func (p *place) String() string {
	if p == nil {
		return "-"
	}
	at := strconv.FormatUint(uint64(p.pos), 36)
	if p.chain == (core.Chain{}) {
		return at
	}
	return at + "." + p.chain.String()[:placeChain]
}

// placeChain is how many characters of a chain are in a place.
const placeChain = 12

func (ps places) String() string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.String()
	}
	return strings.Join(texts, "~")
}

// feedPlaces are the places that text names, checked, or those where the shards
// end now. in says which shards count.
func (s *Server) feedPlaces(ctx context.Context, text string, in []bool) (places, error) {
	ps := make(places, len(in))
	var texts []string
	if text != "" {
		if texts = strings.Split(text, "~"); len(texts) != len(in) {
			return nil, fmt.Errorf("%.80q is no place in a log of %d shards: %w", text, len(in), core.ErrInvalid)
		}
	}
	for shard := range ps {
		var err error
		switch {
		case !in[shard]:
		case texts == nil || texts[shard] == "-":
			ps[shard], err = s.endOf(ctx, shard)
		default:
			ps[shard], err = s.placeAt(ctx, shard, texts[shard])
		}
		if err != nil {
			return nil, err
		}
	}
	return ps, nil
}

// endOf is where a shard ends now.
func (s *Server) endOf(ctx context.Context, shard int) (*place, error) {
	st, err := s.cfg.Log.State(ctx, shard)
	if err != nil {
		return nil, err
	}
	p := &place{pos: st.Last}
	p.chain, err = s.chainAt(ctx, shard, st.Last)
	return p, err
}

// placeAt reads a place, and finds out whether the shard still has what lies
// behind it. core.ErrLost where it has not, or has other records there.
func (s *Server) placeAt(ctx context.Context, shard int, text string) (*place, error) {
	at, chain, _ := strings.Cut(text, ".")
	n, err := strconv.ParseUint(at, 36, 64)
	if err != nil || chain != "" && len(chain) != placeChain {
		return nil, fmt.Errorf("%.80q is no place in a shard: %w", text, core.ErrInvalid)
	}
	p := &place{pos: core.Pos(n)}
	wait, cancel := context.WithTimeout(ctx, seenWait)
	defer cancel()
	for {
		st, err := s.cfg.Log.State(wait, shard)
		if err != nil {
			return nil, err
		}
		if p.pos <= st.Last {
			switch {
			case p.pos+1 < st.First:
				return nil, fmt.Errorf("records of shard %d behind %d have been dropped: %w", shard, p.pos, core.ErrLost)
			case p.pos < st.First: // it was dropped, and nothing behind it
				return p, nil
			}
			break
		}
		if retry.Wait(wait, 100*time.Millisecond) != nil { // a leader may not have heard of it yet
			return nil, fmt.Errorf("shard %d ends at %d, before %d: %w", shard, st.Last, p.pos, core.ErrLost)
		}
	}
	if p.chain, err = s.chainAt(wait, shard, p.pos); err != nil {
		return nil, err
	}
	if have := p.String(); have != text {
		return nil, fmt.Errorf("shard %d has another record at %d: %w", shard, p.pos, core.ErrLost)
	}
	return p, nil
}

// chainAt is the chain of the record at a place of a shard, zero where none is.
func (s *Server) chainAt(ctx context.Context, shard int, pos core.Pos) (core.Chain, error) {
	if pos == 0 {
		return core.Chain{}, nil
	}
	chain, err := s.cfg.Log.ChainAt(ctx, shard, pos)
	if errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	return chain, err
}
