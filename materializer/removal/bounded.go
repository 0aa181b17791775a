package removal

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// A standing is where a session stands among those of its group, the latest first.
type standing struct {
	last time.Time
	id   core.SessionID
}

func standingOf(row *materializer.Row) standing { return standing{changed(row), row.ID} }

// compare is negative where p is before q: later, or called before it.
func (p standing) compare(q standing) int {
	return cmp.Or(q.last.Compare(p.last), cmp.Compare(p.id, q.id))
}

// latest are the sessions of each group that were changed last, as many as are
// kept: a heap each, whose first is the last that is kept.
type latest map[string]*standings

// add takes in a session of a group of which so many are kept.
func (k *latest) add(group string, keep int, p standing) {
	if *k == nil {
		*k = latest{}
	}
	ps := (*k)[group]
	if ps == nil {
		ps = &standings{}
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
func (k *latest) has(group string, keep int, p standing) bool {
	ps := (*k)[group]
	return ps == nil || len(*ps) < keep || p.compare((*ps)[0]) <= 0
}

// standings is a heap, the last first.
type standings []standing

func (ps standings) Len() int           { return len(ps) }
func (ps standings) Less(i, j int) bool { return ps[i].compare(ps[j]) > 0 }
func (ps standings) Swap(i, j int)      { ps[i], ps[j] = ps[j], ps[i] }
func (ps *standings) Push(p any)        { *ps = append(*ps, p.(standing)) }
func (ps *standings) Pop() any {
	last := (*ps)[len(*ps)-1]
	*ps = (*ps)[:len(*ps)-1]
	return last
}

// oldest are the items that were not changed for longest, as many as there may
// be.
type oldest struct {
	most  int
	items []Item // up to twice as many
	more  bool   // there were more
}

func (o *oldest) add(it Item) {
	if o.items = append(o.items, it); len(o.items) >= 2*o.most {
		o.trim()
	}
}

// trim sorts, and lets go of what is too much.
func (o *oldest) trim() {
	slices.SortFunc(o.items, func(a, b Item) int {
		return cmp.Or(a.Last.Compare(b.Last), cmp.Compare(a.Session, b.Session))
	})
	if len(o.items) > o.most {
		clear(o.items[o.most:])
		o.items, o.more = o.items[:o.most], true
	}
}

// sorted returns the items, none of which is nil, the oldest first.
func (o *oldest) sorted() []Item {
	o.trim()
	return append([]Item{}, o.items...)
}
