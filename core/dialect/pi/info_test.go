package pi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
)

// PI-02, PI-36
func TestInfo(t *testing.T) {
	t.Parallel()
	d := pi.Dialect{}
	f, err := d.File(text(
		`{"type":"session","version":3.0,"id":"i","x":1e400,"cwd":"/w"}`, hello, header, hi, `{}`, `{"type":5}`, `{"type":""}`,
		`{"type":"session_info","id":"n","name":" The  name\n"}`))
	if err != nil {
		t.Fatal(err)
	}
	info, err := d.Info(f.Header, f.Entries, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"header":{"type":"session","version":3,"id":"i","x":null,"cwd":"/w"},"version":3,"sessionId":"i","cwd":"/w","entryCount":6,` +
		`"types":{"":1,"5":1,"message":2,"session_info":1,"undefined":1},"leafId":"n","name":"The  name","labels":{},` +
		`"own":{"model":null,"thinkingLevel":"off"}}`
	if string(got) != want {
		t.Error(cmp.Diff(want, string(got)))
	}
	for leaf, want := range map[core.Leaf]string{core.NoLeaf: "", core.LeafAt("u1"): "u1"} {
		if info, err := d.Info(f.Header, f.Entries, leaf); err != nil || info.LeafID != nil && *info.LeafID != want || info.LeafID == nil && want != "" {
			t.Errorf("leaf %v, %v; want %q", info.LeafID, err, want)
		}
	}
}

// PI-13
func TestName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"None", nil, ""},
		{"Last", []string{`{"type":"session_info","name":"a"}`, `{"type":"session_info","name":"b"}`}, "b"},
		{"EmptyClears", []string{`{"type":"session_info","name":"a"}`, `{"type":"session_info","name":" "}`}, ""},
		{"MissingClears", []string{`{"type":"session_info","name":"a"}`, `{"type":"session_info"}`}, ""},
		{"NumberClears", []string{`{"type":"session_info","name":"a"}`, `{"type":"session_info","name":5}`}, ""},
	} {
		h, _ := pi.Dialect{}.Header([]byte(header))
		if got := (pi.Dialect{}).Summary(h, entries(t, c.lines...)).Name; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// PI-37, PI-40: what a list of sessions shows.
func TestSummary(t *testing.T) {
	t.Parallel()
	const made = "2026-01-02T03:04:05.000Z"
	usage := `"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":9,"total":0.5}}`
	for _, c := range []struct {
		name  string
		lines []string
		want  display.Summary
	}{
		{"Empty", nil, display.Summary{Created: made, Modified: made}},
		{"Plain", []string{hello, hi}, display.Summary{First: "hello", Messages: 2, Created: made, Modified: "1970-01-01T00:00:01.002Z", Changed: made}},
		{"AllMessagesCount", []string{hello, stored("s", "u1", `{"role":"system"}`), stored("x", "s", `null`)}, display.Summary{First: "hello", Messages: 3, Created: made, Modified: "1970-01-01T00:00:01.001Z", Changed: made}},
		{
			"BlocksJoined",
			[]string{stored("a", "", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"},5]}`)},
			display.Summary{First: "a b", Messages: 1, Created: made, Modified: made},
		},
		{
			"FirstWithText",
			[]string{stored("a", "", `{"role":"user","content":[]}`), stored("b", "a", `{"role":"user","content":"b"}`)},
			display.Summary{First: "b", Messages: 2, Created: made, Modified: made},
		},
		{
			"CutAtCharacters",
			[]string{stored("a", "", `{"role":"user","content":"`+strings.Repeat("é", 300)+`"}`)},
			display.Summary{First: strings.Repeat("é", 200), Messages: 1, Created: made, Modified: made},
		},
		{
			"LatestNotLast",
			[]string{stored("a", "", `{"role":"user","content":"a","timestamp":1767323099000}`), stored("b", "a", `{"role":"assistant","content":"b","timestamp":5}`)},
			display.Summary{First: "a", Messages: 2, Created: made, Modified: "2026-01-02T03:04:59.000Z"},
		},
		{
			"AnyEntryIsAChange",
			[]string{hello, `{"type":"label","id":"l","parentId":"u1","timestamp":"2026-01-03T00:00:00.000Z","targetId":"u1","label":"here"}`, then("model_change", "m", "")},
			display.Summary{First: "hello", Messages: 1, Created: made, Modified: "1970-01-01T00:00:01.001Z", Changed: "2026-01-03T00:00:00.000Z"},
		},
		{"Usage", []string{
			stored("a", "", `{"role":"assistant","content":"a",`+usage+`}`),
			stored("b", "a", `{"role":"toolResult","content":"b",`+usage+`}`),
			then("usage", "c", ","+usage), then("compaction", "d", ","+usage),
			stored("e", "a", `{"role":"assistant","content":"e","usage":{"input":1e400,"output":"x","cost":{"total":1e400}}}`),
		}, display.Summary{Messages: 3, Created: made, Modified: made, Usage: item.Usage{Input: 2, Output: 4, CacheRead: 6, CacheWrite: 8, Cost: 1}}},
		{
			"OddMessages",
			[]string{stored("a", "", `"x"`), stored("b", "a", `{"role":"user","content":5}`), stored("c", "b", `{"role":"user","content":{"type":"text","text":"no"}}`)},
			display.Summary{Messages: 3, Created: made, Modified: made},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, _ := pi.Dialect{}.Header([]byte(header))
			if d := cmp.Diff(c.want, pi.Dialect{}.Summary(h, entries(t, c.lines...))); d != "" {
				t.Error(d)
			}
		})
	}
}

