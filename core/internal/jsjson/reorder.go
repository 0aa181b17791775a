package jsjson

import (
	"cmp"
	"slices"
	"sort"
)

// mixed is an object in the output whose members have to be reordered. That is
// deferred to the end, so that an object inside many such objects is moved only
// once.
type mixed struct {
	start, end int
	spans      []span
}

// reordered returns dst, in which the output begins at base, with the members
// of all objects in JavaScript's order.
func (c *coder) reordered(dst []byte, base int) []byte {
	if len(c.mixed) == 0 {
		return dst
	}
	slices.SortFunc(c.mixed, func(a, b mixed) int { return a.start - b.start })
	r := reorderer{old: slices.Clone(dst[base:]), base: base, mixed: c.mixed}
	return r.copy(dst[:base], base, base+len(r.old))
}

// A reorderer copies output that is in old, and began at base, to its place.
type reorderer struct {
	old   []byte
	base  int
	mixed []mixed // by start
}

func (r *reorderer) text(from, to int) []byte { return r.old[from-r.base : to-r.base] }

// copy appends what was written between from and to.
func (r *reorderer) copy(dst []byte, from, to int) []byte {
	for {
		i := sort.Search(len(r.mixed), func(i int) bool { return r.mixed[i].start >= from })
		if i == len(r.mixed) || r.mixed[i].start >= to {
			return append(dst, r.text(from, to)...)
		}
		m := r.mixed[i]
		dst = append(dst, r.text(from, m.start)...)
		dst = r.object(dst, m)
		from = m.end
	}
}

func (r *reorderer) object(dst []byte, m mixed) []byte {
	dst = append(dst, '{')
	for i, s := range r.order(m.spans) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, r.text(s.name, s.value)...)
		dst = r.copy(dst, s.value, s.end)
	}
	return append(dst, '}')
}

// order returns the members to write, in order: of each name the last value at
// the first place, array indices in front.
func (r *reorderer) order(spans []span) []span {
	places := make(map[string]int, len(spans))
	kept := make([]span, 0, len(spans))
	for _, s := range spans {
		name := string(r.name(s))
		if i, ok := places[name]; ok {
			kept[i] = s
			continue
		}
		places[name] = len(kept)
		kept = append(kept, s)
	}
	slices.SortStableFunc(kept, func(a, b span) int { return cmp.Compare(order(r.name(a)), order(r.name(b))) })
	return kept
}

// name is the name of a member, in quotes.
func (r *reorderer) name(s span) []byte { return r.text(s.name, s.value-1) }
