package server_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/session/catalog"
)

// headerFrom returns a pi header that names a parent.
func headerFrom(id, parent string) string {
	link := ""
	if parent != "" {
		link = fmt.Sprintf(`,"parentSession":"/s/--w--/2026-01-01T00-00-00-000Z_%s.jsonl"`, parent)
	}
	return fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-01-02T03:04:05.000Z","cwd":"/home/dev/x"%s}`, id, link)
}

// picture formats a lineage: session, relation, parent.
func picture(l api.Lineage) []string {
	var out []string
	for _, n := range l.Sessions {
		line := string(n.ID) + " " + string(n.Kind)
		for _, p := range n.Parents {
			line += " " + string(p.Session)
		}
		if n.State != "" {
			line += " " + string(n.State)
		}
		out = append(out, strings.TrimSpace(line))
	}
	slices.Sort(out)
	return out
}

func (n *node) lineage(t *testing.T, o client.LineageOptions) api.Lineage {
	t.Helper()
	l, err := n.Lineage(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// FLEET-20, FLEET-21, RATH-54: one graph shows forks, merges and compressions of
// created and imported sessions.
func TestLineageGraphCoversAllSessions(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	ctx := t.Context()
	n.importText(t, file(headerFrom("the-root", ""), message("a", "", "one"), message("b", "a", "two")))
	n.importText(t, file(headerFrom("branched-by-pi", "the-root"), message("a", "", "one")))
	made := func(_ api.Created, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	merged := func(m api.Merged, err error) (api.Created, error) { return m.Created, err }
	made(n.Fork(ctx, "the-root", api.ForkRequest{ID: "the-fork", At: "a"}))
	made(n.Fork(ctx, "the-root", api.ForkRequest{ID: "the-copy", Kind: "detach"}))
	made(merged(n.Merge(ctx, "the-fork", api.MergeRequest{With: "branched-by-pi", ID: "the-merge"})))
	made(n.Create(ctx, api.Create{ID: "the-summary", Parents: []api.ParentRef{{Session: "the-merge", Kind: "compress"}, {Session: "the-root", Kind: "compress"}}}))
	made(n.Create(ctx, api.Create{ID: "a-stranger"}))

	all := n.lineage(t, client.LineageOptions{})
	want := []string{
		"a-stranger create", "branched-by-pi fork the-root", "the-copy detach", "the-fork fork the-root",
		"the-merge merge the-fork branched-by-pi", "the-root unknown", "the-summary compress the-merge the-root",
	}
	if d := cmp.Diff(want, picture(all)); d != "" || all.Problem != "" {
		t.Errorf("all: %q\n%s", all.Problem, d)
	}
	if len(all.Edges) != 6 {
		t.Errorf("edges: %+v", all.Edges)
	}
	for direction, want := range map[string][]string{
		"ancestors":   {"branched-by-pi fork the-root", "the-fork fork the-root", "the-merge merge the-fork branched-by-pi", "the-root unknown"},
		"descendants": {"the-merge merge the-fork branched-by-pi", "the-summary compress the-merge the-root"},
		"":            {"branched-by-pi fork the-root", "the-fork fork the-root", "the-merge merge the-fork branched-by-pi", "the-root unknown", "the-summary compress the-merge the-root"},
	} {
		l := n.lineage(t, client.LineageOptions{Session: "the-merge", Direction: direction})
		if d := cmp.Diff(want, picture(l)); d != "" || l.Problem != "" {
			t.Errorf("%s of the merge: %q\n%s", direction, l.Problem, d)
		}
	}
	for _, id := range []string{"branched-by-pi", "the-fork"} { // each has a child with another parent
		l := n.lineage(t, client.LineageOptions{Session: id, Direction: "descendants"})
		want := []string{id + " fork the-root", "the-merge merge the-fork branched-by-pi", "the-summary compress the-merge the-root"}
		if d := cmp.Diff(want, picture(l)); d != "" || l.Problem != "" {
			t.Errorf("descendants of %s: %q\n%s", id, l.Problem, d)
		}
	}
	info, err := n.Info(ctx, "the-summary")
	if err != nil || info.Log.Origin.Lineages()[0].Cursor == (core.Cursor{}) {
		t.Errorf("the position in its parent is lost: %+v, %v", info.Log.Origin, err)
	}
}

// RATH-50, RATH-51
func TestLineageInOpenRathFormat(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	r, err := n.LineageJSONL(t.Context(), client.LineageOptions{})
	if got := read(t, r, err); got != "" {
		t.Errorf("of an empty log: %q", got)
	}
	answer := `{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"assistant","content":[],"usage":{"input":14,"output":7},"timestamp":2}}`
	n.importText(t, file(headerFrom("a-session", "gone-long-ago"), message("a", "", "one"), answer))
	r, err = n.LineageJSONL(t.Context(), client.LineageOptions{Session: "a-session"})
	want := `{"id": "a-session", "parent_session_ids": ["gone-long-ago"], "lineage_operator": "Session.fork", "lineage_kind": "op_fork", "lineage_extras": [], "chunk_count": 2, "cumulative_usage": {"prompt_tokens": 14, "completion_tokens": 7, "total_tokens": 21}}` + "\n"
	if d := cmp.Diff(want, read(t, r, err)); d != "" {
		t.Error(d)
	}
}

// Headers are untrusted. The graph is complete anyway and names the problems.
func TestLineageOfHostileHeaders(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(headerFrom("of-itself", "of-itself"), message("a", "", "x")))
	n.importText(t, file(headerFrom("each-other-1", "each-other-2"), message("a", "", "x")))
	n.importText(t, file(headerFrom("each-other-2", "each-other-1"), message("a", "", "x")))
	n.importText(t, file(headerFrom("an-orphan", "gone-long-ago"), message("a", "", "x")))
	for id, c := range map[string]struct {
		want    []string
		problem string
	}{
		"of-itself":     {[]string{"of-itself fork of-itself"}, "itself"},
		"each-other-1":  {[]string{"each-other-1 fork each-other-2", "each-other-2 fork each-other-1"}, "each other"},
		"an-orphan":     {[]string{"an-orphan fork gone-long-ago", "gone-long-ago unknown missing"}, "gone-long-ago, which does not exist"},
		"gone-long-ago": {nil, ""},
	} {
		l, err := n.Lineage(t.Context(), client.LineageOptions{Session: id})
		if c.want == nil {
			if !errors.Is(err, core.ErrNotFound) {
				t.Errorf("%s: %v", id, err)
			}
			continue
		}
		if d := cmp.Diff(c.want, picture(l)); err != nil || d != "" || !strings.Contains(l.Problem, c.problem) {
			t.Errorf("%s: %v, %q\n%s", id, err, l.Problem, d)
		}
	}
}

// FLEET-21: the answer names the entries that the second session's agent would hide.
func TestMergeReportsEntriesHiddenByCompaction(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(headerFrom("plain-one", ""), message("a", "", "one")))
	n.importText(t, file(headerFrom("compacted", ""), message("b", "", "two"),
		`{"type":"compaction","id":"k","parentId":"b","timestamp":"2026-01-02T03:04:06.000Z","summary":"s","firstKeptEntryId":"b","tokensBefore":1}`))
	for _, c := range []struct {
		a, b   string
		hidden bool
	}{{"plain-one", "compacted", true}, {"compacted", "plain-one", false}, {"compacted", "compacted", false}} {
		m, err := n.Merge(t.Context(), c.a, api.MergeRequest{With: c.b})
		if err != nil || m.Hidden != c.hidden {
			t.Errorf("%s, then %s: %+v, %v", c.a, c.b, m, err)
		}
		r, err := n.Entries(t.Context(), string(m.ID), true, client.View{})
		if got := read(t, r, err); strings.Count(got, "\n") != 3 && c.a != c.b {
			t.Errorf("%s, then %s:\n%s", c.a, c.b, got)
		}
		ctx, err := n.Context(t.Context(), string(m.ID), client.View{})
		if err != nil || strings.Contains(string(ctx), "one") == c.hidden && c.a != c.b {
			t.Errorf("%s, then %s: %v, the model sees %s", c.a, c.b, err, ctx)
		}
	}
}

// FLEET-20: the location of a file may say more than its header.
func TestImportCanNameParent(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	f := file(headerFrom("the-helper", "the-header-says"), message("a", "", "x"))
	for range 2 { // the second import changes nothing
		_, err := n.Import(t.Context(), strings.NewReader(f), -1, client.ImportOptions{Parent: "the-caller", Kind: "subagent"})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"the-caller unknown missing", "the-helper subagent the-caller"}
	if d := cmp.Diff(want, picture(n.lineage(t, client.LineageOptions{}))); d != "" {
		t.Error(d)
	}
}

func TestLineageShowsDeletedSessions(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(headerFrom("the-root", ""), message("a", "", "x")))
	if _, err := n.Fork(t.Context(), "the-root", api.ForkRequest{ID: "the-fork"}); err != nil {
		t.Fatal(err)
	}
	if err := n.Delete(t.Context(), "the-root", api.Notice{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"the-fork fork the-root", "the-root unknown deleted"}
	l := n.lineage(t, client.LineageOptions{Session: "the-fork"})
	if d := cmp.Diff(want, picture(l)); d != "" || l.Problem != "" {
		t.Errorf("%q\n%s", l.Problem, d)
	}
}

func TestLineageShowsErasedSessions(t *testing.T) {
	t.Parallel()
	var d *index.Index
	n := startNode(t, func(c *server.Config) { d = c.Directory })
	d.Put(materializer.View{Row: catalog.Row{ID: "erased-one", Dialect: "pi", Seq: 9, Deleted: true, Erased: true, Lineage: lineage.Stamp{Kind: lineage.Unknown}}})
	n.importText(t, file(headerFrom("the-child", "erased-one"), message("a", "", "x")))
	want := []string{"erased-one unknown erased", "the-child fork erased-one"}
	l := n.lineage(t, client.LineageOptions{Session: "the-child"})
	if d := cmp.Diff(want, picture(l)); d != "" || l.Problem != "" {
		t.Errorf("%q\n%s", l.Problem, d)
	}
}

func TestLineageAndMergeRejectInvalidRequests(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one")))
	n.importText(t, `{"type":"session","version":3,"id":"operators","timestamp":1.5,"cwd":"/w"}`+"\n")
	many := strings.Repeat(`{"session":"session-one"},`, lineage.MaxParents) + `{"session":"session-one"}`
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"a direction":         {"GET", "/v1/lineage?direction=up", "", 400, "ancestors"},
		"a format":            {"GET", "/v1/lineage?format=dot", "", 400, "jsonl"},
		"a session":           {"GET", "/v1/lineage?session=nosuchsession", "", 404, "nosuchsession"},
		"a bad id":            {"GET", "/v1/lineage?session=..%2Fx", "", 400, "session id"},
		"merge with nothing":  {"POST", "/v1/sessions/session-one/merge", `{}`, 400, "with"},
		"merge with nobody":   {"POST", "/v1/sessions/session-one/merge", `{"with":"nosuchsession"}`, 404, "nosuchsession"},
		"merge with another":  {"POST", "/v1/sessions/session-one/merge", `{"with":"operators"}`, 400, "--as pi"},
		"merge of no head":    {"POST", "/v1/sessions/session-one/merge", `{"with":"session-one","head":"nope"}`, 404, "nope"},
		"merge into a bad id": {"POST", "/v1/sessions/session-one/merge", `{"with":"session-one","id":"../x"}`, 400, "session id"},
		"merge into a taken":  {"POST", "/v1/sessions/session-one/merge", `{"with":"session-one","id":"session-one"}`, 409, "session-one"},
		"a fork's kind":       {"POST", "/v1/sessions/session-one/fork", `{"kind":"merge"}`, 400, "detach"},
		"a parent's kind":     {"POST", "/v1/sessions", `{"parents":[{"session":"session-one","kind":"cousin"}]}`, 400, "subagent"},
		"a parent in hiding":  {"POST", "/v1/sessions", `{"parents":[{"session":"session-one","kind":"detach"}]}`, 400, "detach"},
		"a parent that is no": {"POST", "/v1/sessions", `{"parents":[{"session":"nosuchsession"}]}`, 404, "nosuchsession"},
		"a parent's entry":    {"POST", "/v1/sessions", `{"parents":[{"session":"session-one","entry":"zz"}]}`, 404, "zz"},
		"an import's parent":  {"POST", "/v1/import?parent=..&kind=subagent", header, 400, "session id"},
		"an import's kind":    {"POST", "/v1/import?parent=session-one&kind=cousin", header, 400, "subagent"},
		"too many parents":    {"POST", "/v1/sessions", `{"parents":[` + many + `]}`, 400, "64"},
	} {
		res, body := n.request(t, c.method, c.path, c.body)
		if res.StatusCode != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s, want %d and %q", name, res.StatusCode, body, c.status, c.says)
		}
	}
	if all := n.lineage(t, client.LineageOptions{}); len(all.Sessions) != 2 {
		t.Errorf("a session was created: %v", picture(all))
	}
}
