package index_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/catalog"
)

type hold = session.HeldClaim

// frequent is a tag of half of the sessions.
const frequent = "frequent"

// filter returns a filter that matches some of the sessions.
func (w *world) filter(o []*materializer.View) catalog.Filter {
	some := o[w.rng.IntN(len(o))]
	f := catalog.Filter{}
	if w.rng.IntN(2) == 0 {
		f.Sort = catalog.Sorts[w.rng.IntN(len(catalog.Sorts))]
	}
	f.Reverse = w.rng.IntN(3) == 0
	f.Deleted = w.rng.IntN(10) == 0
	for range 1 + w.rng.IntN(3) {
		switch w.rng.IntN(13) {
		case 0:
			f.CWD, f.Below = some.Row.CWD, w.rng.IntN(2) == 0
		case 1:
			f.CWD, f.Below = some.Row.CWD[:strings.LastIndexByte(some.Row.CWD, '/')], true
		case 2:
			f.Dialect = some.Row.Dialect
		case 3:
			f.Tags = append(f.Tags, []string{fmt.Sprintf("tag-%d", w.rng.IntN(300)), frequent}[w.rng.IntN(2)])
		case 4:
			f.Holder = []string{"host-1", "ann", fmt.Sprintf("host-%d", w.rng.IntN(200))}[w.rng.IntN(3)]
		case 5:
			f.Label = fmt.Sprintf("label %d", w.rng.IntN(40))
		case 6:
			f.Name = word(w.words.Uint64())[:1+w.rng.IntN(2)]
			if w.rng.IntN(2) == 0 {
				f.Name, f.Fuzzy = "", f.Name
			}
		case 7:
			first := some.Row.First
			at := w.rng.IntN(len(first) / 2)
			f.Text = first[at : at+1+w.rng.IntN(min(12, len(first)-at-1))]
		case 8:
			f.State = catalog.States[w.rng.IntN(len(catalog.States))]
			f.Silence = &catalog.Silence{Since: w.time()}
			for head, c := range some.Claims {
				f.Silence.Alive = append(f.Silence.Alive, hold{Session: some.Row.ID, Head: head, Writer: c.Writer})
			}
		case 9:
			f.Created = span(w.rng, w.time(), 24*time.Hour)
		case 10:
			f.Modified = span(w.rng, moment(last(some)), 24*time.Hour)
		case 11:
			from, to := some.Row.Size-20, some.Row.Size+w.rng.Int64N(100)
			f.Size = catalog.Range[int64]{From: &from, To: &to}
		case 12:
			from := some.Row.Usage.Cost
			f.Cost.From = &from
		}
	}
	if w.rng.IntN(12) == 0 {
		f.Prefix = string(some.Row.ID[:1+w.rng.IntN(4)])
	}
	if w.rng.IntN(12) == 0 {
		f.Within = string(some.Row.ID[:1+w.rng.IntN(4)])
	}
	return f
}

func span(rng *rand.Rand, from time.Time, wide time.Duration) (r catalog.Range[time.Time]) {
	to := from.Add(time.Duration(rng.Int64N(int64(30 * wide))))
	if rng.IntN(3) > 0 {
		r.From = &from
	}
	if rng.IntN(3) > 0 || r.From == nil {
		r.To = &to
	}
	return r
}

// listAll lists page by page.
func listAll(t testing.TB, x *index.Index, f catalog.Filter) (ids []core.SessionID) {
	t.Helper()
	for {
		page, err := x.List(t.Context(), f)
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		for _, r := range page.Rows {
			ids = append(ids, r.ID)
		}
		if page.Next == "" {
			return ids
		}
		if len(page.Rows) != f.Limit {
			t.Fatalf("%+v: a page of %d before the last one", f, len(page.Rows))
		}
		f.After = page.Next
	}
}

