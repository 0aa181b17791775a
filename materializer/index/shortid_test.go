package index_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

func TestShortIDsAreUniqueAmongVisibleSessions(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	for _, id := range []string{"aaaa1111", "aaaa1122", "aaab0000", "b1234567", "team-1-aaaa", "team-1-aabb", "team-2-aaaa", "team-2-aaaa-long"} {
		x.Put(view(id, 1, "hello"))
	}
	derived := view("cccc0000", 1, "hello")
	derived.Row.AgentID = "b12 of its agent"
	x.Put(derived)
	x.Sync(t.Context())
	for within, want := range map[string]map[core.SessionID]string{
		"": {
			"aaaa1111": "aaaa111", "aaaa1122": "aaaa112", "aaab0000": "aaab", "b1234567": "b123",
			"team-1-aaaa": "team-1-aaa", "team-2-aaaa": "team-2-aaaa", "team-2-aaaa-long": "team-2-aaaa-",
		},
		"team-1": {"team-1-aaaa": "team-1-aaa"},
		"aaab":   {"aaab0000": "aaab"},
	} {
		var ids []core.SessionID
		for id := range want {
			ids = append(ids, id)
		}
		got, err := x.ShortIDs(t.Context(), within, append(ids, ids...))
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Errorf("within %q: %v, want %v", within, got, want)
		}
	}
}

func TestHitsNameTheWordsFound(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	x.Put(view("aaaa1111", 1, "Which port does the Café's site use? The PORT of portals."))
	x.Sync(t.Context())
	for query, want := range map[string][]string{
		"port":        {"port", "PORT"},
		"port*":       {"port", "PORT", "portals"},
		`"cafe s"`:    {"Café", "s"},
		"site, which": {"Which", "site"},
	} {
		page, err := x.Search(t.Context(), catalog.SearchQuery{Text: query, Limit: 10})
		if err != nil || len(page.Hits) != 1 {
			t.Fatalf("%s: %v, %v", query, page, err)
		}
		var got []string
		for _, m := range page.Hits[0].Matches {
			got = append(got, page.Hits[0].Snippet[m.From:m.To])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}
