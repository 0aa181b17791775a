package materializer_test

import (
	"database/sql"
	"testing"

	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/session"
)

// Rows of an older version have no lineage. They are made again from the log, once.
func TestRowsOfOtherVersionAreRebuilt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, _, stop := r.run(t, materializer.Policy{})
	src := r.create(t, "the-source")
	if _, err := r.sessions.Fork(t.Context(), src, session.Fork{ID: "the-fork"}); err != nil {
		t.Fatal(err)
	}
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()

	db, err := sql.Open("sqlite", r.file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `PRAGMA user_version = 999; UPDATE details SET row = '{"id":"the-fork"}'`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	for range 2 { // the second run finds them up to date
		m, d, stop := r.run(t, materializer.Policy{})
		if err := m.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows, err := allRows(t, d)
		if err != nil || len(rows) != 2 || rows[0].ID != "the-fork" || rows[0].Lineage.Kind != lineage.Fork || rows[0].Lineage.Parents[0].Session != "the-source" {
			t.Fatalf("the rows are %+v, %v", rows, err)
		}
		stop()
	}
}
