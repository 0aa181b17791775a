package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// answer is an assistant line with token costs.
func answer(id, parent string, input int) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"assistant","content":[],"usage":{"input":%d,"output":1}}}`, id, parent, input)
}

// FLEET-21
func TestMergeHasBothSessionsAsParents(t *testing.T) {
	l, ss, _ := inMemory()
	a := create(t, ss, "session-a", entry("a1", ""), answer("a2", "a1", 10))
	b := create(t, ss, "session-b", entry("b1", ""), answer("b2", "b1", 5))
	m, err := ss.Merge(t.Context(), a, b, engine.Merge{ID: "the-merge", By: "me"})
	if err != nil {
		t.Fatal(err)
	}
	st := folded(t, l, "the-merge", records(t, l, "the-merge"))
	sameState(t, "merge", st, state(t, m))
	testkit.Equal(t, "entries", []string{"a1", "a2", "b1", "b2"}, ids(st))
	testkit.Equal(t, "below", "a2", st.Entries[2].Parent)
	leaf, _ := st.Leaf(core.MainHead).ID()
	testkit.Equal(t, "leaf", "b2", leaf)
	testkit.Equal(t, "parents", []core.Lineage{
		{Session: "session-a", Entry: "a2", Cursor: state(t, a).Cursor(), Kind: "merge"},
		{Session: "session-b", Entry: "b2", Cursor: state(t, b).Cursor(), Kind: "merge"},
	}, st.Origin.Lineages())
	testkit.Equal(t, "usage", item.Usage{Input: 15, Output: 2}, st.Dialect.Summary(st.Header, st.Entries).Usage)
	testkit.Equal(t, "the header names the first", "session-a", st.Header.Parent)
	testkit.Equal(t, "by", "me", st.Origin.By)
	testkit.Equal(t, "records of a", 1, len(records(t, l, "session-a")))
	mustAppend(t, m, "", "", message("next"))
	_, err = ss.Merge(t.Context(), a, b, engine.Merge{ID: "the-merge"})
	testkit.WantErr(t, err, core.ErrExists)
}

// FLEET-21
func TestMergeOfTwoHeadsOfOneSession(t *testing.T) {
	_, ss, _ := inMemory()
	s := create(t, ss, "session-a", entry("r", ""), entry("a", "r"))
	if err := s.Move(t.Context(), "side", "", core.LeafAt("r")); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, "side", "", entry("b", "r"))
	m, err := ss.Merge(t.Context(), s, s, engine.Merge{HeadB: "side"})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "entries", []string{"r", "a", "b"}, ids(state(t, m)))
	from := state(t, m).Origin.Lineages()
	if len(from) != 2 || from[0].Session != from[1].Session || from[0].Entry != "a" || from[1].Entry != "b" {
		t.Errorf("the origin is %+v", from)
	}
}

func TestMergeRejectsIncompatibleSessions(t *testing.T) {
	l, ss, _ := inMemory()
	a := create(t, ss, "session-a", entry("a", ""))
	d := dialect.All()["operator"]
	h, err := d.Header([]byte(`{"type":"session","version":3,"id":"session-o","timestamp":1.5,"cwd":"/w"}`))
	if err != nil {
		t.Fatal(err)
	}
	o, err := ss.Create(t.Context(), engine.CreateRequest{ID: "session-o", Origin: core.Origin{Dialect: "operator"}, Header: h})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ss.Merge(t.Context(), a, o, engine.Merge{ID: "the-merge"})
	testkit.WantErr(t, err, core.ErrInvalid)
	if !strings.Contains(err.Error(), "sessctl export session-o --as pi") {
		t.Errorf("the error has no hint: %v", err)
	}
	_, err = ss.Merge(t.Context(), a, a, engine.Merge{ID: "the-merge", HeadB: "nope"})
	testkit.WantErr(t, err, core.ErrNotFound)
	testkit.Equal(t, "records", 0, len(records(t, l, "the-merge")))
}

// RATH-09, RATH-10: a fork names its source, a detached copy does not.
func TestForksOfEachKind(t *testing.T) {
	_, ss, _ := inMemory()
	src := create(t, ss, "session-a", entry("r", ""), entry("a", "r"))
	for kind, want := range map[lineage.Kind]lineage.Stamp{
		"":             {Kind: lineage.Fork, Parents: []lineage.Parent{{Session: "session-a", Kind: lineage.Fork, Entry: "a"}}},
		lineage.Branch: {Kind: lineage.Branch, Parents: []lineage.Parent{{Session: "session-a", Kind: lineage.Branch, Entry: "a"}}},
		lineage.Detach: {Kind: lineage.Detach},
	} {
		f, err := ss.Fork(t.Context(), src, session.Fork{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		st := state(t, f)
		testkit.Equal(t, string(kind), want, lineage.Of(st))
		testkit.Equal(t, "entries", []string{"r", "a"}, ids(st))
		testkit.Equal(t, "its header names it", kind != lineage.Detach, st.Header.Parent == "session-a")
	}
	_, err := ss.Fork(t.Context(), src, session.Fork{Kind: lineage.Merge})
	testkit.WantErr(t, err, core.ErrInvalid)
}

// RATH-52, RATH-53, RATH-55: a scope's journal lists the sessions made in it, in
// order. If recording is off, sessions do not name their origin. The log itself is the
// registry: it finds each session by its id.
func TestScopeJournalListsItsSessions(t *testing.T) {
	_, ss, _ := inMemory()
	src := create(t, ss, "session-a", entry("r", ""))
	var j lineage.Journal
	scope := lineage.Track(t.Context(), &j)
	fork, err := ss.Fork(scope, src, session.Fork{ID: "the-fork-z"})
	if err != nil {
		t.Fatal(err)
	}
	silent, err := ss.Fork(lineage.Recording(scope, false), fork, session.Fork{ID: "the-silent"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ss.Merge(scope, src, silent, engine.Merge{ID: "the-merge"}); err != nil {
		t.Fatal(err)
	}
	if _, err := ss.Fork(scope, src, session.Fork{ID: "the-fork-z"}); err == nil {
		t.Error("made twice")
	}
	if got := j.Visits(); !slices.Equal(got, []core.SessionID{"the-fork-z", "the-merge"}) {
		t.Errorf("the journal has %v", got)
	}
	testkit.Equal(t, "origin", lineage.Stamp{Kind: lineage.Unknown}, lineage.Of(state(t, silent)))
	b, err := j.Export(func(id core.SessionID) (lineage.Node, bool) {
		s, err := ss.Open(t.Context(), id)
		if err != nil {
			return lineage.Node{}, false
		}
		st := state(t, s)
		return lineage.Node{ID: id, Stamp: lineage.Of(st), Entries: len(st.Entries)}, true
	}, true)
	if err != nil || strings.Count(string(b), "\n") != 2 || !strings.Contains(string(b), `"id": "the-merge", "parent_session_ids": ["session-a", "the-silent"]`) {
		t.Errorf("exported, %v:\n%s", err, b)
	}
}

// A fork record of an older version is read unchanged.
func TestForksOfOlderVersionsAreRead(t *testing.T) {
	l := memlog.New("test")
	ss := node(l, streamtest.NewBlobs())
	src := create(t, ss, "session-a", entry("r", ""))
	b := engine.CreateRequest{
		ID: "the-older-fork", Header: state(t, src).Header,
		Origin: core.Origin{Dialect: "pi", From: &core.Lineage{Session: "session-a", Cursor: state(t, src).Cursor(), Entry: "r", Kind: "fork"}},
	}
	if _, err := ss.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	st := folded(t, l, b.ID, records(t, l, b.ID))
	testkit.Equal(t, "parents", []core.Lineage{*b.Origin.From}, st.Origin.Lineages())
}
