package lineage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/lineage"
)

// FLEET-20: what agents' headers say of where a session is from.
func TestHeaderStamp(t *testing.T) {
	t.Parallel()
	const id = "019a0000-0000-7000-8000-000000000001"
	for name, c := range map[string]struct {
		dialect, link string
		want          lineage.Stamp
	}{
		"pi by file":            {"pi", "/h/.pi/agent/sessions/--w--/2026-01-02T03-04-05-678Z_" + id + ".jsonl", forkOf(id, lineage.Fork)},
		"pi by id, as we do it": {"pi", id, forkOf(id, lineage.Fork)},
		"pi on Windows":         {"pi", `C:\\s\\2026-01-02T03-04-05-678Z_` + id + `.jsonl`, forkOf(id, lineage.Fork)},
		"pi, an id of its own":  {"pi", "/s/2026-01-02T03-04-05-678Z_my.id_1.jsonl", forkOf(string(core.SessionIDFor("pi", "my.id_1")), lineage.Fork)},
		"omp's fork":            {"omp", id, forkOf(id, lineage.Fork)},
		"omp's branch":          {"omp", "/s/2026-01-02T03-04-05-678Z_" + id + ".jsonl", forkOf(id, lineage.Branch)},
		"omp's own subagent":    {"omp", "/s/2026-01-02T03-04-05-678Z_" + id + "/Helper.jsonl", lineage.Stamp{Kind: lineage.Unknown}},
		"Operator's branch":     {"operator", "/s/2026-01-02T03-04-05-678901_" + id + ".jsonl", forkOf(id, lineage.Branch)},
		"none":                  {"pi", "", lineage.Stamp{Kind: lineage.Unknown}},
		"another file":          {"pi", "/s/talk.jsonl", lineage.Stamp{Kind: lineage.Unknown}},
		"a directory":           {"pi", "../../etc/", lineage.Stamp{Kind: lineage.Unknown}},
		"a file without an id":  {"pi", "/s/2026-01-02T03-04-05-678Z_.jsonl", lineage.Stamp{Kind: lineage.Unknown}},
		"too long":              {"pi", strings.Repeat("i", 5000), lineage.Stamp{Kind: lineage.Unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := dialect.All()[c.dialect].Header([]byte(headerOf(c.dialect, "a-session", c.link)))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, lineage.OfHeader(c.dialect, h)); d != "" {
				t.Error(d)
			}
		})
	}
}

func headerOf(dialect, id, link string) string {
	if dialect == "operator" {
		return fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":1.5,"cwd":"/w","parent_session":"%s"}`, id, link)
	}
	return fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w","parentSession":"%s"}`, id, link)
}

func forkOf(id string, kind lineage.Kind) lineage.Stamp {
	return lineage.Stamp{Kind: kind, Parents: []lineage.Parent{{Session: core.SessionID(id), Kind: kind}}}
}

