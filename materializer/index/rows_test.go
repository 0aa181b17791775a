package index_test

import (
	"fmt"
	"testing"

	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/session/catalog"
)

// allRows returns the row of every session, by id.
func allRows(t *testing.T, x *index.Index) (rows []catalog.Row, err error) {
	t.Helper()
	for row, err := range x.Rows(t.Context()) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Writes during a scan of all rows neither hide nor duplicate rows, and the scan
// does not block them.
func TestRowsYieldsEachRowOnce(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	const n = 1203 // more than two pages
	for i := range n {
		x.Put(view(fmt.Sprintf("session-%04d", i*7%n), 1, "some"))
	}
	x.Sync(t.Context())
	at := 0
	for row, err := range x.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("session-%04d", at); string(row.ID) != want {
			t.Fatalf("row %d is of %s, want %s", at, row.ID, want)
		}
		if at++; at%400 == 0 {
			x.Put(view(fmt.Sprintf("session-%04d", at/2), 2, "some")) // one that was yielded
			x.Put(view(fmt.Sprintf("a-session-%d", at), 1, "some"))   // before all of them
			x.Sync(t.Context())
		}
	}
	if at != n {
		t.Errorf("%d rows of %d", at, n)
	}
	for row, err := range x.Rows(t.Context()) { // the caller may stop
		if err != nil || row.ID != "a-session-1200" {
			t.Errorf("the first is %s, %v", row.ID, err)
		}
		break
	}
	if rows, err := allRows(t, x); err != nil || len(rows) != n+3 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}