func searchAll(t testing.TB, x *index.Index, q catalog.SearchQuery) (found []string, hits []catalog.Hit) {
	t.Helper()
	for {
		page, err := x.Search(t.Context(), q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		for _, h := range page.Hits {
			found = append(found, string(h.Session)+" "+h.Entry)
		}
		hits = append(hits, page.Hits...)
		if page.Next == "" {
			return found, hits
		}
		q.Before = page.Next
	}
}

// After random changes, listings, searches and prompts equal those of a model that
// looks through everything, page by page and in the same order.
func TestListingsAndSearchesEqualTheirModel(t *testing.T) {
	t.Parallel()
	rows, changes, asked := 5_000, 300, 40
	if *long {
		rows, changes, asked = 20_000, 6_000, 150
	}
	w, x, known := newWorld(newRand(t)), newIndex(t), oracle{}
	var all []*materializer.View
	for i := range rows {
		v := w.session(i)
		if w.rng.IntN(2) == 0 {
			v.Row.Tags = append(v.Row.Tags, frequent)
		}
		known[v.Row.ID] = v
		all = append(all, v)
		x.Put(*v)
	}
	for range changes {
		i := w.rng.IntN(len(all))
		switch id := all[i].Row.ID; w.rng.IntN(20) {
		case 0:
			x.Forget(id)
			delete(known, id)
			continue
		case 1:
			if w.rng.IntN(10) > 0 {
				continue
			}
			x.Sync(t.Context())
			continue
		case 2:
			x.Put(*all[i]) // an older or the same one
		default:
			if known[id] == nil {
				continue
			}
			all[i] = w.change(all[i])
			known[id] = all[i]
			x.Put(*all[i])
		}
		if known[all[i].Row.ID] == nil { // the older one is the newest again
			known[all[i].Row.ID] = all[i]
		}
	}
	x.Sync(t.Context())
	live := 0
	for _, v := range known {
		if !v.Row.Deleted {
			live++
		}
	}
	if x.Len() != live {
		t.Errorf("%d sessions are counted, there are %d", x.Len(), live)
	}
	for range asked {
		f := w.filter(all)
		want := known.list(f)
		f.Limit = 1 + w.rng.IntN(max(1, len(want)))
		if len(want) > 500 {
			f.Limit = max(f.Limit, 100)
		}
		if d := cmp.Diff(want, listAll(t, x, f), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%+v:\n%s", f, d)
		}
	}
	for i := range asked {
		v := all[w.rng.IntN(len(all))]
		q := catalog.PromptQuery{Text: strings.Fields(v.Row.First)[0] + "*"}
		switch i % 4 {
		case 0:
			q.Text, q.CWD = "", v.Row.CWD
		case 1:
			q.Dialect = v.Row.Dialect
		case 2:
			q.CWD = v.Row.CWD
		}
		want := known.prompts(q)
		q.Limit = 1 + len(want)/3
		if d := cmp.Diff(want, promptsAll(t, x, q), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%+v:\n%s", q, d)
		}
	}
	for range asked {
		f := catalog.Filter{}
		if w.rng.IntN(2) == 0 {
			f = w.filter(all)
		}
		terms := w.terms(all[w.rng.IntN(len(all))])
		want := w.search(known, f, terms)
		got, hits := searchAll(t, x, catalog.SearchQuery{Text: strings.Join(terms, " "), Sessions: f, Limit: max(1, len(want)/2)})
		if !slices.IsSortedFunc(hits, func(a, b catalog.Hit) int { return strings.Compare(b.Time, a.Time) }) {
			t.Fatalf("%q: not the newest first", terms)
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%q in %+v:\n%s", terms, f, d)
		}
	}
}

func promptsAll(t testing.TB, x *index.Index, q catalog.PromptQuery) (lines []string) {
	t.Helper()
	for {
		page, err := x.Prompts(t.Context(), q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		for _, p := range page.Prompts {
			lines = append(lines, fmt.Sprintf("%s %s %s", p.Session, p.Entry, p.Prompt))
		}
		if page.Next == "" {
			return lines
		}
		q.Before = page.Next
	}
}

// terms returns a query with words of v.
func (w *world) terms(v *materializer.View) []string {
	said := strings.Fields(v.Row.First)
	var out []string
	for range 1 + w.rng.IntN(3) {
		i := w.rng.IntN(len(said))
		switch w.rng.IntN(4) {
		case 0:
			out = append(out, said[i][:min(len(said[i]), 3)]+"*")
		case 1:
			out = append(out, `"`+strings.Join(said[i:min(len(said), i+2)], " ")+`"`)
		default:
			out = append(out, said[i])
		}
	}
	return out
}

// A page ends at its last row: rows that stay are listed exactly once, whatever
// changes between pages.
func TestPagingWhileRowsChange(t *testing.T) {
	t.Parallel()
	w, x, known := newWorld(newRand(t)), newIndex(t), oracle{}
	var all []*materializer.View
	for i := range 500 {
		v := w.session(i)
		v.Row.Deleted, v.Row.Usage.Cost = false, float64(i%3) // many are equal
		known[v.Row.ID] = v
		all = append(all, v)
		x.Put(*v)
	}
	x.Sync(t.Context())
	still := maps.Clone(known)
	seen := map[core.SessionID]int{}
	f := catalog.Filter{Sort: catalog.SortCost, Limit: 20}
	for {
		page, err := x.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Rows {
			seen[r.ID]++
		}
		if page.Next == "" {
			break
		}
		f.After = page.Next
		lastOne := page.Rows[len(page.Rows)-1].ID
		x.Forget(lastOne)
		v := *all[w.rng.IntN(len(all))]
		v.Row.Seq, v.Row.Usage.Cost = v.Row.Seq+10, 9
		x.Put(v)
		x.Sync(t.Context())
		delete(still, lastOne)
		delete(still, v.Row.ID)
	}
	for id := range still {
		if seen[id] != 1 {
			t.Errorf("session %s was listed %d times", id, seen[id])
		}
	}
}
