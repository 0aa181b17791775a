package materializer_test

import (
	"testing"

	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/session/catalog"
)

// OP-34, OP-38, OMP-41: sessions are listed as soon as they are stored.
func TestSessionsAreListedByDirectoryDialectAndText(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, d, stop := r.run(t, materializer.Policy{})
	defer stop()
	add(t, r.create(t, "session-one"), 10)
	add(t, r.create(t, "session-two"), 10)
	list := func(f catalog.Filter) []catalog.Row {
		t.Helper()
		if err := m.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		page, err := d.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return page.Rows
	}
	all := list(catalog.Filter{})
	if len(all) != 2 {
		t.Fatalf("found %+v; want both", all)
	}
	cwd := all[0].CWD
	for _, c := range []struct {
		f    catalog.Filter
		want int
	}{
		{catalog.Filter{CWD: cwd}, 2},
		{catalog.Filter{CWD: cwd + "/below"}, 0},
		{catalog.Filter{Dialect: all[0].Dialect, Limit: 1}, 1},
		{catalog.Filter{Dialect: "none"}, 0},
		{catalog.Filter{Text: "nothing like it"}, 0},
	} {
		if found := list(c.f); len(found) != c.want {
			t.Errorf("%+v finds %d; want %d", c.f, len(found), c.want)
		}
	}
}
