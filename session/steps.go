package session

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// Steps are functions that a program gives to see, and to stop, steps of its
// session. They are called while a step runs: they may read the session, and must
// not write to it.
type Steps struct {
	// BeforeCompact is called before a compaction is added. An error stops it, and
	// is returned.
	BeforeCompact func(item.Item) error
	// Compacted is called when the compaction is an entry of the session.
	Compacted func(core.Entry)
	// BeforeFork is called before Fork, ForkFrom and Branched make a session of the
	// path to leaf; of all entries if leaf is zero. An error stops it, and is returned.
	// ForkFrom asks the Steps of its options.
	BeforeFork func(leaf core.Leaf) error
	// Moved is called when Branch, BranchWithSummary, ResetLeaf or Rewind has moved
	// the leaf.
	Moved func(from, to core.Leaf)
}

func (st *Steps) beforeCompact(it item.Item) error {
	if st.BeforeCompact == nil || it.Kind != item.Compaction {
		return nil
	}
	return st.BeforeCompact(it)
}

func (st *Steps) beforeFork(leaf core.Leaf) error {
	if st.BeforeFork == nil {
		return nil
	}
	return st.BeforeFork(leaf)
}

// compacted tells of those of the entries ids that are compactions.
func (s *Session) compacted(ids []string) {
	if s.o.Steps.Compacted == nil {
		return
	}
	for _, id := range ids {
		e, _ := s.Entry(id)
		for _, it := range s.d.Read(e) {
			if it.Kind == item.Compaction {
				s.o.Steps.Compacted(e)
				break
			}
		}
	}
}

// moved tells that the leaf has moved since it was at from, unless err is set and
// it has not.
func (s *Session) moved(from core.Leaf, err error) {
	if to := s.Leaf(); s.o.Steps.Moved != nil && to != from && (err == nil || s.Err() != nil) {
		s.o.Steps.Moved(from, to)
	}
}
