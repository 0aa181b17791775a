package notice_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/session/notice"
)

func TestBetweenDerivesNotices(t *testing.T) {
	t.Parallel()
	desk := &core.Claim{Agent: "pi", Host: "desk", Writer: "w1", Epoch: 1}
	couch := &core.Claim{Agent: "pi", Host: "couch", Writer: "w2", Epoch: 2}
	row := func(seq uint64, change func(*catalog.Row)) *catalog.Row {
		r := &catalog.Row{ID: "01a2b3c4d5", Dialect: "pi", CWD: "/home/ann/site/", Seq: seq}
		change(r)
		return r
	}
	for _, c := range []struct {
		name        string
		before, now *catalog.Row
		want        []string
	}{
		{
			"another writer claims a held head",
			row(3, func(r *catalog.Row) { r.Holder = desk }), row(4, func(r *catalog.Row) { r.Holder = couch }),
			[]string{"session.taken_over: pi session 01a2b3c4 in site: pi on couch took over from pi on desk"},
		},
		{
			"a writer claims a free head",
			row(3, func(*catalog.Row) {}), row(4, func(r *catalog.Row) { r.Holder = couch }), nil,
		},
		{
			"a head is added",
			row(3, func(r *catalog.Row) { r.Heads = []string{"a"} }), row(4, func(r *catalog.Row) { r.Heads, r.Name = []string{"a", "b"}, "Port" }),
			[]string{"session.split: Port: split, lines are on the head b beside main"},
		},
		{
			"a session appears with two heads",
			row(0, func(*catalog.Row) {}), row(4, func(r *catalog.Row) { r.Heads = []string{"a"} }), nil,
		},
		{
			"a turn ends",
			row(3, func(r *catalog.Row) { r.Holder = desk }), row(4, func(r *catalog.Row) { r.Holder, r.Waits = desk, "e7" }),
			[]string{"session.waiting: pi session 01a2b3c4 in site: pi on desk waits for its user"},
		},
		{
			"a session appears, and its turn ended long ago", // its directory was rebuilt
			row(0, func(*catalog.Row) {}), row(4, func(r *catalog.Row) { r.Holder, r.Waits, r.Modified = desk, "e7", "2026-01-05T09:00:00.000Z" }), nil,
		},
		{
			"a session appears, and its turn ended now",
			row(0, func(*catalog.Row) {}),
			row(4, func(r *catalog.Row) {
				r.Holder, r.Waits, r.Modified = desk, "e7", time.Now().UTC().Format(time.RFC3339)
			}),
			[]string{"session.waiting: pi session 01a2b3c4 in site: pi on desk waits for its user"},
		},
		{
			"the agent still waits",
			row(3, func(r *catalog.Row) { r.Holder, r.Waits = desk, "e7" }), row(4, func(r *catalog.Row) { r.Holder, r.Waits = desk, "e7" }), nil,
		},
		{
			"no writer holds a session that waits", // it was imported
			row(3, func(*catalog.Row) {}), row(4, func(r *catalog.Row) { r.Waits = "e7" }), nil,
		},
		{
			"an older row comes late",
			row(5, func(r *catalog.Row) { r.Holder = couch }), row(4, func(r *catalog.Row) { r.Holder = desk }), nil,
		},
		{
			"the session is deleted",
			row(3, func(*catalog.Row) {}), row(4, func(r *catalog.Row) { r.Deleted, r.Heads = true, []string{"a"} }), nil,
		},
	} {
		var got []string
		ids := map[string]bool{}
		for _, n := range notice.Between(c.before, c.now, time.Now()) {
			got, ids[n.ID] = append(got, string(n.Kind)+": "+n.Text), true
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		for _, n := range notice.Between(c.before, c.now, time.Now().Add(time.Hour)) {
			if !ids[n.ID] {
				t.Errorf("%s: the same event has another id an hour later", c.name)
			}
		}
	}
}
