package operator_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
)

// TestInfo: OP-20, OP-27.
func TestInfo(t *testing.T) {
	t.Parallel()
	d := operator.Dialect{}
	f, err := d.File(text(
		`{"type":"session_header","version":3.0,"id":"i","cwd":"/w"} `, hello, header, hi, `{}`, then("wormhole", "w", "a1", ""),
		then("session_info", "n", "a1", `,"name":" The  name\u001f\n"`), leafTo("l", "n", `"n"`)))
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
	want := `{"header":{"type":"session_header","version":3.0,"id":"i","cwd":"/w"},"version":3.0,"sessionId":"i","cwd":"/w","entryCount":6,` +
		`"types":{"":1,"leaf":1,"message":2,"session_info":1,"wormhole":1},"leafId":"n","name":"The  name","labels":{},` +
		`"own":{"channel":null,"thinking_level":"off","model_id":null,"provider_id":null}}`
	if string(got) != want {
		t.Error(cmp.Diff(want, string(got)))
	}
	if info, err := d.Info(f.Header, f.Entries, core.NoLeaf); err != nil || info.LeafID != nil || info.Name != nil {
		t.Errorf("%+v, %v", info, err)
	}
	if info, err := d.Info(f.Header, f.Entries, core.LeafAt("u1")); err != nil || *info.LeafID != "u1" || info.Name != nil {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestName: OP-12.
func TestName(t *testing.T) {
	t.Parallel()
	name := func(id, parent, rest string) string { return then("session_info", id, parent, rest) }
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"None", []string{hello}, ""},
		{"Last", []string{name("a", "", `,"name":"x"`), name("b", "a", `,"name":"y"`)}, "y"},
		{"Trimmed", []string{name("a", "", `,"name":" \t\u00a0x y\u2028"`)}, "x y"},
		{"BlankDoesNotCount", []string{name("a", "", `,"name":"x"`), name("b", "a", `,"name":" \u001c"`)}, "x"},
		{"EmptyDoesNotCount", []string{name("a", "", `,"name":"x"`), name("b", "a", `,"name":""`)}, "x"},
		{"NullDoesNotCount", []string{name("a", "", `,"name":"x"`), name("b", "a", `,"name":null`), name("c", "b", ``)}, "x"},
		{"RefusedDoesNotCount", []string{name("a", "", `,"name":"x"`), name("b", "a", `,"name":5`), says("c", "b", helloM)}, "x"},
		{"OnTheActiveBranch", []string{name("a", "", `,"name":"x"`), name("b", "a", `,"name":"y"`), says("c", "a", helloM)}, "x"},
		{"WhereTheLeafPoints", []string{name("a", "", `,"name":"x"`), name("b", "a", `,"name":"y"`), leafTo("l", "b", `"a"`)}, "x"},
		{"NoLeaf", []string{name("a", "", `,"name":"x"`), leafTo("l", "a", `null`)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			es := entries(t, c.lines...)
			info, err := operator.Dialect{}.Info(theHeader(t), es, core.Leaf{})
			if err != nil || info.Name == nil && c.want != "" || info.Name != nil && *info.Name != c.want {
				t.Errorf("%v, %v; want %q", info.Name, err, c.want)
			}
			if got := (operator.Dialect{}).Summary(theHeader(t), es).Name; got != c.want {
				t.Errorf("summary: %q, want %q", got, c.want)
			}
		})
	}
}

// TestChannel: OP-15.
func TestChannel(t *testing.T) {
	t.Parallel()
	es := entries(t,
		then("channel", "a", "", `,"name":"slack","chat_id":"C1","user_id":"U1"`), says("b", "a", helloM),
		then("channel", "c", "b", `,"name":"mail"`), then("channel", "d", "c", `,"chat_id":"refused"`), leafTo("l", "d", `"b"`))
	for leaf, want := range map[core.Leaf]string{{}: "slack", core.LeafAt("d"): "mail", core.LeafAt("a"): "slack", core.NoLeaf: ""} {
		if got, err := operator.Channel(es, leaf); err != nil || got != want {
			t.Errorf("at %v: %q, %v; want %q", leaf, got, err, want)
		}
	}
}

