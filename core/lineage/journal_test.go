package lineage_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// RATH-52
func TestJournalKeepsOrder(t *testing.T) {
	t.Parallel()
	var j, inner lineage.Journal
	outside := t.Context()
	lineage.Note(outside, "before") // no journal, no matter
	scope := lineage.Track(outside, &j)
	lineage.Note(scope, "b")
	lineage.Note(lineage.Track(scope, &inner), "nested")
	lineage.Note(scope, "a")
	lineage.Note(scope, "b")
	lineage.Note(outside, "after")
	if got := j.Visits(); !slices.Equal(got, ids("b", "a", "b")) {
		t.Errorf("the journal has %v", got)
	}
	if got := inner.Visits(); !slices.Equal(got, ids("nested")) {
		t.Errorf("the inner journal has %v", got)
	}
}

// RATH-52, RATH-55: sessions are looked up in the log; they need not be
// registered.
func TestJournalExport(t *testing.T) {
	t.Parallel()
	var j lineage.Journal
	scope := lineage.Track(t.Context(), &j)
	for _, id := range ids("second", "gone", "first") {
		lineage.Note(scope, id)
	}
	g := lineage.New([]lineage.Node{node("first"), node("second", "first")})
	got, err := j.Export(g.Node, false)
	lines := strings.Split(string(got), "\n")
	if err != nil || len(lines) != 3 || !strings.HasPrefix(lines[0], `{"id": "second"`) || !strings.HasPrefix(lines[1], `{"id": "first"`) {
		t.Errorf("exported, %v:\n%s", err, got)
	}
	if _, err := j.Export(g.Node, true); !errors.Is(err, core.ErrNotFound) || !strings.Contains(err.Error(), "gone") {
		t.Errorf("strictly: %v", err)
	}
	none := func(core.SessionID) (lineage.Node, bool) { return lineage.Node{}, false }
	if got, err := j.Export(none, false); err != nil || len(got) != 0 {
		t.Errorf("of nobody: %q, %v", got, err)
	}
}

// RATH-53
func TestRecordingOff(t *testing.T) {
	t.Parallel()
	var j lineage.Journal
	scope := lineage.Track(t.Context(), &j)
	off := lineage.Recording(scope, false)
	lineage.Note(off, "hidden")
	lineage.Note(lineage.Recording(off, true), "shown")
	if got := j.Visits(); !slices.Equal(got, ids("shown")) {
		t.Errorf("the journal has %v", got)
	}
	if !lineage.IsRecording(scope) || lineage.IsRecording(off) {
		t.Error("the scope around it changed")
	}
}

func TestJournalIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var j lineage.Journal
	scope := lineage.Track(t.Context(), &j)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				lineage.Note(scope, "x")
			}
		})
	}
	wg.Wait()
	if n := len(j.Visits()); n != 800 {
		t.Errorf("%d visits", n)
	}
}
