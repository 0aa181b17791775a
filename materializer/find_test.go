package materializer_test

import (
	"testing"

	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/session"
)

// OP-34, OP-38, OMP-41: what is asked for is found as soon as it is stored.
func TestSessionsAreFoundByWhereTheyAreAndWhatTheySay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, _, stop := r.run(t, materializer.Policy{})
	defer stop()
	add(t, r.create(t, "session-one"), 10)
	add(t, r.create(t, "session-two"), 10)
	all, err := m.Find(t.Context(), session.Query{})
	if err != nil || len(all) != 2 {
		t.Fatalf("found %+v, %v; want both", all, err)
	}
	cwd := all[0].CWD
	for _, c := range []struct {
		q    session.Query
		want int
	}{
		{session.Query{CWD: cwd}, 2},
		{session.Query{CWD: cwd + "/below"}, 0},
		{session.Query{Dialect: all[0].Dialect, Limit: 1}, 1},
		{session.Query{Dialect: "nobody's"}, 0},
		{session.Query{Text: "nothing like it"}, 0},
	} {
		found, err := m.Find(t.Context(), c.q)
		if err != nil || len(found) != c.want {
			t.Errorf("%+v finds %d, %v; want %d", c.q, len(found), err, c.want)
		}
	}
}