// TestSummary: OP-37.
func TestSummary(t *testing.T) {
	t.Parallel()
	const made = "2026-01-02T03:04:05.123Z"
	message := func(role, rest string) string { return `{"role":"` + role + `"` + rest + `}` }
	written := `,"contents":[{"type":"text","content":"a"}]`
	for _, c := range []struct {
		name  string
		lines []string
		want  display.Summary
	}{
		{"Empty", nil, display.Summary{Created: made, Modified: made}},
		{
			"Plain",
			[]string{hello, hi},
			display.Summary{First: "hello", Messages: 2, Created: made, Modified: "1970-01-01T00:16:42.000Z", Changed: made, Usage: item.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Cost: 0.5}},
		},
		{
			"AllMessagesCount",
			[]string{hello, says("s", "u1", message("system", written)), says("t", "s", message("tool", written+`,"timestamp":9000`)), says("x", "t", `null`)},
			display.Summary{First: "hello", Messages: 3, Created: made, Modified: "1970-01-01T00:16:41.000Z", Changed: made},
		},
		{
			"BlocksJoined",
			[]string{says("a", "", message("user", `,"contents":[{"content":"a"},{"type":"image"},{"type":"text","content":""},{"type":"text","content":"b"}],"timestamp":1767323099.25`))},
			display.Summary{First: "a b", Messages: 1, Created: made, Modified: "2026-01-02T03:04:59.250Z"},
		},
		{
			"CutAtCharacters",
			[]string{says("a", "", message("user", `,"contents":[{"content":"`+strings.Repeat("é", 300)+`"}]`))},
			display.Summary{First: strings.Repeat("é", 200), Messages: 1, Created: made, Modified: "1970-01-01T00:16:43.250Z", Changed: made},
		},
		{
			"LatestNotLastAndOfAnyBranch",
			[]string{says("a", "", message("user", written+`,"timestamp":1767323099`)), says("b", "", message("assistant", written+`,"timestamp":5`))},
			display.Summary{First: "a", Messages: 2, Created: made, Modified: "2026-01-02T03:04:59.000Z"},
		},
		{
			"AnImageIsActivity",
			[]string{says("a", "", message("user", `,"contents":[{"type":"image","images":["aGk="]}],"timestamp":1767323099`))},
			display.Summary{Messages: 1, Created: made, Modified: "2026-01-02T03:04:59.000Z"},
		},
		{
			"AnyEntryIsAChange",
			[]string{hello, `{"type":"label","id":"l","parent_id":"u1","timestamp":1767323099.25,"target_id":"u1","label":"here"}`},
			display.Summary{First: "hello", Messages: 1, Created: made, Modified: "1970-01-01T00:16:41.000Z", Changed: "2026-01-02T03:04:59.250Z"},
		},
		{
			"CostsWithoutAFiniteSum",
			[]string{
				says("a", "", message("assistant", `,"usage":{"cost":{"total":1.7e308}}`)),
				says("b", "a", message("assistant", `,"usage":{"cost":{"total":1.7e308}}`)),
				says("c", "b", message("assistant", `,"usage":{"cost":{"total":2}}`)),
			},
			display.Summary{Messages: 3, Created: made, Modified: made, Usage: item.Usage{Cost: 2}},
		},
		{
			"AToolCallIsNot",
			[]string{says("a", "", message("assistant", `,"contents":[{"type":"tool_call"},{"type":"thinking"}],"timestamp":1767323099`))},
			display.Summary{Messages: 1, Created: made, Modified: made},
		},
		{
			"TimesOutOfRange",
			[]string{says("a", "", message("user", written+`,"timestamp":1e400`)), says("b", "a", message("user", written+`,"timestamp":253402300800`)), says("c", "b", message("user", written+`,"timestamp":0`))},
			display.Summary{First: "a", Messages: 3, Created: made, Modified: made},
		},
		{
			"OddUsage",
			[]string{says("a", "", message("assistant", `,"usage":{"input_tokens":1e400,"output_tokens":"x","cost":{"total":1e400}}`)), says("b", "a", message("user", `,"usage":{"input_tokens":5}`))},
			display.Summary{Messages: 2, Created: made, Modified: made},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, operator.Dialect{}.Summary(theHeader(t), entries(t, c.lines...))); d != "" {
				t.Error(d)
			}
		})
	}
	if d := cmp.Diff(display.Summary{}, operator.Dialect{}.Summary(core.Header{Time: "yesterday"}, nil)); d != "" {
		t.Error(d)
	}
}

// TestFileName: OP-36.
func TestFileName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		h    core.Header
		want string
	}{
		{core.Header{ID: sessionID, Time: "1767323045.123456"}, "2026-01-02T03-04-05-123456_" + sessionID + ".jsonl"},
		{core.Header{ID: sessionID, Time: "1767323045", CWD: "/../../etc"}, "2026-01-02T03-04-05-000000_" + sessionID + ".jsonl"},
		{core.Header{ID: "x", Time: ""}, "1970-01-01T00-00-00-000000_x.jsonl"},
		{core.Header{ID: "x", Time: "1e400"}, "1970-01-01T00-00-00-000000_x.jsonl"},
		{core.Header{ID: "x", Time: "-1.5"}, "1969-12-31T23-59-58-500000_x.jsonl"},
		{core.Header{ID: "../../x", Time: "0"}, "1970-01-01T00-00-00-000000_------x-9cdf6a50100a862e.jsonl"},
		{core.Header{ID: "slack:C1", Time: "0"}, "1970-01-01T00-00-00-000000_slack-C1-643066ac33791af2.jsonl"},
	} {
		dir, name := operator.Dialect{}.FileName(c.h)
		if dir != "" || name != c.want {
			t.Errorf("%+v: %q, %q; want %q", c.h, dir, name, c.want)
		}
	}
}

// OP-12, OP-15, OP-29: what only Operator has of a session.
func TestOwn(t *testing.T) {
	t.Parallel()
	h, err := operator.Dialect{}.Header([]byte(`{"type":"session","id":"i","cwd":"/w","parent_session":"/p.jsonl"}`))
	if err != nil {
		t.Fatal(err)
	}
	es := entries(t,
		then("channel", "a", "", `,"name":"slack"`), then("model_change", "b", "a", `,"model_id":"m","provider_id":"p"`),
		then("thinking_level_change", "c", "b", `,"thinking_level":"max"`), then("thinking_level_change", "d", "c", `,"thinking_level":"refused"`))
	const parent = `,"parent_session":"/p.jsonl"}`
	for leaf, want := range map[core.Leaf]string{
		core.LeafAt("d"): `{"channel":"slack","thinking_level":"max","model_id":"m","provider_id":"p"` + parent,
		core.LeafAt("a"): `{"channel":"slack","thinking_level":"off","model_id":null,"provider_id":null` + parent,
		core.NoLeaf:      `{"channel":null,"thinking_level":"off","model_id":null,"provider_id":null` + parent,
	} {
		info, err := operator.Dialect{}.Info(h, es, leaf)
		if err != nil || string(info.Own) != want {
			t.Errorf("%v: %s, %v", leaf, info.Own, err)
		}
	}
}