// PI-01
func TestFileName(t *testing.T) {
	t.Parallel()
	const when, id = "2026-11-20T23:05:28.536Z", "01a1fb35-2cd7-7609-8063-27dee38ec629"
	const name = "2026-11-20T23-05-28-536Z_" + id + ".jsonl"
	for _, c := range []struct {
		h         core.Header
		dir, name string
	}{
		{core.Header{ID: id, Time: when, CWD: "/home/u/my.proj"}, "--home-u-my.proj--", name},
		{core.Header{ID: id, Time: when, CWD: "/home/ü/a b/"}, "--home-ü-a b--", name},
		{core.Header{ID: id, Time: when, CWD: "/"}, "----", name},
		{core.Header{ID: id, Time: when, CWD: ""}, "----", name},
		{core.Header{ID: id, Time: when, CWD: `C:\Users\u`}, "--C--Users-u--", name},
		{core.Header{ID: id, Time: when, CWD: `\\host\share`}, "---host-share--", name},
		{core.Header{ID: id, Time: when, CWD: "/a/../../b/./c"}, "--b-c--", name},
		{core.Header{ID: id, Time: when, CWD: "../../etc"}, "--------etc--", name},
		{core.Header{ID: "../../x", Time: "../a", CWD: "/"}, "----", "---a_------x.jsonl"},
		{core.Header{ID: "a\x00b\n", Time: "", CWD: "/a\x00b"}, "--a-b--", "_a-b-.jsonl"},
		{core.Header{ID: "\xff", Time: when, CWD: "/\xff"}, "--\ufffd--", "2026-11-20T23-05-28-536Z_\ufffd.jsonl"},
	} {
		dir, name := pi.Dialect{}.FileName(c.h)
		if dir != c.dir || name != c.name {
			t.Errorf("%+v: %q, %q; want %q, %q", c.h, dir, name, c.dir, c.name)
		}
	}
}

func TestOwn(t *testing.T) {
	t.Parallel()
	h, err := pi.Dialect{}.Header([]byte(strings.TrimSuffix(header, "}") + `,"parentSession":"/p.jsonl"}`))
	if err != nil {
		t.Fatal(err)
	}
	es := entries(t, hello, hi, then("thinking_level_change", "t", `,"thinkingLevel":"high"`))
	for leaf, want := range map[core.Leaf]string{
		{}:                `{"model":{"provider":"openai","modelId":"m1"},"thinkingLevel":"high","parentSession":"/p.jsonl"}`,
		core.LeafAt("u1"): `{"model":null,"thinkingLevel":"off","parentSession":"/p.jsonl"}`,
		core.NoLeaf:       `{"model":null,"thinkingLevel":"off","parentSession":"/p.jsonl"}`,
	} {
		info, err := pi.Dialect{}.Info(h, es, leaf)
		if err != nil || string(info.Own) != want {
			t.Errorf("%v: %s, %v", leaf, info.Own, err)
		}
	}
}
