package index

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/session/catalog"
)

// A listing selects its sessions from an index alone, reads only the rows that it
// returns, and sorts nothing if the index has its order.
func TestListingsUseCoveringIndexes(t *testing.T) {
	t.Parallel()
	x, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "index.db"), Log: "main"})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, c := range []struct {
		name   string
		filter catalog.Filter
		by     string
		sorts  bool
	}{
		{name: "newest", by: "COVERING INDEX by_modified"},
		{name: "oldest", filter: catalog.Filter{Reverse: true}, by: "COVERING INDEX by_modified"},
		{name: "two letters of text", filter: catalog.Filter{Text: "ab"}, by: "COVERING INDEX by_modified"},
		{name: "two letters of a name", filter: catalog.Filter{Name: "ab", State: catalog.StateOpen}, by: "COVERING INDEX by_modified"},
		{name: "name by name", filter: catalog.Filter{Name: "ab", Sort: catalog.SortName}, by: "COVERING INDEX by_name"},
		{name: "cwd", filter: catalog.Filter{CWD: "/w"}, by: "COVERING INDEX by_cwd"},
		{name: "cwd and state", filter: catalog.Filter{CWD: "/w", State: catalog.StateClosed}, by: "COVERING INDEX by_cwd"},
		{name: "cwd by cost", filter: catalog.Filter{CWD: "/w", Sort: catalog.SortCost}, by: "COVERING INDEX by_cwd", sorts: true},
		{name: "below a cwd", filter: catalog.Filter{CWD: "/w", Below: true}, by: "COVERING INDEX by_cwd", sorts: true},
		{name: "tag", filter: catalog.Filter{Tags: []string{"a"}}, by: "marks USING PRIMARY KEY"},
		{name: "tag and more", filter: catalog.Filter{Tags: []string{"a", "b"}, CWD: "/w", Dialect: "pi"}, by: "COVERING INDEX by_cwd"},
		{name: "label by size", filter: catalog.Filter{Label: "a", Sort: catalog.SortSize}, by: "marks USING PRIMARY KEY", sorts: true},
	} {
		plan := planOf(t, x, c.filter)
		if !strings.Contains(plan, c.by) || strings.Contains(plan, "s USING INTEGER PRIMARY KEY") || strings.Contains(plan, "TEMP B-TREE") != c.sorts {
			t.Errorf("%s: does not use %s alone, or sorts needlessly:\n%s", c.name, c.by, plan)
		}
	}
}

// planOf returns SQLite's query plan. The file is empty, so every access path is
// short enough.
func planOf(t *testing.T, x *Index, f catalog.Filter) string {
	t.Helper()
	f.Limit = 100
	o := orderOf(&f)
	w, err := conditionsOf(&f, o.sort)
	if err != nil {
		t.Fatal(err)
	}
	var plan []string
	err = x.read(t.Context(), "the plan", func(ctx context.Context, tx *sql.Tx) error {
		l := &listing{ctx: ctx, tx: tx, where: w, order: o, limit: f.Limit}
		if err := l.choose(); err != nil {
			return err
		}
		query, args := l.query("", nil, 1)
		rows, err := tx.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var line string
			if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
				return err
			}
			plan = append(plan, line)
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "\n")
}
