package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

func idsOf(rows []catalog.Row) (ids []string) {
	for _, r := range rows {
		ids = append(ids, string(r.ID))
	}
	return ids
}

// FLEET-18, PI-37: listings of a real node, by each filter.
func TestListFilters(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for name, file := range asked {
		if _, err := n.Import(t.Context(), strings.NewReader(file), int64(len(file)), client.ImportOptions{Dialect: name}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.Name(t.Context(), "asked-pi", api.NameRequest{Name: "Das Überprojekt"}, client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Label(t.Context(), "asked-pi", api.LabelRequest{Target: "a1b2c3d4", Label: "start"}, client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Claim(t.Context(), "asked-omp-1", core.ClaimRequest{Agent: "omp", Host: "box-7"}); err != nil {
		t.Fatal(err)
	}
	if err := n.Finish(t.Context(), "asked-operator", api.Notice{}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][]string{
		"":                        {"asked-omp-1", "asked-operator", "asked-pi"},
		"order=asc":               {"asked-pi", "asked-operator", "asked-omp-1"},
		"sort=name":               {"asked-omp-1", "asked-operator", "asked-pi"},
		"sort=name&order=desc":    {"asked-pi", "asked-operator", "asked-omp-1"},
		"cwd=/src/site":           {"asked-pi"},
		"cwd=/src":                nil,
		"cwd=/src&below=true":     {"asked-omp-1", "asked-operator", "asked-pi"},
		"cwd=/sr&below=true":      nil,
		"dialect=operator":        {"asked-operator"},
		"holder=box-7":            {"asked-omp-1"},
		"state=held":              {"asked-omp-1"},
		"state=interrupted":       nil, // its claim is too recent
		"state=closed":            {"asked-operator"},
		"state=open":              {"asked-omp-1", "asked-pi"},
		"label=start":             {"asked-pi"},
		"name=%C3%9CBER":          {"asked-pi"},
		"text=LOGIN":              {"asked-operator", "asked-pi"},
		"text=projekt":            {"asked-pi"},
		"modifiedFrom=2026-01-02": nil,
		"modifiedTo=2026-01-01T00:00:02Z&modifiedFrom=2026-01-01": {"asked-pi"},
		"minSize=1&maxSize=10":      nil,
		"maxCost=0&minCost=0":       {"asked-omp-1", "asked-operator", "asked-pi"},
		"prefix=asked-o":            {"asked-omp-1", "asked-operator"},
		"tag=none":                  nil,
		"deleted=true":              nil,
		"after=asked-omp-1":         {"asked-operator", "asked-pi"},
		"limit=1&sort=size":         {"asked-pi"},
		"limit=1&after=asked-omp-1": {"asked-operator"},
	} {
		res, body := n.request(t, "GET", "/v1/sessions?"+query, "")
		if res.StatusCode != 200 {
			t.Errorf("%s: %s", query, body)
			continue
		}
		if d := cmp.Diff(want, idsOf(mustJSON[api.List](t, body).Sessions)); d != "" {
			t.Errorf("%s:\n%s", query, d)
		}
	}
	for query, says := range map[string]string{
		"sort=colour": "modified", "state=dead": "interrupted", "order=up": "asc or desc", "below=true": "cwd", "createdFrom=soon": "2026-01-02",
		"minSize=big": "bytes", "maxCost=dear": "number", "after=x~y": "after", "after=nosuchsession": "not a session", "limit=0": "limit",
		"after=modified~n~1~x&sort=name": "this order", "tag=" + strings.Repeat("x&tag=", 20): "tags",
	} {
		res, body := n.request(t, "GET", "/v1/sessions?"+query, "")
		if res.StatusCode != 400 || !strings.Contains(body, says) {
			t.Errorf("%s: %d %s, want it to say %q", query, res.StatusCode, body, says)
		}
	}
}

// FLEET-19: search finds the messages and names of every agent as soon as they are
// stored, and does not find replaced or erased content.
func TestSearchFindsSessionContent(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for name, file := range asked {
		if _, err := n.Import(t.Context(), strings.NewReader(file), int64(len(file)), client.ImportOptions{Dialect: name}); err != nil {
			t.Fatal(err)
		}
	}
	look := func(q catalog.SearchQuery) (found []string) {
		t.Helper()
		page, err := n.Search(t.Context(), q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		for _, h := range page.Hits {
			if !strings.Contains(strings.ToLower(h.Snippet), "log") && q.Text == "log*" || h.CWD == "" || h.Time == "" {
				t.Errorf("%+v", h)
			}
			found = append(found, string(h.Session)+"/"+h.Entry+" "+h.Kind)
		}
		return found
	}
	omp, operator := "asked-omp-1/c1b2c3d4 user", "asked-operator/u1 user"
	pi1, pi2 := "asked-pi/a1b2c3d4 user", "asked-pi/a1b2c3d5 assistant"
	for _, c := range []struct {
		q    catalog.SearchQuery
		want []string
	}{
		{catalog.SearchQuery{Text: "log*"}, []string{omp, operator, pi2, pi1}},
		{catalog.SearchQuery{Text: "LOGIN page"}, []string{pi2, pi1}},
		{catalog.SearchQuery{Text: `"page login"`}, nil},
		{catalog.SearchQuery{Text: `"login page" fix`}, []string{pi1}},
		{catalog.SearchQuery{Text: "login", Session: "asked-operator"}, []string{operator}},
		{catalog.SearchQuery{Text: "login", Sessions: catalog.Filter{CWD: "/src", Below: true, Dialect: "pi"}}, []string{pi2, pi1}},
		{catalog.SearchQuery{Text: "login", Sessions: catalog.Filter{Holder: "nobody"}}, nil},
		{catalog.SearchQuery{Text: "OR NOT AND NEAR(x) text: -y ^z {} () login'"}, nil},
	} {
		if d := cmp.Diff(c.want, look(c.q)); d != "" {
			t.Errorf("%+v:\n%s", c.q, d)
		}
	}
	if _, err := n.Amend(t.Context(), "asked-pi", "a1b2c3d5", []byte(`{"type":"message","id":"a1b2c3d5","parentId":"a1b2c3d4","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Nothing here"}]}}`), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{pi1}, look(catalog.SearchQuery{Text: "page"})); d != "" {
		t.Errorf("after an amend:\n%s", d)
	}
	if err := n.Delete(t.Context(), "asked-pi", api.Notice{}); err != nil {
		t.Fatal(err)
	}
	if found := look(catalog.SearchQuery{Text: "page"}); found != nil {
		t.Errorf("in the trash: %q", found)
	}
	if d := cmp.Diff([]string{pi1}, look(catalog.SearchQuery{Text: "page", Sessions: catalog.Filter{Deleted: true}})); d != "" {
		t.Errorf("the trash alone:\n%s", d)
	}
	for query, says := range map[string]string{
		"q=": "letter", "q=%22open": "quote", "q=*": "letter", "q=" + strings.Repeat("a", 2000): "bytes", "q=" + strings.Repeat("a+", 40): "40 words",
		"q=a&before=!": "before", "q=a&limit=0": "limit", "q=a&session=..": "session id", "q=a&from=x": "2026-01-02",
	} {
		res, body := n.request(t, "GET", "/v1/search?"+query, "")
		if res.StatusCode != 400 || !strings.Contains(body, says) || strings.Contains(body, "SQL") || strings.Contains(body, "fts5") {
			t.Errorf("%s: %d %s, want it to say %q", query, res.StatusCode, body, says)
		}
	}
}

// No change is lost between a listing and the changes after its mark. A session that
// no longer matches the filter is reported as gone.
func TestChangesContinueListingWithoutGap(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, asked["pi"])
	list, err := n.List(t.Context(), catalog.Filter{Dialect: "pi"})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatal(list, err)
	}
	if _, err := n.Name(t.Context(), "asked-pi", api.NameRequest{Name: "before the feed began"}, client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got := make(chan api.RowChange)
	done := make(chan error, 1)
	go func() {
		done <- n.Changes(ctx, catalog.Filter{Dialect: "pi"}, list.Mark, func(c api.RowChange) error {
			got <- c
			return nil
		})
	}()
	next := func(what string, ok func(api.RowChange) bool) (c api.RowChange) {
		t.Helper()
		for {
			select {
			case c = <-got:
				if ok(c) {
					return c
				}
			case <-ctx.Done():
				t.Fatalf("timed out waiting for %s", what)
			}
		}
	}
	first := next("the name", func(c api.RowChange) bool { return c.Row != nil && c.Row.Name == "before the feed began" })
	n.importText(t, strings.ReplaceAll(asked["pi"], "asked-pi", "another-pi"))
	next("the new session", func(c api.RowChange) bool { return c.ID == "another-pi" && c.Row != nil })
	if err := n.Delete(t.Context(), "asked-pi", api.Notice{}); err != nil {
		t.Fatal(err)
	}
	next("that it is none any more", func(c api.RowChange) bool { return c.ID == "asked-pi" && c.Row == nil })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// A client that resumes with a mark gets every row that changed since, in its current state.
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	enough := errors.New("enough")
	var ids []string
	err = n.Changes(ctx, catalog.Filter{}, first.Mark, func(c api.RowChange) error {
		ids = append(ids, fmt.Sprint(c.ID, c.Row != nil))
		if len(ids) == 2 {
			return enough
		}
		return nil
	})
	if d := cmp.Diff([]string{"another-pitrue", "asked-pifalse"}, ids); d != "" || !errors.Is(err, enough) {
		t.Errorf("%v\n%s", err, d)
	}
	err = n.Changes(ctx, catalog.Filter{}, "0123456789abcdef-7", func(api.RowChange) error { return nil })
	if !errors.Is(err, core.ErrLost) {
		t.Errorf("a mark of another directory: %v", err)
	}
	if res, body := n.request(t, "GET", "/v1/sessions/changes?after="+url.QueryEscape("nonsense"), ""); res.StatusCode != 400 || !strings.Contains(body, "not a position in a listing") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

// OP-37, PI-40: a listing tells its progress.
func TestListAllTellsHowManyAreListed(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for name, file := range asked {
		if _, err := n.Import(t.Context(), strings.NewReader(file), int64(len(file)), client.ImportOptions{Dialect: name}); err != nil {
			t.Fatal(err)
		}
	}
	var told []int
	err := n.ListAll(t.Context(), catalog.Filter{Limit: 2}, func(page []catalog.Row, listed int) error {
		told = append(told, len(page), listed)
		return nil
	})
	if err != nil || !slices.Equal(told, []int{2, 2, 1, 3}) {
		t.Errorf("pages and sums %v, %v", told, err)
	}
	if err := n.ListAll(t.Context(), catalog.Filter{Limit: 1}, func([]catalog.Row, int) error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("a stopped listing: %v", err)
	}
}
