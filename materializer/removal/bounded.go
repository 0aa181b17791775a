package removal

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/session/catalog"
)

// A rank orders a session within its group, the latest change first.
type rank struct {
	last time.Time
	id   core.SessionID
}

func standingOf(row *catalog.Row) rank { return rank{modified(row), row.ID} }

// compare is negative if p is ranked before q.
func (p rank) compare(q rank) int {
	return cmp.Or(q.last.Compare(p.last), cmp.Compare(p.id, q.id))
}

// latest holds the sessions of each group that were changed last: per group a heap
// whose first element is the lowest rank that is kept.
type latest map[string]*ranks

// add adds a session to a group, of which keep sessions are kept.
func (k *latest) add(group string, keep int, p rank) {
	if *k == nil {
		*k = latest{}
	}
	ps := (*k)[group]
	if ps == nil {
		ps = &ranks{}
		(*k)[group] = ps
	}
	switch {
	case len(*ps) < keep:
		heap.Push(ps, p)
	case p.compare((*ps)[0]) < 0:
		(*ps)[0] = p
		heap.Fix(ps, 0)
	}
}

// has reports whether a session is among the first keep of its group.
func (k *latest) has(group string, keep int, p rank) bool {
	ps := (*k)[group]
	return ps == nil || len(*ps) < keep || p.compare((*ps)[0]) <= 0
}

// ranks is a heap with the lowest rank first.
type ranks []rank

func (ps ranks) Len() int           { return len(ps) }
func (ps ranks) Less(i, j int) bool { return ps[i].compare(ps[j]) > 0 }
func (ps ranks) Swap(i, j int)      { ps[i], ps[j] = ps[j], ps[i] }
func (ps *ranks) Push(p any)        { *ps = append(*ps, p.(rank)) }
func (ps *ranks) Pop() any {
	last := (*ps)[len(*ps)-1]
	*ps = (*ps)[:len(*ps)-1]
	return last
}

// oldest holds the items with the oldest changes, up to a limit.
type oldest struct {
	most  int
	items []report.Item // up to twice the limit
	more  bool          // there were more
}

func (o *oldest) add(it report.Item) {
	if o.items = append(o.items, it); len(o.items) >= 2*o.most {
		o.trim()
	}
}

// trim sorts the items and drops those above the limit.
func (o *oldest) trim() {
	slices.SortFunc(o.items, func(a, b report.Item) int {
		return cmp.Or(a.Last.Compare(b.Last), cmp.Compare(a.Session, b.Session))
	})
	if len(o.items) > o.most {
		clear(o.items[o.most:])
		o.items, o.more = o.items[:o.most], true
	}
}

// sorted returns the items, the oldest first. It is never nil.
func (o *oldest) sorted() []report.Item {
	o.trim()
	return append([]report.Item{}, o.items...)
}
