package lineage_test

import (
	"context"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// A journal has the sessions that were made in its context, except where
// recording is off. A log calls Note.
func ExampleTrack() {
	var j lineage.Journal
	ctx := lineage.Track(context.Background(), &j)
	lineage.Note(ctx, "session-1")
	lineage.Note(lineage.Recording(ctx, false), "session-2")
	fmt.Println(j.Visits())
	rows, err := j.Export(func(id core.SessionID) (lineage.Node, bool) { return lineage.Node{ID: id, Entries: 2}, true }, true)
	fmt.Print(string(rows), err)
	// Output:
	// [session-1]
	// {"id": "session-1", "parent_session_ids": [], "lineage_operator": "implicit", "lineage_kind": "unknown", "lineage_extras": [], "chunk_count": 2, "cumulative_usage": null}
	// <nil>
}