// RATH-08, RATH-50, RATH-56: what OpenRath's header says is exported as it was.
func TestOpenRathHeaderKeepsWords(t *testing.T) {
	t.Parallel()
	h := core.Header{
		Line: []byte(`{"record_type": "header", "lineage_operator": "Session.create", "lineage_kind": "leaf_system", ` +
			`"lineage_extras": [["source", "Session.create"], ["bad"], 7, ["loop.truncated", true]]}`),
		Parents: []string{"parent-one", "parent-two"},
	}
	s := lineage.OfHeader("openrath", h)
	want := lineage.Stamp{
		Kind: lineage.Create, Word: lineage.Word{Operator: "Session.create", Kind: "leaf_system"},
		Parents: []lineage.Parent{{Session: "parent-one", Kind: lineage.Create}, {Session: "parent-two", Kind: lineage.Create}},
		Extras:  []lineage.Extra{lineage.NewExtra("source", "Session.create"), lineage.NewExtra("loop.truncated", true)},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	row := string(lineage.Node{ID: "a-session", Stamp: s}.Row().Append(nil))
	for _, part := range []string{`"lineage_operator": "Session.create"`, `"lineage_kind": "leaf_system"`, `[["source", "Session.create"], ["loop.truncated", true]]`} {
		if !strings.Contains(row, part) {
			t.Errorf("the row lacks %s: %s", part, row)
		}
	}
	h.Line = []byte(`{"lineage_kind": "op_of_tomorrow"}`)
	if w := lineage.OfHeader("openrath", h).Word; w != lineage.Unknown.Word() {
		t.Errorf("a kind that OpenRath does not have is %+v", w)
	}
}

// RATH-20: package session/loop has loop.truncated in the trailer, because the header is
// stored first.
func TestStampHasExtrasOfTrailer(t *testing.T) {
	t.Parallel()
	for kind, header := range map[string]string{"": `[["source", 1]]`, "fork": `[]`} {
		st := core.NewState("test", "a-session", dialect.All())
		st.Origin = core.Origin{Dialect: "openrath", Kind: kind}
		st.Header.Line = []byte(`{"record_type": "header", "lineage_extras": ` + header + `}`)
		st.Entries = []core.Entry{{Line: []byte(`{"lineage_extras": [["a chunk", 1]]}`)}}
		before := len(lineage.Of(st).Extras)
		st.Entries = append(st.Entries, core.Entry{Aside: true, Line: []byte(`{"record_type": "trailer", "lineage_extras": [["loop.truncated", true]]}`)})
		row := string(lineage.Node{Stamp: lineage.Of(st)}.Row().Append(nil))
		if got := len(lineage.Of(st).Extras); got != before+1 || !strings.Contains(row, `["loop.truncated", true]]`) {
			t.Errorf("kind %q: %d extras, %d without the trailer, in %s", kind, got, before, row)
		}
	}
}

func TestHeaderStampIsLimited(t *testing.T) {
	t.Parallel()
	h := core.Header{Lineage: "merge", Line: []byte(`{"lineage_operator":"` + strings.Repeat("o", 1<<20) + `","lineage_extras":[` + strings.Repeat(`["k",1],`, 1<<16) + `["k",1]]}`)}
	for i := range 100_000 {
		h.Parents = append(h.Parents, fmt.Sprint("parent-", i))
	}
	s := lineage.OfHeader("openrath", h)
	if len(s.Parents) != lineage.MaxParents || len(s.Extras) > 100 || len(s.Word.Operator) > 1<<13 {
		t.Errorf("%d parents, %d extras, an operator of %d bytes", len(s.Parents), len(s.Extras), len(s.Word.Operator))
	}
}

// What the log recorded counts before the header, and so does the one parent
// that older records have.
func TestReadsBothOriginForms(t *testing.T) {
	t.Parallel()
	at := core.Lineage{Session: "a-parent", Entry: "e", Kind: "fork"}
	for name, c := range map[string]struct {
		origin core.Origin
		want   lineage.Stamp
	}{
		"one, as it was":   {core.Origin{From: &at}, lineage.Stamp{Kind: lineage.Fork, Parents: []lineage.Parent{{Session: "a-parent", Kind: lineage.Fork, Entry: "e"}}}},
		"one, as it is":    {core.Origin{Parents: []core.Lineage{at}}, lineage.Stamp{Kind: lineage.Fork, Parents: []lineage.Parent{{Session: "a-parent", Kind: lineage.Fork, Entry: "e"}}}},
		"none, on purpose": {core.Origin{Kind: "detach"}, lineage.Stamp{Kind: lineage.Detach}},
		"a later word":     {core.Origin{Kind: "teleport"}, lineage.Stamp{Kind: lineage.Unknown}},
		"nothing":          {core.Origin{}, forkOf("the-header-says", lineage.Fork)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := core.NewState("test", "a-session", dialect.All())
			st.Origin = c.origin
			st.Origin.Dialect = "pi"
			st.Header = core.Header{Parents: []string{"the-header-says"}, Lineage: "fork"}
			if d := cmp.Diff(c.want, lineage.Of(st)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestUsageOf(t *testing.T) {
	t.Parallel()
	if lineage.UsageOf(item.Usage{Cost: 1}) != nil {
		t.Error("no tokens are some")
	}
	if u := *lineage.UsageOf(item.Usage{Input: 1, CacheRead: 10, CacheWrite: 100, Output: 5}); u != (lineage.Usage{Prompt: 111, Completion: 5, Total: 116}) {
		t.Errorf("%+v", u)
	}
}
